#include "logging/schemes/aether/consolidation_array.h"

#include "platform/spin.h"

namespace logjam {

ConsolidationArray::ConsolidationArray(uint32_t slots, uint32_t members, uint64_t max_group_bytes)
    : max_group_bytes_(max_group_bytes), array_(slots), pool_(2 * (slots + members) + 1) {
  for (Slot& slot : pool_) slot.state.store(kFree, platform::memory_order_relaxed);
  for (uint32_t place = 0; place < slots; ++place) {
    Slot& slot = pool_[next_++];
    slot.place = place;
    slot.state.store(kReady, platform::memory_order_relaxed);
    array_[place].store(&slot, platform::memory_order_release);
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
  fresh->place = slot.place;
  fresh->state.store(kReady, platform::memory_order_release);
  array_[slot.place].store(fresh, platform::memory_order_release);
  return static_cast<uint64_t>(slot.state.exchange(kPending, platform::memory_order_acq_rel) -
                               kReady);
}

void ConsolidationArray::notify(Slot& slot, const Region& region) {
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
  return slot.state.fetch_add(amount, platform::memory_order_acq_rel) + amount == kDone;
}

void ConsolidationArray::free(Slot& slot) {
  slot.state.store(kFree, platform::memory_order_release);
}

}  // namespace logjam
