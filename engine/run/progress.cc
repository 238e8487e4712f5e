#include "engine/run/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "platform/clock.h"

namespace logjam {

// Shows no full bar at the end, because the expected bytes include memory of indexes outside the
// arenas.
void LoadingBar::show(uint64_t loaded_bytes) {
  constexpr uint64_t kCells = 40;
  const uint64_t cells =
      std::min(kCells, loaded_bytes * kCells / std::max<uint64_t>(expected_bytes_, 1));
  if (static_cast<int>(cells) == drawn_) return;
  drawn_ = static_cast<int>(cells);
  std::fprintf(stderr, "\rloading [%s%s] %lu of about %lu MiB\033[K",
               std::string(cells, '#').c_str(), std::string(kCells - cells, ' ').c_str(),
               loaded_bytes >> 20, expected_bytes_ >> 20);
}

void LoadingBar::end() {
  if (drawn_ >= 0) std::fprintf(stderr, "\r\033[K");
}

ProgressLine::ProgressLine(const Workers& workers)
    : workers_(workers), begun_ns_(platform::now_ns()), shown_ns_(begun_ns_) {}

ProgressLine::Totals ProgressLine::totals() const {
  Totals sum;
  for (const auto& worker : workers_) {
    for (const WorkerStats* stats : {&worker->warm_up_stats(), &worker->stats()}) {
      sum.transactions += stats->transactions();
      sum.bytes += stats->log_bytes.value();
      for (const platform::Counter& counter : stats->aborts) sum.aborts += counter.value();
      sum.commit.add(stats->commit);
    }
  }
  return sum;
}

void ProgressLine::print_if_due(uint64_t now_ns) {
  if (now_ns - shown_ns_ < 1'000'000'000) return;
  const double elapsed = static_cast<double>(now_ns - shown_ns_) * 1e-9;
  Totals now = totals();
  const auto rate = [&](uint64_t later, uint64_t earlier) {
    return static_cast<double>(later - earlier) / elapsed;
  };
  std::fprintf(
      stderr, "\r%5.0f s  %9.0f txn/s  %8.0f aborts/s  %7.1f MB/s log  commit p99 %.3f ms\033[K",
      static_cast<double>(now_ns - begun_ns_) * 1e-9, rate(now.transactions, last_.transactions),
      rate(now.aborts, last_.aborts), rate(now.bytes, last_.bytes) * 1e-6,
      platform::ticks_to_ns(now.commit.since(last_.commit).percentile(0.99)) * 1e-6);
  shown_ns_ = now_ns;
  last_ = std::move(now);
}

void ProgressLine::end() { std::fprintf(stderr, "\r\033[K"); }

}  // namespace logjam
