// The threads of a run, and of a benchmark without an engine (workloads/log_insert/,
// workloads/sync/). All workers start together, after all of them are made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/spin.h"
#include "platform/thread.h"

namespace logjam {

// Protocol. Each worker's thread increments `made_` once (release). A thread that loads `made_`
// (acquire) sees the workers whose threads have incremented `made_`. The main thread sets
// `started_`, which publishes nothing (relaxed).
class StartGate {
 public:
  void await_made(uint32_t workers) const {
    for (platform::SpinWait wait; made_.load(platform::memory_order_acquire) != workers;) {
      wait.once();
    }
  }
  // Waits for start(). Call it once on each worker's thread, after the worker is made.
  void made_and_await_start() {
    made_.fetch_add(1, platform::memory_order_release);
    for (platform::SpinWait wait; !started_.load(platform::memory_order_relaxed);) wait.once();
  }
  void start() {
    LJ_ASSERT(!started_.load(platform::memory_order_relaxed));
    started_.store(true, platform::memory_order_relaxed);
  }

 private:
  platform::atomic<uint32_t> made_{0};
  platform::atomic<bool> started_{false};
};

// Sleeps for `seconds`. Every 20 ms calls `ended(now_ns)`, and returns false if the result is true.
template <class Ended>
bool sleep_through(double seconds, const Ended& ended) {
  constexpr uint64_t kNapNs = 20'000'000;
  const uint64_t end = platform::now_ns() + static_cast<uint64_t>(seconds * 1e9);
  while (true) {
    const uint64_t now = platform::now_ns();
    if (now >= end) return true;
    if (ended(now)) return false;
    platform::sleep_ns(std::min(end - now, kNapNs));
  }
}

// Protocol. The fields are relaxed: they publish no other memory, because the main thread joins the
// threads. Only the main thread sets `stop`. Each worker's thread loads `stop` before each measured
// operation, and increments `ended` once, at its end.
struct BenchmarkControl {
  StartGate gate;
  platform::atomic<bool> stop{false};
  platform::atomic<uint32_t> ended{0};
};

// Calls run() of each element of `callers` on a new thread. Calls `read()`, on the present thread,
// at the beginning and at the end of the measured time, and returns both results. The measured
// time ends after `seconds`, or when all threads have ended.
template <class Caller, class Read>
auto run_benchmark(const std::vector<std::unique_ptr<Caller>>& callers, BenchmarkControl& control,
                   double warmup_seconds, double seconds, const Read& read) {
  const auto count = static_cast<uint32_t>(callers.size());
  const auto all_ended = [&](uint64_t) {
    return control.ended.load(platform::memory_order_relaxed) == count;
  };
  std::vector<platform::thread> threads;
  for (auto& caller : callers) threads.emplace_back([&caller] { caller->run(); });
  control.gate.await_made(count);
  auto before = read();
  control.gate.start();
  if (warmup_seconds > 0) {
    sleep_through(warmup_seconds, all_ended);
    before = read();
  }
  platform::begin_measured_time();
  sleep_through(seconds, all_ended);
  platform::end_measured_time();
  auto after = read();
  control.stop.store(true, platform::memory_order_relaxed);
  for (auto& thread : threads) thread.join();
  return std::pair(std::move(before), std::move(after));
}

}  // namespace logjam
