// The memory of a log stream: a ring addressed by stream position. A mirror of the ring follows the
// ring in the address space. So the bytes [position, position + n) of the stream are contiguous in
// memory, for n up to `capacity()`.
//
// A hole that ends at `end` may be filled when end <= align_down(durable, block) + capacity. The
// block that holds the durable watermark must stay, because the next flush writes this block again.
//
// Protocol. `limit_` is the right side of this inequality. The thread that advances the watermark
// stores `limit_` (release), under the stream's flush latch. Publishers load `limit_` (acquire), so
// the bytes that they overwrite have been written. Publishers that wait for space sleep on
// `space_`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/event_count.h"
#include "platform/memory.h"

namespace logjam {

class Ring {
 public:
  // The capacity is a power of two, at least `bytes`, two blocks and a page. `block`, the block
  // size in bytes, is a power of two. `node` is where the memory lies (platform::place).
  Ring(uint64_t bytes, uint32_t block, int node = platform::kFirstTouch)
      : memory_(std::bit_ceil(std::max({bytes, uint64_t{2} * block, uint64_t{4096}})), node),
        data_(memory_.data()),
        mask_(memory_.size() - 1),
        block_(block),
        limit_(memory_.size()) {}

  uint64_t capacity() const { return mask_ + 1; }
  uint64_t block() const { return block_; }
  uint64_t max_record_bytes() const { return capacity() - block_; }

  std::byte* at(uint64_t position) const { return data_ + (position & mask_); }
  uint64_t block_down(uint64_t position) const { return position & ~(block_ - 1); }
  uint64_t block_up(uint64_t position) const { return (position + block_ - 1) & ~(block_ - 1); }

  bool fits(uint64_t end) const { return end <= limit_.load(platform::memory_order_acquire); }

  // Lets publishers overwrite the blocks before the block of `durable`, and wakes the publishers
  // that wait for space. Call it under the flush latch.
  void release(uint64_t durable) {
    limit_.store(block_down(durable) + capacity(), platform::memory_order_release);
    space_.notify();
  }

  platform::EventCount& space() { return space_; }
  // Returns whether a publisher waits for space. Any thread may call it; the answer may be late.
  bool waited_for() const { return space_.has_waiters(); }

 private:
  platform::MirroredMemory memory_;
  std::byte* const data_;
  const uint64_t mask_;
  const uint64_t block_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> limit_;
  alignas(platform::kCacheLine) platform::EventCount space_;
};

}  // namespace logjam
