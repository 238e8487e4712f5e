#include "engine/stats/histogram.h"

#include <algorithm>
#include <cmath>

#include "platform/assert.h"

namespace logjam {

uint64_t Histogram::middle_of(size_t bin) {
  if (bin < (size_t{1} << kLinearBits)) return bin;
  const size_t half = size_t{1} << (kLinearBits - 1);
  const size_t shift = (bin - half) / half;
  const uint64_t lowest = static_cast<uint64_t>(bin - shift * half) << shift;
  return lowest + (uint64_t{1} << shift) / 2;
}

void HistogramSum::add(const Histogram& histogram) {
  for (size_t i = 0; i < bins_.size(); ++i) {
    bins_[i] += histogram.bins_[i].load(platform::memory_order_relaxed);
  }
  max_ = std::max(max_, histogram.max_.load(platform::memory_order_relaxed));
}

HistogramSum HistogramSum::since(const HistogramSum& earlier) const {
  HistogramSum difference;
  for (size_t i = 0; i < bins_.size(); ++i) {
    LJ_ASSERT(bins_[i] >= earlier.bins_[i]);
    difference.bins_[i] = bins_[i] - earlier.bins_[i];
  }
  difference.max_ = max_;
  if (max_ == earlier.max_) {  // the maximum may be old; the largest bin bounds the new values
    size_t last = bins_.size();
    while (last > 0 && difference.bins_[last - 1] == 0) --last;
    difference.max_ = last == 0 ? 0 : std::min(max_, Histogram::middle_of(last - 1));
  }
  return difference;
}

uint64_t HistogramSum::count() const {
  uint64_t total = 0;
  for (uint64_t bin : bins_) total += bin;
  return total;
}

double HistogramSum::mean() const {
  double sum = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < bins_.size(); ++i) {
    sum += static_cast<double>(bins_[i]) * static_cast<double>(Histogram::middle_of(i));
    total += bins_[i];
  }
  return total == 0 ? 0 : sum / static_cast<double>(total);
}

uint64_t HistogramSum::percentile(double fraction) const {
  LJ_ASSERT(fraction >= 0 && fraction <= 1);
  const uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(total))));
  uint64_t seen = 0;
  for (size_t i = 0; i < bins_.size(); ++i) {
    seen += bins_[i];
    if (seen >= rank) return std::min(Histogram::middle_of(i), max_);
  }
  return max_;
}

}  // namespace logjam
