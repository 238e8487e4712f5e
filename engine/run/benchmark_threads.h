// The threads of a benchmark without an engine (workloads/log_insert/, workloads/sync/): made one
// after another, they start together, warm up, and are measured.
//
// Protocol. The fields of BenchmarkControl are relaxed, because they publish no other memory: the
// main thread joins the threads at the end. It alone sets `stop`; each thread looks at it before
// each call, and adds itself to `ended` once, when it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/run/sleep_through.h"
#include "engine/run/start_gate.h"
#include "platform/atomic.h"
#include "platform/host.h"
#include "platform/thread.h"

namespace logjam {

struct BenchmarkControl {
  StartGate gate;
  platform::atomic<bool> stop{false};
  platform::atomic<uint32_t> ended{0};
};

// Runs run() of each caller on a thread of its own. Returns the two results of `read()`: from the
// beginning and from the end of the measured time, which is over after `seconds`, or when all
// threads have ended. The main thread calls this function and `read`.
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
