// Tests whether the rate in a measured window is steady. The rate changes while a log buffer fills,
// while a backlog of the warm-up is acknowledged, or while a cache warms up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/text.h"

namespace logjam {

// The measured window.
struct Window {
  uint64_t committed = 0;     // transactions that were executed, and logged if they write
  uint64_t acknowledged = 0;  // transactions whose commits were acknowledged
  uint64_t with_latency = 0;  // transactions whose latencies are known
  std::optional<uint64_t> first_half = std::nullopt;  // acknowledged in the first half, if known
  double seconds = 0;
  double commit_p99_seconds = 0;
};

// Returns the text after "unsteady: ", or an empty string. Ignores differences of up to four
// standard deviations of a count, which may be due to chance.
inline std::string why_unsteady(const Window& window) {
  constexpr double kMostUnacknowledged = 0.05, kMostBetweenHalves = 0.1, kMostLatency = 1.0 / 3;
  const auto differ = [](uint64_t one, uint64_t other, double most) {
    const auto a = static_cast<double>(one), b = static_cast<double>(other);
    const double difference = std::abs(a - b);
    return difference > most * std::max(a, b) && difference > 4 * std::sqrt(a + b);
  };
  if (window.acknowledged == 0) return "no transaction was acknowledged in the window";
  std::string why;
  if (differ(window.committed, window.acknowledged, kMostUnacknowledged)) {
    platform::append_part(&why, "; ",
                          std::to_string(window.committed) + " executed, " +
                              std::to_string(window.acknowledged) + " acknowledged");
  }
  if (differ(window.with_latency, window.acknowledged, kMostUnacknowledged)) {
    platform::append_part(&why, "; ",
                          "latencies of " + std::to_string(window.with_latency) +
                              " transactions, throughput of " +
                              std::to_string(window.acknowledged));
  }
  if (window.commit_p99_seconds > kMostLatency * window.seconds) {
    platform::append_part(&why, "; ", "p99 above a third of the window");
  }
  if (!window.first_half) return why;
  const uint64_t first = std::min(*window.first_half, window.acknowledged);
  if (differ(first, window.acknowledged - first, kMostBetweenHalves)) {
    platform::append_part(&why, "; ",
                          std::to_string(first) + " acknowledged in the first half, " +
                              std::to_string(window.acknowledged - first) + " in the second");
  }
  return why;
}

}  // namespace logjam
