// The memory of a log stream: a ring addressed by stream position.
//
// Bytes [position, position + n) of the stream are contiguous in memory wherever they lie, thanks
// to the mirror, up to `capacity()`.
//
// A hole ending at `end` may be filled once end <= align_down(durable, block) + capacity: the block
// in which the durable watermark lies is written again with the next flush, so it must stay.
//
// Protocol. `limit_` is that bound, stored (release) by whoever advances the watermark under the
// stream's flush latch, loaded (acquire) by publishers: what they overwrite has been written.
// Waiting: a publisher counts itself in `waiters_`, fences, and looks at `limit_` before it sleeps
// on `event_`; release() stores `limit_`, fences, and looks at `waiters_`. One of the two sees the
// other, so no wake-up is lost.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/park.h"

namespace logjam {

class Ring {
 public:
  // At least `bytes` and two blocks; a power of two. `block` too is one.
  Ring(uint64_t bytes, uint32_t block);

  uint64_t capacity() const { return mask_ + 1; }
  uint64_t block() const { return block_; }
  uint64_t max_record_bytes() const { return capacity() - block_; }

  std::byte* at(uint64_t position) const { return data_ + (position & mask_); }
  uint64_t block_down(uint64_t position) const { return position & ~(block_ - 1); }
  uint64_t block_up(uint64_t position) const { return (position + block_ - 1) & ~(block_ - 1); }

  bool fits(uint64_t end) const { return end <= limit_.load(platform::memory_order_acquire); }

  // Everything before `durable` may be overwritten. Under the flush latch.
  void release(uint64_t durable);

  // While one of these lives its owner waits for space, and waited_for() tells the flusher.
  class Wait {
   public:
    explicit Wait(Ring& ring) : ring_(ring) { ring_.waiters_.fetch_add(1); }
    ~Wait() { ring_.waiters_.fetch_sub(1); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    // Take `seen = event()`, look at fits(), and only then sleep.
    uint32_t event() const { return ring_.event_.load(); }
    void sleep(uint32_t seen, uint64_t timeout_ns) {
      platform::wait_on(ring_.event_, seen, timeout_ns);
    }

   private:
    Ring& ring_;
  };
  bool waited_for() const { return waiters_.load(platform::memory_order_relaxed) != 0; }

 private:
  platform::MirroredMemory memory_;
  std::byte* const data_;
  const uint64_t mask_;
  const uint64_t block_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> limit_;
  alignas(platform::kCacheLine) platform::atomic<uint32_t> waiters_{0};
  platform::atomic<uint32_t> event_{0};
};

}  // namespace logjam
