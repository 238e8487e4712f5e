#include "logging/stream/flush_gap.h"

#include <algorithm>
#include <cmath>

#include "platform/clock.h"

namespace logjam {
namespace {

// A choice of the gap takes microseconds, so it needs at least this many flushes and this time.
constexpr uint64_t kLeastFlushes = 16;
constexpr double kWindowNs = 20e6;
constexpr double kMostGapNs = 2e6, kMostPaceNs = 200e3;
// The model counts at most this share of the workers' time as lost: a share of 1 has no period.
constexpr double kMostLostShare = 0.9;

uint64_t ticks_of(double ns) { return platform::ns_to_ticks(ns); }

}  // namespace

double period_of_most_power(double lost, double write) {
  return lost + std::sqrt(lost * lost + 2 * lost * write);
}

double period_of_latency(double latency, double write) {
  return std::max(0.0, 2 * (latency - write));
}

FlushGap::FlushGap(const LogConfig& config)
    : chosen_(config.chooses_gap),
      latency_ticks_(
          static_cast<double>(ticks_of(static_cast<double>(config.gap_latency_us) * 1e3))),
      window_ticks_(ticks_of(kWindowNs)),
      most_ticks_(ticks_of(kMostGapNs)),
      most_pace_ticks_(ticks_of(kMostPaceNs)),
      run_delay_ns_(config.run_delay_ns),
      workers_(config.workers),
      ticks_(ticks_of(static_cast<double>(config.flush_gap_us) * 1e3)) {}

// Assumes that the bytes between two goals were filled at an even pace.
void FlushGap::note_flush(uint64_t now, uint64_t goal) {
  if (!chosen_) return;
  ++flushes_;
  waiting_ +=
      (since_window(goal_) + since_window(goal)) / 2 * static_cast<double>(now - goal_since_);
  goal_ = goal;
  goal_since_ = now;
  if (now - window_since_ >= window_ticks_) choose(now);
}

void FlushGap::begin_window(uint64_t now) {
  window_since_ = durable_since_ = now;
  window_goal_ = goal_;
  delay_before_ns_ = run_delay_ns_();
  flushes_ = helped_ticks_ = 0;
  waiting_ = 0;
}

// Moves the gap only half way to the best gap for the window, because the measurements are noisy.
void FlushGap::choose(uint64_t now) {
  if (window_since_ == 0) return begin_window(now);
  const double bytes = since_window(goal_);
  if (flushes_ < kLeastFlushes || bytes == 0) return;
  const auto window = static_cast<double>(now - window_since_);
  const double period = window / static_cast<double>(flushes_);
  note_durable(now, durable_);
  const double write = std::max(0.0, waiting_ / bytes - period / 2);
  // Ended threads are missing from the sum, so the sum may shrink.
  const uint64_t delay_ns = std::max(run_delay_ns_(), delay_before_ns_) - delay_before_ns_;
  const double lost = static_cast<double>(ticks_of(static_cast<double>(delay_ns)) + helped_ticks_) /
                      (window * workers_);
  const double best = latency_ticks_ != 0
                          ? period_of_latency(latency_ticks_, write)
                          : period_of_most_power(std::min(lost, kMostLostShare) * period, write);
  const auto wanted = static_cast<uint64_t>(std::min(best, static_cast<double>(most_ticks_)));
  ticks_.store((ticks_.load(platform::memory_order_relaxed) + wanted) / 2,
               platform::memory_order_relaxed);
  begin_window(now);
}

}  // namespace logjam
