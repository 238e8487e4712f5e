// Buffer chunks: a stream's ring is dealt out to workers in chunks, which serve as private buffers.
// A worker takes a chunk of the ring and fills it with record after record, without touching shared
// memory. To hand the chunk over takes one store and no copy. The log may be flushed up to the
// first chunk that is not handed over. If an open chunk keeps other chunks waiting and its owner is
// not using it, a flushing thread can take the chunk from the owner; the rest of the chunk becomes
// padding. While workers wait for room in the ring, a flushing thread takes chunks only when
// nothing else can be flushed, because padding takes time on the device that the workers wait for.
//
// A watermark record is a chunk by itself. It is durable only when all chunks before it are. It
// takes its place even if the ring is full: workers that wait for room have places after the ring's
// end, so a watermark that waited for room might wait for ever. A *boundary* is a position before
// which all chunks are to be handed over: the end of a watermark record, or one that close() sets.
// A worker whose chunk begins before the newest boundary takes a new chunk for its next record.
//
// Protocol.
//   ChunkOwner::state_  The worker changes kNone -> kBusy and kOpen -> kBusy (compare-and-swap,
//                       acquire), and kBusy -> kOpen or kNone (release). A flushing thread changes
//                       kOpen -> kTaken (acquire), under `passing_`; then it hands the chunk over
//                       and stores kNone (release). `chunk` and `used` belong to the thread that
//                       brought the state to kBusy or kTaken.
//   next_               the number of the next chunk, and where it begins, in one word. A worker
//                       takes a chunk by one addition (acquire), and waits for no other worker. A
//                       watermark takes its place likewise (release), so the worker of a later
//                       chunk sees what was stored before. If the ring has no room yet, the worker
//                       waits with its chunk. All chunks before it can be flushed without it, so
//                       room comes.
//   slots_              chunk n has slot n modulo the number of slots. There are more slots than
//                       chunks that are not durable, so the chunk that had the slot before was
//                       passed. The worker waits until it sees that (`dealt` is false, acquire),
//                       fills the slot and stores `dealt` (release). The thread that passes the
//                       chunk stores false (release).
//   passing_            chunks are passed under it, in the order of their numbers.
//   BufferChunk::done   is stored (release) when the chunk is filled to its end.
//   filled_             is stored (release) under `passing_`, after the caller has recorded which
//                       durable sequence the new value stands for.
//   boundary_           is stored under `passing_` and loaded (relaxed) by workers. A worker that
//                       misses the newest boundary puts one more record before it: harmless.
//   passed_             counts the chunks that were passed, and is stored under `passing_`. A
//                       thread that sees an old count looks at a slot that was passed, and later
//                       again.
//   padding_bytes       of an owner: only the thread that hands its chunk over adds to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "logging/format/record.h"
#include "logging/schemes/common/chunk_length.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/stream/stream.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/counter.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

struct alignas(platform::kCacheLine) BufferChunk {
  uint64_t begin = 0, end = 0;
  uint32_t owner = 0;      // the worker's number
  uint64_t sequence = 0;   // the number of the last record, or of the watermark record
  bool watermark = false;  // the chunk is a watermark record
  platform::atomic<bool> dealt{false}, done{false};
};

// The chunk of one worker, and the state of its use.
class ChunkOwner {
 public:
  BufferChunk* chunk = nullptr;
  uint64_t used = 0;      // the stream position up to which the chunk is filled
  uint64_t sequence = 0;  // the number of the worker's last record
  ChunkLength::Filled filled;
  platform::Counter padding_bytes;  // in all chunks that were the owner's

  // Begins to use the chunk. Waits while another thread hands the chunk over. Called by the worker.
  void begin();
  // Ends the use that begin() began. Called by the worker.
  void end() {
    LJ_ASSERT_IN_TESTS(state_.load(platform::memory_order_relaxed) == kBusy);
    state_.store(chunk == nullptr ? kNone : kOpen, platform::memory_order_release);
  }

  // Takes the chunk. Returns false if the worker is using its chunk or has none. Called by a
  // flushing thread.
  bool take() {
    uint32_t open = kOpen;
    return state_.compare_exchange_strong(open, kTaken, platform::memory_order_acquire);
  }
  // Gives the ownership back. Called by the thread whose take() returned true.
  void give_back() {
    LJ_ASSERT(chunk == nullptr && state_.load(platform::memory_order_relaxed) == kTaken);
    state_.store(kNone, platform::memory_order_release);
  }

 private:
  enum State : uint32_t { kNone, kOpen, kBusy, kTaken };
  platform::atomic<uint32_t> state_{kNone};
};

// The rest of the time that a thread may wait for others.
class Patience {
 public:
  explicit Patience(uint64_t ticks) : left_(ticks) {}
  // Waits a moment. Returns false if nothing is left.
  bool once() {
    if (left_ == 0) return false;
    const uint64_t begin = platform::ticks();
    wait_.once();
    left_ -= std::min(left_, platform::ticks() - begin);
    return true;
  }

 private:
  uint64_t left_;
  platform::SpinWait wait_;
};

// Returns the counter of the padding in all chunks of `owners`. Any thread may call it.
inline Counters padding_of(const WorkerStates<ChunkOwner>& owners) {
  return {{"padding_bytes", owners.total(&ChunkOwner::padding_bytes)}};
}

// The chunks of one stream. Any thread may call a function whose comment names no caller.
class alignas(platform::kCacheLine) BufferChunks {
 public:
  struct Place {
    uint64_t begin;         // the stream position at which the hole begins
    uint64_t waited_ticks;  // how long the worker waited for room in the ring
  };

  // Makes the chunks of `stream`, which `owners` workers take. `run` seeds the checksums of padding
  // and watermarks.
  BufferChunks(Stream& stream, uint64_t run, uint32_t owners,
               ChunkLength::Rule rule = ChunkLength::Rule::kFixed);

  // Returns the place of a hole of `bytes`. Waits for room in the ring. The chunk is in use until
  // publish(). Called by worker `worker`.
  Place reserve(ChunkOwner& owner, uint32_t worker, uint32_t bytes);
  // Hands over the hole, which is filled with a record that has the number `sequence`. Called by
  // the same worker.
  void publish(ChunkOwner& owner, uint32_t bytes, uint64_t sequence);

  // Returns the lock that a flushing thread holds while it calls append_watermark() and pass().
  platform::SpinLock& passing() LJ_RETURN_CAPABILITY(passing_) { return passing_; }
  // Puts a watermark record of `sequence` after all chunks, and sets a boundary after it. pass()
  // writes it when all before it is passed and the ring has room. Returns false if too many others
  // were not passed yet. A worker whose chunk is dealt later sees what the caller did before.
  bool append_watermark(uint64_t sequence) LJ_REQUIRES(passing_);
  // Sets a boundary after all chunks.
  void close() LJ_REQUIRES(passing_) { boundary_.store(dealt(), platform::memory_order_relaxed); }
  // Passes the chunks that were handed over, in order. An open chunk is taken from its owner if it
  // is in the way of a flush. Waits for chunks that are in the way and in use, in all for at most
  // `patience` (in ticks). `owner_of(worker)` returns a ChunkOwner; `note(chunk)` is called before
  // filled() includes the chunk.
  template <class OwnerOf, class Note>
  void pass(uint64_t patience, const OwnerOf& owner_of, const Note& note) LJ_REQUIRES(passing_) {
    Patience waits(patience);
    while (true) {
      const uint64_t passed = passed_.load(platform::memory_order_relaxed);
      BufferChunk& chunk = slot(passed);
      if (!chunk.dealt.load(platform::memory_order_acquire)) {
        // A worker may have drawn the chunk's place and not dealt it yet.
        if (!pending() || !waits.once()) return;
        continue;
      }
      if (!chunk.done.load(platform::memory_order_acquire)) {
        if (!open_chunk_in_the_way()) return;
        ChunkOwner& owner = owner_of(chunk.owner);
        if (!owner.take()) {
          if (!waits.once()) return;
          continue;
        }
        hand_over(owner);
        owner.give_back();
      }
      if (chunk.watermark && !write_watermark(chunk)) return;
      LJ_ASSERT(chunk.begin == filled() && chunk.end > chunk.begin);
      note(chunk);
      filled_.store(chunk.end, platform::memory_order_release);
      passed_.store(passed + 1, platform::memory_order_relaxed);
      chunk.dealt.store(false, platform::memory_order_release);
    }
  }

  // Returns whether pass() may find something to do.
  bool pass_due() const {
    const BufferChunk& next = slot(passed_.load(platform::memory_order_relaxed));
    const bool filled = next.dealt.load(platform::memory_order_acquire) &&
                        next.done.load(platform::memory_order_acquire);
    return filled || open_chunk_in_the_way();
  }
  // Returns the stream position up to which all chunks were passed.
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  // Returns the end of the last chunk.
  uint64_t dealt() const;
  // Returns whether a chunk was dealt after the newest boundary.
  bool dealt_after_boundary() const {
    return dealt() != boundary_.load(platform::memory_order_relaxed);
  }
  // Returns whether an open chunk is before the newest boundary.
  bool pending() const { return filled() < boundary_.load(platform::memory_order_relaxed); }

 private:
  // If this many chunks wait for an open one, that is in the way.
  static constexpr uint64_t kManyChunks = 8;

  BufferChunk& slot(uint64_t number) const { return slots_[number & slot_mask_]; }

  bool fits(const ChunkOwner& owner, uint64_t bytes) const;
  // Deals the chunk of `bytes` whose number and position are in `next`, which was drawn from
  // `next_`. Returns its slot.
  BufferChunk& place(uint64_t next, uint64_t bytes, uint32_t worker, bool watermark);
  // Deals a chunk to `owner`. Returns how many ticks it waited for room in the ring.
  uint64_t deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes);
  // Fills the rest of the chunk with padding and hands the chunk over. Called by its owner, or by
  // the thread that has taken it.
  void hand_over(ChunkOwner& owner);
  // Writes the watermark record of the chunk. Returns false if the ring has no room for it.
  bool write_watermark(const BufferChunk& chunk);
  // Fills a hole at `begin` with a record that has no body.
  void write_empty(RecordKind kind, uint64_t sequence, uint64_t begin, uint64_t bytes);
  // Returns whether at least kManyChunks are handed over and not passed. Owners have a chunk each.
  bool many_wait() const;
  bool open_chunk_in_the_way() const {
    return pending() || many_wait() ||
           (stream_.ring().waited_for() && stream_.durable() == filled());
  }

  Stream& stream_;
  const uint64_t run_;
  const uint32_t owners_;
  const ChunkLength length_;
  const uint64_t slot_mask_;
  const std::unique_ptr<BufferChunk[]> slots_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  alignas(platform::kCacheLine) platform::SpinLock passing_;
  platform::atomic<uint64_t> filled_{0}, passed_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> boundary_{0};
};

}  // namespace logjam
