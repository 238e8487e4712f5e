#include "logging/stream/durability_waiters.h"

namespace logjam {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

void DurabilityWaiters::Waiter::store(const CommitPoint& point) {
  sequence.store(point.sequence, memory_order_relaxed);
  where.store(uint64_t{point.index} << 8 | static_cast<uint8_t>(point.scope), memory_order_relaxed);
}

CommitPoint DurabilityWaiters::Waiter::load() const {
  const uint64_t place = where.load(memory_order_relaxed);
  return {.sequence = sequence.load(memory_order_relaxed),
          .index = static_cast<uint32_t>(place >> 8),
          .scope = static_cast<CommitPoint::Scope>(place & 0xff)};
}

void DurabilityWaiters::park(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns,
                             const platform::atomic<uint32_t>* lead) {
  Waiter& waiter = waiters_[worker];
  waiter.store(point);
  waiter.waits.store(lead == nullptr ? kFollows : kWouldLead, memory_order_release);
  parked_.fetch_add(1, memory_order_release);
  platform::full_fence();
  if (!is_durable(point) && (lead == nullptr || lead->load(memory_order_acquire) != kFree)) {
    waiter.parker.park(timeout_ns);
  }
  waiter.waits.store(kAwake, memory_order_relaxed);
  parked_.fetch_sub(1, memory_order_relaxed);
}

void DurabilityWaiters::wake_durable() {
  platform::full_fence();
  if (parked_.load(memory_order_acquire) == 0) return;
  for (Waiter& waiter : waiters_) {
    if (waiter.waits.load(memory_order_acquire) != kAwake && is_durable(waiter.load())) {
      waiter.parker.unpark();
    }
  }
}

bool DurabilityWaiters::wake_one_to_lead(uint32_t stream) {
  platform::full_fence();
  if (parked_.load(memory_order_acquire) == 0) return false;
  for (Waiter& waiter : waiters_) {
    if (waiter.waits.load(memory_order_acquire) != kWouldLead) continue;
    const CommitPoint point = waiter.load();
    const bool of_stream = point.scope == CommitPoint::Scope::kStream && point.index == stream;
    if (of_stream && !is_durable(point)) {
      waiter.parker.unpark();
      return true;
    }
  }
  return false;
}

}  // namespace logjam
