// Buffer chunks: workers get a stream's ring in chunks, which serve as private buffers. A worker
// takes a chunk of the ring and fills it with record after record, without touching shared memory.
// To hand the chunk over, the worker needs one store and no copy. The log may be flushed up to the
// first chunk that is not handed over. If an open chunk keeps other chunks waiting, and the owner
// is not using this chunk, a flushing thread can take the chunk from the owner. It can also do so
// if workers wait for room in the ring, and nothing else can be flushed. The unused part of the
// chunk becomes padding.
//
// A watermark record is a chunk by itself, and durable only when all chunks before it are durable.
// It takes its position even if the ring has no room yet. If it first waited for room, workers
// might take every next position before it, for ever. If the next write ends at a block's end
// (StreamState::ends_at_block), padding fills the watermark's last block. Otherwise the write would
// leave the watermark to the next write. A *boundary* is a position before which all
// chunks must be handed over: the end of a watermark record, or a position that close() sets. A
// worker whose chunk begins before a boundary takes a new chunk for its next record.
//
// Protocol.
//   ChunkOwner::state_  The worker changes kNone -> kBusy and kOpen -> kBusy (compare-and-swap,
//                       acquire), and kBusy -> kOpen or kNone (release). A flushing thread changes
//                       kOpen -> kTaken (acquire), under `passing_`; then it hands the chunk over
//                       and stores kNone (release). `chunk` and `used` belong to the thread that
//                       stored kBusy or kTaken.
//   next_               the number and the begin of the next chunk, in one word. A worker takes a
//                       chunk by one addition (acquire), and waits for no other worker. A watermark
//                       takes its position likewise (release), so the worker of a later chunk sees
//                       what was stored before. If the ring has no room yet, the worker waits with
//                       its chunk. Earlier chunks can be flushed before it, so there will be room.
//   slots_              chunk n has slot n modulo the number of slots. There are more slots than
//                       chunks that are not durable, so the slot's previous chunk was passed. The
//                       worker waits until it sees that `dealt` is false (acquire), fills the slot
//                       and stores `dealt` (release). Passing the chunk stores false (release).
//   BufferChunk::done   is stored (release) when the chunk is filled to its end.
//   filled_             is stored (release) under `passing_`, after the new value's durable
//                       sequence is recorded.
//   boundary_           is stored under `passing_` and loaded (relaxed) by workers. A worker that
//                       misses the newest boundary puts one more record before this boundary, which
//                       is harmless.
//   passed_             counts the chunks that were passed, in order, under `passing_`. A thread
//                       that sees an old count looks at a passed slot, and looks again later.
//   padding_bytes       of an owner: only a thread that hands the owner's chunk over adds to it.
//                       Of a watermark: added to under `passing_`.
#pragma once

#include "logging/format/record_writer.h"
#include "logging/schemes/common/chunk_length.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/stream/stream.h"
#include "platform/fatal.h"

namespace logjam {

struct alignas(platform::kCacheLine) BufferChunk {
  uint64_t begin = 0, end = 0;
  uint32_t owner = 0;      // the worker's number
  uint64_t sequence = 0;   // the number of the last record, or of the watermark record
  bool watermark = false;  // the chunk is a watermark record
  platform::atomic<bool> dealt{false}, done{false};
};

class ChunkOwner {
 public:
  BufferChunk* chunk = nullptr;
  uint64_t used = 0;      // the stream position up to which the chunk is filled
  uint64_t sequence = 0;  // the number of the worker's last record
  ChunkLength::Filled filled;
  platform::Counter padding_bytes;  // in all chunks of this owner

  // Waits while another thread hands the chunk over. Only the worker calls begin() and end().
  void begin() {
    platform::SpinWait wait;
    uint32_t state = state_.load(platform::memory_order_acquire);
    LJ_ASSERT_IN_TESTS(state != kBusy);
    while (state == kTaken ||
           !state_.compare_exchange_weak(state, kBusy, platform::memory_order_acquire)) {
      wait.once();
      state = state_.load(platform::memory_order_acquire);
    }
  }
  void end() {
    LJ_ASSERT_IN_TESTS(state_.load(platform::memory_order_relaxed) == kBusy);
    state_.store(chunk == nullptr ? kNone : kOpen, platform::memory_order_release);
  }

  // Takes the chunk for a flushing thread. Returns false if the owner has no chunk or uses it.
  bool take() {
    uint32_t open = kOpen;
    return state_.compare_exchange_strong(open, kTaken, platform::memory_order_acquire);
  }
  void give_back() {
    LJ_ASSERT(chunk == nullptr && state_.load(platform::memory_order_relaxed) == kTaken);
    state_.store(kNone, platform::memory_order_release);
  }

 private:
  enum State : uint32_t { kNone, kOpen, kBusy, kTaken };
  platform::atomic<uint32_t> state_{kNone};
};

// The chunks of one stream. Any thread may call a function whose comment names no caller.
class alignas(platform::kCacheLine) BufferChunks {
 public:
  struct Place {
    uint64_t begin;         // the stream position at which the hole begins
    uint64_t waited_ticks;  // how long the worker waited for room in the ring
  };

  // `run` seeds the checksums of padding and watermarks. The first chunk begins at `begin`, which
  // is not 0 only in a test of the stream's end.
  BufferChunks(Stream& stream, uint64_t run, uint32_t owners,
               ChunkLength::Rule rule = ChunkLength::Rule::kFixed, uint64_t begin = 0)
      : stream_(stream),
        run_(run),
        owners_(owners),
        length_(stream.ring().capacity(), owners, rule),
        slot_mask_(slot_count(stream.ring().capacity(), length_.least(), owners) - 1),
        slots_(std::make_unique<BufferChunk[]>(slot_mask_ + 1)),
        next_(begin / kUnit) {
    LJ_ASSERT(slot_mask_ < kMostSlots);  // so the number in `next_` identifies one slot
  }

  // Reserves a hole of `bytes` in the owner's chunk, which is then in use until publish(). Waits
  // for room in the ring. Only worker `worker` calls reserve() and publish().
  Place reserve(ChunkOwner& owner, uint32_t worker, uint32_t bytes) {
    owner.begin();
    const uint64_t boundary = boundary_.load(platform::memory_order_relaxed);
    if (owner.chunk != nullptr && (owner.chunk->begin < boundary || !fits(owner, bytes))) {
      hand_over(owner);
    }
    if (owner.filled.boundary != boundary) {
      length_.begin_interval(owner.filled, boundary, platform::ticks());
    }
    const uint64_t waited = owner.chunk == nullptr ? deal(owner, worker, bytes) : 0;
    return {owner.used, waited};
  }
  // Hands over the hole, which is filled with a record that has the number `sequence`.
  void publish(ChunkOwner& owner, uint32_t bytes, uint64_t sequence) {
    owner.used += bytes;
    LJ_ASSERT_IN_TESTS(owner.used <= owner.chunk->end && sequence >= owner.sequence);
    owner.sequence = sequence;
    owner.filled.bytes += bytes;
    if (owner.used == owner.chunk->end) hand_over(owner);
    owner.end();
  }

  platform::SpinLock& passing() LJ_RETURN_CAPABILITY(passing_) { return passing_; }
  // Puts a watermark record of `sequence` after all chunks, and sets a boundary after it. pass()
  // writes the record when all earlier chunks are passed and the ring has room. Returns false if
  // too many watermark records are not passed yet. A worker of a later chunk sees all that the
  // caller did before the call.
  bool append_watermark(uint64_t sequence) LJ_REQUIRES(passing_) {
    uint64_t next = next_.load(platform::memory_order_relaxed), bytes = 0;
    do {
      if (slot(number_of(next)).dealt.load(platform::memory_order_relaxed)) return false;
      const uint64_t begin = begin_of(next);
      bytes = stream_.padded(begin + kLeastRecordBytes, kLeastRecordBytes) - begin;
    } while (!next_.compare_exchange_weak(next, next + step(bytes), platform::memory_order_release,
                                          platform::memory_order_relaxed));
    BufferChunk& chunk = place(next, bytes, 0, true);
    chunk.sequence = sequence;
    boundary_.store(chunk.end, platform::memory_order_relaxed);
    chunk.done.store(true, platform::memory_order_release);
    return true;
  }
  void close() LJ_REQUIRES(passing_) { boundary_.store(dealt(), platform::memory_order_relaxed); }
  // Advances filled() over the chunks that were handed over, in order. If an open chunk blocks a
  // flush, takes the chunk from its owner. If the owner is using this chunk, waits; all waits
  // together take at most `patience` ticks. Calls `note(chunk)` before filled() includes the chunk.
  template <class OwnerOf, class Note>
  void pass(uint64_t patience, const OwnerOf& owner_of, const Note& note) LJ_REQUIRES(passing_) {
    platform::SpinWait wait;
    const auto wait_a_moment = [&] {  // returns false if no patience is left
      if (patience == 0 || wait.would_sleep_early()) return false;
      const uint64_t begin = platform::ticks();
      wait.once();
      patience -= std::min(patience, platform::ticks() - begin);
      return true;
    };
    while (true) {
      const uint64_t passed = passed_.load(platform::memory_order_relaxed);
      BufferChunk& chunk = slot(passed);
      if (!chunk.dealt.load(platform::memory_order_acquire)) {
        // A worker may have drawn the chunk's position and not filled the slot yet.
        if (!pending() || !wait_a_moment()) return;
        continue;
      }
      if (!chunk.done.load(platform::memory_order_acquire)) {
        if (!open_chunk_in_the_way()) return;
        ChunkOwner& owner = owner_of(chunk.owner);
        if (!owner.take()) {
          // No patience for a worker that itself waits for this pass to make room.
          if (!stream_.ring().fits(chunk.end) || !wait_a_moment()) return;
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

  bool pass_due() const {
    const BufferChunk& next = slot(passed_.load(platform::memory_order_relaxed));
    const bool filled = next.dealt.load(platform::memory_order_acquire) &&
                        next.done.load(platform::memory_order_acquire);
    return filled || open_chunk_in_the_way();
  }
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  uint64_t dealt() const { return begin_of(next_.load(platform::memory_order_relaxed)); }
  bool dealt_after_boundary() const {
    return dealt() != boundary_.load(platform::memory_order_relaxed);
  }
  bool pending() const { return filled() < boundary_.load(platform::memory_order_relaxed); }
  uint64_t padding_bytes() const { return padding_bytes_.value(); }  // in chunks of watermarks

 private:
  // If this number of chunks wait for an open chunk, the open chunk blocks a flush.
  static constexpr uint64_t kManyChunks = 8;
  static constexpr uint64_t kLeastRecordBytes = sizeof(RecordHeader);
  static constexpr uint64_t kWatermarks = 8;  // slots for watermarks that were not passed yet

  // `next_`: the upper bits are the chunk's number, modulo 2^18; the lower bits count kUnit bytes.
  static constexpr int kBeginBits = 46;
  static constexpr uint64_t kUnit = ChunkLength::kUnit;
  // The process ends long before `next_` has no bits left, so that no thread draws beyond them.
  static constexpr uint64_t kMostStreamBytes = (kUnit << kBeginBits) - (uint64_t{1} << 40);
  static constexpr uint64_t kMostSlots = uint64_t{1} << (64 - kBeginBits);

  static uint64_t number_of(uint64_t next) { return next >> kBeginBits; }
  static uint64_t begin_of(uint64_t next) { return next * kUnit % (kUnit << kBeginBits); }
  // Returns the amount that a chunk of `bytes` adds to `next_`.
  static uint64_t step(uint64_t bytes) { return (uint64_t{1} << kBeginBits) + bytes / kUnit; }
  // Returns the number of slots needed for all chunks that fit in the ring, for one chunk of each
  // owner that waits for room, and for the watermarks.
  static uint64_t slot_count(uint64_t ring_bytes, uint64_t chunk_bytes, uint32_t owners) {
    const uint64_t least = std::max(chunk_bytes, 2 * kLeastRecordBytes) - kLeastRecordBytes;
    return std::bit_ceil(ring_bytes / least + owners + kWatermarks);
  }

  BufferChunk& slot(uint64_t number) const { return slots_[number & slot_mask_]; }

  // Returns whether the record fits in the chunk. After the record, the chunk must be full or have
  // room for padding.
  bool fits(const ChunkOwner& owner, uint64_t bytes) const {
    const uint64_t end = owner.used + bytes;
    return end == owner.chunk->end || end + kLeastRecordBytes <= owner.chunk->end;
  }
  // Fills the slot of the chunk whose number and begin are in `next`, a value drawn from `next_`.
  BufferChunk& place(uint64_t next, uint64_t bytes, uint32_t worker, bool watermark) {
    if (begin_of(next) + bytes > kMostStreamBytes) {
      platform::fatal("a stream of the log has had all its " +
                      std::to_string(kMostStreamBytes >> 40) +
                      " TiB; --continue begins to count again");
    }
    BufferChunk& chunk = slot(number_of(next));
    platform::SpinWait wait;
    while (chunk.dealt.load(platform::memory_order_acquire)) wait.once();
    chunk.begin = begin_of(next);
    chunk.end = chunk.begin + bytes;
    chunk.owner = worker;
    chunk.watermark = watermark;
    chunk.done.store(false, platform::memory_order_relaxed);
    chunk.dealt.store(true, platform::memory_order_release);
    return chunk;
  }
  uint64_t deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes) {
    const uint64_t length = length_.next(owner.filled);
    const uint64_t size = bytes + kLeastRecordBytes <= length ? length : bytes;
    const uint64_t next = next_.fetch_add(step(size), platform::memory_order_acquire);
    owner.chunk = &place(next, size, worker, false);
    owner.used = owner.chunk->begin;
    return stream_.wait_for_space(owner.chunk->end);
  }
  // Pads the unused part of the chunk. Called by the owner or a thread that took the chunk.
  void hand_over(ChunkOwner& owner) {
    BufferChunk& chunk = *owner.chunk;
    LJ_ASSERT(owner.used == chunk.end || owner.used + kLeastRecordBytes <= chunk.end);
    if (owner.used != chunk.end) {
      write_empty(RecordKind::kPadding, 0, owner.used, chunk.end - owner.used);
      owner.padding_bytes.add(chunk.end - owner.used);
    }
    chunk.sequence = owner.sequence;
    owner.chunk = nullptr;
    chunk.done.store(true, platform::memory_order_release);
  }
  bool write_watermark(const BufferChunk& chunk) {
    if (!stream_.ring().fits(chunk.end)) return false;
    const uint64_t end = chunk.begin + kLeastRecordBytes;
    write_empty(RecordKind::kWatermark, chunk.sequence, chunk.begin, kLeastRecordBytes);
    if (end != chunk.end) {
      write_empty(RecordKind::kPadding, 0, end, chunk.end - end);
      padding_bytes_.add(chunk.end - end);
    }
    return true;
  }
  void write_empty(RecordKind kind, uint64_t sequence, uint64_t begin, uint64_t bytes) {
    const LogReservation hole{.sequence = sequence,
                              .position = begin,
                              .durable = stream_.durable(),
                              .hole = stream_.at(begin, bytes),
                              .bytes = static_cast<uint32_t>(bytes)};
    RecordWriter(hole, kind, 0).seal(run_, begin);
  }
  // Returns whether kManyChunks chunks wait to be passed, not counting one open chunk per owner.
  bool many_wait() const {
    const uint64_t next = number_of(next_.load(platform::memory_order_relaxed));
    const uint64_t passed = passed_.load(platform::memory_order_relaxed);
    return ((next - passed) & (kMostSlots - 1)) >= owners_ + kManyChunks;
  }
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
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_;
  alignas(platform::kCacheLine) platform::SpinLock passing_;
  platform::atomic<uint64_t> filled_{0}, passed_{0};
  platform::Counter padding_bytes_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> boundary_{0};
};

}  // namespace logjam
