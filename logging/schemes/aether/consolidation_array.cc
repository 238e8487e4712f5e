#include "logging/schemes/aether/consolidation_array.h"

#include "platform/assert.h"
#include "platform/spin.h"

namespace logjam {

ConsolidationArray::ConsolidationArray(uint32_t slots, uint32_t members, uint64_t max_group_bytes)
    : max_group_bytes_(max_group_bytes), array_(slots), pool_(2 * (slots + members) + 1) {
  for (Slot& slot : pool_) slot.state.store(kFree, platform::memory_order_relaxed);
  for (uint32_t index = 0; index < slots; ++index) {
    Slot& slot = pool_[next_++];
    slot.index = index;
    slot.state.store(kReady, platform::memory_order_relaxed);
    array_[index].store(&slot, platform::memory_order_release);
  }
}

ConsolidationArray::Position ConsolidationArray::join(uint64_t bytes, uint64_t random) {
  platform::SpinWait spin;
  for (;; ++random, spin.once()) {
    Slot* slot = array_[random % array_.size()].load(platform::memory_order_acquire);
    int64_t state = slot->state.load(platform::memory_order_relaxed);
    while (state >= kReady) {
      const auto offset = static_cast<uint64_t>(state - kReady);
      if (offset != 0 && offset + bytes > max_group_bytes_) break;
      if (slot->state.compare_exchange_weak(state, state + static_cast<int64_t>(bytes),
                                            platform::memory_order_acq_rel,
                                            platform::memory_order_relaxed)) {
        return {slot, offset};
      }
    }
  }
}

uint64_t ConsolidationArray::close(Slot& slot) {
  Slot* fresh;
  do {
    fresh = &pool_[next_++ % pool_.size()];
  } while (fresh->state.load(platform::memory_order_acquire) != kFree);
  fresh->index = slot.index;
  fresh->state.store(kReady, platform::memory_order_release);
  array_[slot.index].store(fresh, platform::memory_order_release);
  const int64_t open = slot.state.exchange(kPending, platform::memory_order_acq_rel);
  LJ_ASSERT(open > kReady);
  return static_cast<uint64_t>(open - kReady);
}

void ConsolidationArray::notify(Slot& slot, const Region& region) {
  LJ_ASSERT(slot.state.load(platform::memory_order_relaxed) == kPending);
  slot.region = region;
  slot.state.store(kDone - static_cast<int64_t>(region.end - region.begin),
                   platform::memory_order_release);
  slot.members.notify();
}

Region ConsolidationArray::wait(Slot& slot) {
  slot.members.await([&] { return slot.state.load(platform::memory_order_acquire) <= kDone; });
  return slot.region;
}

bool ConsolidationArray::leave(Slot& slot, uint64_t bytes) {
  const auto amount = static_cast<int64_t>(bytes);
  const int64_t left = slot.state.fetch_add(amount, platform::memory_order_acq_rel) + amount;
  LJ_ASSERT(left <= kDone);
  return left == kDone;
}

void ConsolidationArray::free(Slot& slot) {
  LJ_ASSERT(slot.state.load(platform::memory_order_relaxed) == kDone);
  slot.state.store(kFree, platform::memory_order_release);
}

}  // namespace logjam
