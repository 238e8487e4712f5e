// The lines on stderr that a person watches during a load and a run. They are not part of the
// result. One thread owns each object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/run/worker.h"
#include "platform/clock.h"

namespace logjam {

using Workers = std::vector<std::unique_ptr<Worker>>;

class LoadingBar {
 public:
  explicit LoadingBar(uint64_t expected_bytes) : expected_bytes_(expected_bytes) {}
  // Redraws the bar if it has grown by a cell.
  void show(uint64_t loaded_bytes);
  void end();

 private:
  const uint64_t expected_bytes_;
  int drawn_ = -1;
};

class ProgressLine {
 public:
  explicit ProgressLine(const Workers& workers);
  // Prints a line if a second has passed since the last line.
  void print_if_due(uint64_t now_ns);
  // Clears the line.
  void end();

 private:
  struct Totals {
    uint64_t transactions = 0, aborts = 0, bytes = 0;
    HistogramSum commit;
  };
  Totals totals() const;

  const Workers& workers_;
  uint64_t begun_ns_, shown_ns_;
  Totals last_;
};

// Shows no full bar at the end, because the expected bytes include memory of indexes that is in no
// arena.
inline void LoadingBar::show(uint64_t loaded_bytes) {
  constexpr uint64_t kCells = 40;
  const uint64_t cells =
      std::min(kCells, loaded_bytes * kCells / std::max<uint64_t>(expected_bytes_, 1));
  if (static_cast<int>(cells) == drawn_) return;
  drawn_ = static_cast<int>(cells);
  std::fprintf(stderr, "\rloading [%s%s] %lu of about %lu MiB\033[K",
               std::string(cells, '#').c_str(), std::string(kCells - cells, ' ').c_str(),
               loaded_bytes >> 20, expected_bytes_ >> 20);
}

inline void LoadingBar::end() {
  if (drawn_ >= 0) std::fprintf(stderr, "\r\033[K");
}

inline ProgressLine::ProgressLine(const Workers& workers)
    : workers_(workers), begun_ns_(platform::now_ns()), shown_ns_(begun_ns_) {}

inline ProgressLine::Totals ProgressLine::totals() const {
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

inline void ProgressLine::print_if_due(uint64_t now_ns) {
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

inline void ProgressLine::end() { std::fprintf(stderr, "\r\033[K"); }

}  // namespace logjam
