// Poplar's log buffer (section 4): an offset and the SSN of the last record, drawn together under a
// latch, and a segment index that tells how far the buffer is filled.
//
// Under the latch, a thread writes only the latch's cache line, unless it closes a segment. Threads
// that wait for the latch do not touch this line (handoff_lock.h).
//
// Protocol. `sequence_` and `open_bytes_` are stored under `latch_`. Any thread may load both, and
// may get old values. `filled_` is stored (release) under `advancing_`, after the caller has
// recorded the durable sequence of the new value.
#pragma once

#include <bit>

#include "logging/format/record.h"
#include "logging/schemes/common/handoff_lock.h"
#include "logging/schemes/common/segment_index.h"
#include "logging/stream/stream.h"

namespace logjam {

// Any thread may call a function whose comment names no caller.
class alignas(platform::kCacheLine) SegmentedBuffer {
 public:
  struct Hole {
    uint64_t begin, sequence;
    uint32_t segment;
    uint64_t waited_ticks;  // how long the worker waited for room in the ring
  };

  // A segment is closed as soon as it has `segment_bytes`.
  SegmentedBuffer(Stream& stream, uint64_t segment_bytes, uint32_t workers)
      : stream_(stream),
        segment_bytes_(segment_bytes),
        segments_(stream.ring().capacity() / segment_bytes),
        latch_(workers) {
    LJ_ASSERT(std::has_single_bit(segment_bytes));
  }

  uint64_t sequence() const { return sequence_.load(platform::memory_order_relaxed); }

  // Returns a hole of `bytes`, with a number larger than `above` and than the buffer's last number
  // (Poplar, Algorithm 1). Waits for room. Only workers call it; publish() follows.
  Hole reserve(uint64_t above, uint32_t bytes) LJ_NOT_ANALYSED {  // it hands out `offset_`
    const uint64_t waited = stream_.lock_with_space(latch_, offset_, bytes);
    const Hole hole = take(std::max(above, sequence()) + 1, bytes, waited);
    if (open_bytes() >= segment_bytes_) close_if_possible();
    latch_.unlock();
    return hole;
  }
  void publish(uint32_t segment, uint64_t bytes) { segments_.filled(segment, bytes); }

  // Appends a record of `bytes` with the number `sequence`, if the last SSN is smaller and the ring
  // has room. `write(begin)` fills the record.
  template <class Write>
  void raise(uint64_t sequence, uint32_t bytes, const Write& write) {
    if (this->sequence() >= sequence) return;
    const platform::lock_guard<HandoffLock> hold(latch_);
    if (this->sequence() < sequence && stream_.ring().fits(offset_ + bytes)) {
      const Hole hole = take(sequence, bytes);
      write(hole.begin);
      publish(hole.segment, bytes);
    }
  }

  uint64_t open_bytes() const { return open_bytes_.load(platform::memory_order_relaxed); }
  bool pending() const { return segments_.pending(); }
  uint64_t closed() const { return segments_.closed(); }
  uint64_t padding_bytes() const { return padding_bytes_.value(); }
  // Closes the open segment for a write. If the write is to end at a block's end, fills the block:
  // `pad(begin, bytes, sequence)` writes the padding, which has the last record's number.
  template <class Pad>
  void close(const Pad& pad) {
    const platform::lock_guard<HandoffLock> hold(latch_);
    if (open_bytes() == 0 || segments_.full()) return;
    const uint64_t bytes = stream_.padded(offset_, sizeof(RecordHeader)) - offset_;
    if (bytes != 0 && stream_.ring().fits(offset_ + bytes)) {
      pad(offset_, bytes, sequence());
      publish(segments_.open(), bytes);
      open_bytes_.store(open_bytes() + bytes, platform::memory_order_relaxed);
      offset_ += bytes;
      padding_bytes_.add(bytes);
    }
    close_if_possible();
  }
  // Passes the segments that are closed and filled. Calls `note(end, sequence)` for each segment,
  // before filled() includes it. Returns whether it passed a segment.
  template <class Note>
  bool pass(const Note& note) {
    if (!segments_.passable()) return false;
    bool passed = false;
    const platform::lock_guard<platform::SpinLock> hold(advancing_);
    segments_.advance([&](uint64_t end, uint64_t sequence) {
      LJ_ASSERT(end > filled_.load(platform::memory_order_relaxed));
      note(end, sequence);
      filled_.store(end, platform::memory_order_release);
      passed = true;
    });
    return passed;
  }
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

 private:
  Hole take(uint64_t sequence, uint32_t bytes, uint64_t waited_ticks = 0) LJ_REQUIRES(latch_) {
    LJ_ASSERT(sequence > this->sequence());
    const Hole hole{offset_, sequence, segments_.open(), waited_ticks};
    sequence_.store(sequence, platform::memory_order_relaxed);
    open_bytes_.store(open_bytes() + bytes, platform::memory_order_relaxed);
    offset_ += bytes;
    return hole;
  }
  void close_if_possible() LJ_REQUIRES(latch_) {
    if (segments_.full()) return;
    segments_.close(open_bytes(), offset_, sequence());
    open_bytes_.store(0, platform::memory_order_relaxed);
  }

  Stream& stream_;
  const uint64_t segment_bytes_;
  SegmentIndex segments_;

  alignas(platform::kCacheLine) [[no_unique_address]] HandoffLock latch_;
  platform::atomic<uint64_t> sequence_{0}, open_bytes_{0};
  uint64_t offset_ LJ_GUARDED_BY(latch_) = 0;
  platform::Counter padding_bytes_;  // added to under `latch_`

  alignas(platform::kCacheLine) platform::SpinLock advancing_;
  platform::atomic<uint64_t> filled_{0};
};

}  // namespace logjam
