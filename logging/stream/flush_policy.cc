#include "logging/stream/flush_policy.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {
namespace {

uint64_t us_to_ticks(uint64_t us) { return platform::ns_to_ticks(static_cast<double>(us) * 1e3); }

}  // namespace

FlushPolicy FlushPolicy::of(const LogConfig& config) {
  return {.txns = config.flush_txns,
          .bytes = config.flush_bytes,
          .wait_ticks = us_to_ticks(config.flush_us)};
}

uint64_t FlushPolicy::ticks_late(uint64_t oldest, uint64_t idle_since, uint64_t now) const {
  const uint64_t wanted = std::max(oldest + wait_ticks, idle_since);
  return now > wanted ? now - wanted : 0;
}

}  // namespace logjam
