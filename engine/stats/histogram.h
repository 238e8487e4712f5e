// A log-linear histogram of durations, with a relative error of at most 1 %.
//
// Protocol. One thread records, so an increment is a relaxed load and a relaxed store. Other
// threads may read at the same time, and see some recent state.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class Histogram {
 public:
  void record(uint64_t value, uint64_t times = 1) {
    auto& bin = bins_[bin_of(value)];
    bin.store(bin.load(platform::memory_order_relaxed) + times, platform::memory_order_relaxed);
    if (value > max_.load(platform::memory_order_relaxed)) {
      max_.store(value, platform::memory_order_relaxed);
    }
  }

 private:
  friend class HistogramSum;
  // Each value below 2^kLinearBits has a bin of its own. Above that, each power of two is divided
  // into 2^(kLinearBits-1) bins, so a bin's width is at most 1/128 of its values.
  static constexpr int kLinearBits = 8;
  static constexpr size_t kBins =
      (size_t{1} << kLinearBits) + (64 - kLinearBits) * (size_t{1} << (kLinearBits - 1));

  static size_t bin_of(uint64_t value) {
    const int width = std::bit_width(value);
    if (width <= kLinearBits) return value;
    const int shift = width - kLinearBits;
    return (static_cast<size_t>(shift) << (kLinearBits - 1)) + (value >> shift);
  }
  static uint64_t middle_of(size_t bin);

  std::array<platform::atomic<uint64_t>, kBins> bins_{};
  platform::atomic<uint64_t> max_{0};
};

// The sum of several histograms. One thread uses it.
class HistogramSum {
 public:
  HistogramSum() : bins_(Histogram::kBins) {}
  void add(const Histogram& histogram);
  // Returns the values recorded since `earlier`, a sum of the same histograms.
  HistogramSum since(const HistogramSum& earlier) const;

  uint64_t count() const;
  uint64_t max() const { return max_; }
  double mean() const;
  // Returns the smallest v such that the share `fraction` (0 to 1) of the values is at most v.
  uint64_t percentile(double fraction) const;

 private:
  std::vector<uint64_t> bins_;
  uint64_t max_ = 0;
};

}  // namespace logjam
