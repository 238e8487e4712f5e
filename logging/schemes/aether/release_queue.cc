#include "logging/schemes/aether/release_queue.h"

#include <bit>

#include "platform/assert.h"

namespace logjam {

ReleaseQueue::ReleaseQueue(uint32_t nodes, uint32_t treadmill)
    : nodes_(nodes), mask_(nodes - 1), treadmill_mask_(treadmill - 1) {
  LJ_ASSERT(nodes >= 2 && std::has_single_bit(nodes) && std::has_single_bit(treadmill));
  nodes_[0].state.store(kItsTurn, platform::memory_order_relaxed);
}

uint64_t ReleaseQueue::join(uint64_t end) {
  const uint64_t number = joined_++;
  if (number > released_seen_ + mask_) {
    room_.await([&] {
      released_seen_ = released_.load(platform::memory_order_acquire);
      return number <= released_seen_ + mask_;
    });
  }
  Node& mine = node(number);
  mine.end = end;
  uint32_t seen = kFree;
  mine.state.compare_exchange_strong(seen, kWaiting, platform::memory_order_acq_rel,
                                     platform::memory_order_acquire);
  LJ_ASSERT(seen == kFree || seen == kItsTurn);
  return number;
}

bool ReleaseQueue::release(const Region& region, uint64_t random) {
  Node& mine = node(region.node);
  uint32_t seen = mine.state.load(platform::memory_order_acquire);
  LJ_ASSERT((seen == kWaiting || seen == kItsTurn) && mine.end == region.end);
  if (seen == kWaiting && (random & treadmill_mask_) != 0 &&
      mine.state.compare_exchange_strong(seen, kDelegated, platform::memory_order_acq_rel,
                                         platform::memory_order_acquire)) {
    return false;
  }
  turn_.await([&] { return mine.state.load(platform::memory_order_acquire) == kItsTurn; });
  release_from(region.node);
  return true;
}

void ReleaseQueue::release_from(uint64_t number) {
  uint32_t next = kDelegated;
  for (; next == kDelegated; ++number) {
    Node& mine = node(number);
    LJ_ASSERT(mine.end > filled_.load(platform::memory_order_relaxed));
    filled_.store(mine.end, platform::memory_order_release);
    mine.state.store(kFree, platform::memory_order_relaxed);
    released_.store(number + 1, platform::memory_order_release);
    next = node(number + 1).state.exchange(kItsTurn, platform::memory_order_acq_rel);
    LJ_ASSERT(next != kItsTurn);
  }
  if (next == kWaiting) turn_.notify();
}

}  // namespace logjam
