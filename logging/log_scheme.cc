#include "logging/log_scheme.h"

#include <algorithm>

#include "platform/thread.h"

namespace logjam {
namespace {

// A safety net only: nothing relies on it.
constexpr uint64_t kSafetyTimeoutNs = 20'000'000;

// Filled by static initialisers, in whatever order the linker chose.
std::vector<SchemeInfo>& registry() {
  static std::vector<SchemeInfo> schemes;
  return schemes;
}

}  // namespace

uint32_t LogConfig::socket_of(uint32_t worker) const {
  const bool real = sockets == static_cast<uint32_t>(platform::socket_count());
  const int core = static_cast<int>(worker);
  if (real) return static_cast<uint32_t>(platform::socket_of_core(core)) % sockets;
  return static_cast<uint32_t>(uint64_t{worker} * sockets / workers);
}

void LogScheme::wait_durable(uint32_t worker, const Point& point) {
  while (!is_durable(point)) park_waiter(worker, point, kSafetyTimeoutNs);
}

void LogScheme::park_waiter(uint32_t worker, const Point& point, uint64_t timeout_ns,
                            const platform::atomic<bool>* while_true) {
  Waiter& waiter = waiters_[worker];
  waiter.sequence.store(point.sequence, platform::memory_order_relaxed);
  waiter.stream.store(point.stream, platform::memory_order_relaxed);
  waiter.waiting.store(true, platform::memory_order_release);
  platform::full_fence();
  if (!is_durable(point) &&
      (while_true == nullptr || while_true->load(platform::memory_order_acquire))) {
    waiter.bed.park(timeout_ns);
  }
  waiter.waiting.store(false, platform::memory_order_relaxed);
}

void LogScheme::wake_waiters() {
  platform::full_fence();
  for (Waiter& waiter : waiters_) {
    // A waiter that is just changing its point may be read half old, half new. Then its own look
    // at the watermark, behind its fence, comes after our store: it does not need us.
    if (waiter.waiting.load(platform::memory_order_acquire) &&
        is_durable({waiter.sequence.load(platform::memory_order_relaxed),
                    waiter.stream.load(platform::memory_order_relaxed)})) {
      waiter.bed.unpark();
    }
  }
}

bool LogScheme::wake_one_waiter(uint32_t stream) {
  platform::full_fence();
  for (Waiter& waiter : waiters_) {
    if (waiter.waiting.load(platform::memory_order_acquire) &&
        waiter.stream.load(platform::memory_order_relaxed) == stream &&
        !is_durable({waiter.sequence.load(platform::memory_order_relaxed),
                     waiter.stream.load(platform::memory_order_relaxed)})) {
      waiter.bed.unpark();
      return true;
    }
  }
  return false;
}

SchemeRegistration::SchemeRegistration(SchemeInfo info) {
  auto& schemes = registry();
  schemes.insert(std::ranges::upper_bound(schemes, info.name, {}, &SchemeInfo::name),
                 std::move(info));
}

const std::vector<SchemeInfo>& all_schemes() { return registry(); }

const SchemeInfo* find_scheme(std::string_view name) {
  const auto& schemes = registry();
  const auto found = std::ranges::find(schemes, name, &SchemeInfo::name);
  return found == schemes.end() ? nullptr : &*found;
}

}  // namespace logjam
