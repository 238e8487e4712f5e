// How much memory the inserts of a run take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/run_options.h"

namespace logjam {

// Returns how many bytes the rows that one worker inserts take at most, in warm-up and measured
// time. `bytes_s` is what they take in a second if nothing holds the worker up; no more
// transactions come than --transactions and --rate let.
inline double expected_growth(double bytes_s, const RunOptions& options) {
  constexpr double kMostInsertedBytes = 4096;  // by a transaction
  const double seconds = options.warmup_seconds + options.seconds;
  double transactions = std::numeric_limits<double>::infinity();
  if (options.transactions != 0) transactions = static_cast<double>(options.transactions);
  if (options.rate > 0) {
    transactions = std::min(transactions, options.rate * seconds / options.threads);
  }
  return std::min(bytes_s * seconds, transactions * kMostInsertedBytes);
}

}  // namespace logjam
