#include "engine/run/timeline.h"

#include <algorithm>
#include <numeric>

#include "platform/clock.h"

namespace logjam {

Timeline::Timeline(const RunOptions& options, const CheckpointSide& scheme, Phase first)
    : scheme_(scheme),
      sink_(options.on_sample),
      interval_ns_(options.sample_ms * 1'000'000),
      warmup_ns_(static_cast<uint64_t>(options.warmup_seconds * 1e9)),
      phase_(first) {
  for (uint32_t worker = 0; worker < options.threads; ++worker) {
    workers_.push_back(std::make_unique<WorkerTimeline>());
  }
}

void Timeline::begin() {
  LJ_ASSERT(!sampler_.joinable());
  const platform::lock_guard<platform::mutex> hold(mutex_);
  last_ = totals();
  measure_start_ns_ = last_.ns + (phase_ == Phase::kWarmup ? warmup_ns_ : 0);
  sampler_ = platform::thread([this] {
    platform::name_this_thread("timeline");
    platform::favour_this_thread();  // workers may keep all cores busy
    sample_until_end();
  });
}

void Timeline::enter(Phase phase) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(phase > phase_);
  sample();
  phase_ = phase;
  if (phase == Phase::kMeasure) measure_start_ns_ = last_.ns;
}

void Timeline::end() {
  if (!sampler_.joinable()) return;
  ending_.store(true, platform::memory_order_relaxed);
  parker_.unpark();
  sampler_.join();
  const platform::lock_guard<platform::mutex> hold(mutex_);
  sample();
}

void Timeline::sample_until_end() {
  uint64_t due = platform::now_ns() + interval_ns_;
  while (!ending_.load(platform::memory_order_relaxed)) {
    const uint64_t now = platform::now_ns();
    if (now < due) {
      parker_.park(due - now);
      continue;
    }
    platform::lock_guard<platform::mutex> hold(mutex_);
    // Do not sample just after a sample of the main thread.
    if (platform::now_ns() - last_.ns >= interval_ns_ / 2) sample();
    due = std::max(due, last_.ns) + interval_ns_;
  }
}

Timeline::Totals Timeline::totals() const {
  Totals sum;
  const uint64_t ticks = platform::ticks();
  for (const auto& worker : workers_) {
    // Loads the acknowledged bytes first, so that they seldom exceed the logged bytes. (The
    // processor may reorder relaxed loads.)
    sum.acknowledged_bytes += worker->acknowledged_bytes.value();
    sum.log_bytes += worker->log_bytes.value();
    sum.aborts += worker->aborts.value();
    for (const auto* since : {&worker->running, &worker->queued}) {
      const uint64_t start = since->load(platform::memory_order_acquire);
      if (start != 0) sum.oldest_ticks = std::min(sum.oldest_ticks, start);
    }
    sum.backlog += worker->backlog(ticks);
    sum.commit.add(worker->commit);
  }
  const std::vector<uint64_t> durable = scheme_.durable_positions();
  sum.durable_bytes = std::accumulate(durable.begin(), durable.end(), uint64_t{0});
  sum.ns = platform::now_ns();
  return sum;
}

void Timeline::sample() {
  Totals now = totals();
  const uint64_t ticks = platform::ticks();
  TimelineSample sample;
  sample.phase = phase_;
  sample.time_seconds =
      (static_cast<double>(now.ns) - static_cast<double>(measure_start_ns_)) * 1e-9;
  sample.seconds = static_cast<double>(now.ns - last_.ns) * 1e-9;
  sample.aborts = now.aborts - last_.aborts;
  sample.log_bytes = now.log_bytes - last_.log_bytes;
  sample.durable_bytes = now.durable_bytes - last_.durable_bytes;
  sample.lag_bytes =
      now.log_bytes > now.acknowledged_bytes ? now.log_bytes - now.acknowledged_bytes : 0;
  sample.lag_ns = now.oldest_ticks < ticks ? platform::ticks_to_ns(ticks - now.oldest_ticks) : 0;
  sample.backlog = static_cast<uint64_t>(now.backlog);
  sample.commit = now.commit.since(last_.commit);
  sample.transactions = sample.commit.count();
  last_ = std::move(now);
  sink_(sample);
}

}  // namespace logjam
