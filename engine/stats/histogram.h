// A log-linear histogram of durations: at most 1 % relative error over the whole 64-bit range.
//
// Protocol: one thread records; any thread may read while it does and sees some recent state (each
// bin is a relaxed atomic with one writer, so an increment is a plain load and store).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class Histogram {
 public:
  void record(uint64_t value) {
    auto& bin = bins_[bin_of(value)];
    bin.store(bin.load(platform::memory_order_relaxed) + 1, platform::memory_order_relaxed);
    if (value > max_.load(platform::memory_order_relaxed)) {
      max_.store(value, platform::memory_order_relaxed);
    }
  }
  void reset();

 private:
  friend class HistogramSum;
  // Values below 2^kLinearBits have a bin each; above, every power of two is cut in
  // 2^(kLinearBits-1) bins, so a bin's width is at most 1/128 of its values and its middle errs by
  // half of that.
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

// Several histograms added up, for percentiles.
class HistogramSum {
 public:
  HistogramSum() : bins_(Histogram::kBins) {}
  void add(const Histogram& histogram);
  // What came since `earlier`, a sum over the same histograms.
  HistogramSum since(const HistogramSum& earlier) const;

  uint64_t count() const;
  uint64_t max() const { return max_; }
  double mean() const;
  // The smallest value such that `fraction` of all are at or below it; 0 when empty.
  uint64_t percentile(double fraction) const;

 private:
  std::vector<uint64_t> bins_;
  uint64_t max_ = 0;
};

}  // namespace logjam
