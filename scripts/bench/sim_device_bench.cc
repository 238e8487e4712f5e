// Measures whether the device `sim` responds within 10 % of the time asked for, at less than 5 % of
// a core. One iteration is one write of 4 KiB and the wait for it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "logging/device/device_registry.h"
#include "platform/clock.h"

namespace logjam {
namespace {

double thread_cpu_us() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

void SimDevice(benchmark::State& state) {
  const auto asked_us = static_cast<double>(state.range(0));
  const std::string path = std::filesystem::temp_directory_path() / "logjam-sim-bench.log.db";
  std::vector<double> responses_us;
  {
    const auto device =
        open_device("sim:" + std::to_string(state.range(0)), {.path = path, .seed = 1});
    const std::vector<std::byte> block(4096);
    const double cpu_before_us = thread_cpu_us();
    const uint64_t begin_ns = platform::now_ns();
    for (auto _ : state) {
      const uint64_t start_ns = platform::now_ns();
      device->write_through(0, block);
      responses_us.push_back(static_cast<double>(platform::now_ns() - start_ns) / 1e3);
    }
    const double elapsed_us = static_cast<double>(platform::now_ns() - begin_ns) / 1e3;
    state.counters["cpu_pct"] = 100 * (thread_cpu_us() - cpu_before_us) / elapsed_us;
  }
  std::filesystem::remove(path);
  double sum = 0;
  for (double us : responses_us) sum += us;
  std::ranges::sort(responses_us);
  const auto at = [&](double share) {
    return responses_us[static_cast<size_t>(share * static_cast<double>(responses_us.size() - 1))];
  };
  state.counters["mean_us"] = sum / static_cast<double>(responses_us.size());
  state.counters["p50_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["p50_off_pct"] = 100 * (at(0.5) / asked_us - 1);
}
BENCHMARK(SimDevice)->Arg(50)->Arg(100)->Arg(200)->Arg(1000)->Arg(10000)->UseRealTime()->Unit(
    benchmark::kMicrosecond);

}  // namespace
}  // namespace logjam
