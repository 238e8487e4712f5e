// Checks that a run does not use up the memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "engine/run_options.h"

namespace logjam {

// Checks regularly whether memory is about to run out. One thread uses the object.
class MemoryGuard {
 public:
  // At 1 GB/s, about as fast as two workers can insert rows, 50 MB are used between two checks.
  static constexpr uint64_t kCheckEveryNs = 50'000'000;

  // Checks with `available`, which returns the bytes of free memory.
  MemoryGuard(uint64_t least_bytes, std::function<uint64_t()> available)
      : least_bytes_(least_bytes), available_(std::move(available)) {}

  // Returns whether fewer than `least_bytes` were available at the last check.
  bool hardly_any_left(uint64_t now_ns) {
    if (now_ns >= next_check_ns_) {
      next_check_ns_ = now_ns + kCheckEveryNs;
      hardly_any_left_ = available_() < least_bytes_;
    }
    return hardly_any_left_;
  }

 private:
  const uint64_t least_bytes_;
  const std::function<uint64_t()> available_;
  uint64_t next_check_ns_ = 0;
  bool hardly_any_left_ = false;
};

// Returns the most bytes that one worker's inserts take in warm-up and measured time. `bytes_s` is
// the number of bytes per second if the worker never waits.
inline double expected_growth(double bytes_s, const RunOptions& options) {
  constexpr double kMostInsertedBytes = 4096;  // by a transaction
  const double seconds = options.most_seconds();
  double transactions = std::numeric_limits<double>::infinity();
  if (options.transactions != 0) transactions = static_cast<double>(options.transactions);
  if (!options.rates.empty()) {
    transactions = std::min(transactions, options.most_rate() * seconds / options.threads);
  }
  return std::min(bytes_s * seconds, transactions * kMostInsertedBytes);
}

}  // namespace logjam
