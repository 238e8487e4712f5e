#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "platform/park.h"
#include "platform/spin.h"
#include "sim/measure/costs.h"
#include "sim/measure/timing.h"

namespace logjam::platform {
namespace {

uint64_t processor_ns(clockid_t thread_clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec used{};
  clock_gettime(thread_clock, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

uint64_t switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return static_cast<uint64_t>(used.ru_nvcsw + used.ru_nivcsw);
}

constexpr uint32_t kYields = 1'000;

double yield_ns() {
  return ns_of([] {
           for (uint32_t i = 0; i < kYields; ++i) yield();
         }) /
         kYields;
}

// Returns the time of a switch between two threads of one core, which yield to each other. The
// kernel does not switch at every yield, so divides by the kernel's count of switches.
double switch_ns(int core, double lone_yield_ns) {
  atomic<uint32_t> begun{0};
  atomic<uint64_t> switched{0};
  const auto yield_often = [&](double& ns) {
    pin_to_core(core);
    begun.fetch_add(1);
    while (begun.load() < 2) yield();
    const uint64_t before = switches();
    ns = kYields * yield_ns();
    switched.fetch_add(switches() - before);
  };
  double ns_of_one = 0, ns_of_other = 0;
  thread other([&] { yield_often(ns_of_other); });
  run_on(core, [&] { yield_often(ns_of_one); });
  other.join();
  const double ns = std::max(ns_of_one, ns_of_other) - 2 * kYields * lone_yield_ns;
  return std::max(0.0, ns) / std::max(1.0, static_cast<double>(switched.load()));
}

struct SleepCosts {
  double wait_ns, wake_ns, latency_ns;
};

// Measures kSleeps times: the waker waits until the sleeper sleeps, and then wakes it.
SleepCosts sleep_costs(int waker_core, int sleeper_core) {
  constexpr uint32_t kSleeps = 40;
  constexpr uint64_t kFallAsleepNs = 100'000;
  atomic<uint32_t> word{0};  // how many times the waker has called wake_one()
  atomic<uint32_t> asleep{0}, awake{0};
  atomic<uint64_t> used_ns{0}, awake_ns{0};
  clockid_t sleeper_clock{};  // written before `asleep`
  thread sleeper([&] {
    pin_to_core(sleeper_core);
    pthread_getcpuclockid(pthread_self(), &sleeper_clock);
    for (uint32_t i = 0; i < kSleeps; ++i) {
      used_ns.store(processor_ns(), memory_order_relaxed);
      asleep.store(i + 1);
      while (word.load() == i) wait_on(word, i);
      awake_ns.store(now_ns(), memory_order_relaxed);
      awake.store(i + 1);
    }
  });
  std::vector<double> waits, wakes, latencies;
  run_on(waker_core, [&] {
    for (uint32_t i = 0; i < kSleeps; ++i) {
      while (asleep.load() < i + 1) yield();
      for (const uint64_t until = now_ns() + kFallAsleepNs; now_ns() < until;) pause();
      waits.push_back(
          static_cast<double>(processor_ns(sleeper_clock) - used_ns.load(memory_order_relaxed)));
      const uint64_t begun = now_ns();
      word.store(i + 1);
      wake_one(word);
      wakes.push_back(static_cast<double>(now_ns() - begun));
      while (awake.load() < i + 1) pause();
      latencies.push_back(static_cast<double>(awake_ns.load(memory_order_relaxed) - begun));
    }
  });
  sleeper.join();
  return {median_of(waits), median_of(wakes), median_of(latencies)};
}

double timer_late_ns(int core, uint32_t repetitions) {
  constexpr uint64_t kSleepNs = 100'000;
  double late = 0;
  run_on(core, [&] {
    favour_this_thread();
    late = median_of(5 * repetitions, [] {
      return ns_of([] { sleep_ns(kSleepNs); }) - static_cast<double>(kSleepNs);
    });
  });
  return std::max(0.0, late);
}

}  // namespace

KernelCosts kernel_costs(int core, int other, uint32_t repetitions) {
  KernelCosts costs{};
  run_on(core, [&] { costs.syscall_ns = median_of(repetitions, yield_ns); });
  costs.context_switch_ns =
      median_of(repetitions, [&] { return switch_ns(core, costs.syscall_ns); });
  std::vector<double> waits, wakes, latencies;
  for (uint32_t i = 0; i < repetitions; ++i) {
    const SleepCosts once = sleep_costs(core, other);
    waits.push_back(once.wait_ns);
    wakes.push_back(once.wake_ns);
    latencies.push_back(once.latency_ns);
  }
  costs.futex_wait_ns = median_of(waits);
  costs.futex_wake_ns = median_of(wakes);
  costs.wake_latency_ns = median_of(latencies);
  costs.timer_late_ns = timer_late_ns(core, repetitions);
  return costs;
}

}  // namespace logjam::platform
