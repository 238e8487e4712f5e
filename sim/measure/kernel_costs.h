// The operating system's prices: to give a core away, to sleep and to wake.
#pragma once

#include <cstdint>

namespace logjam::platform {

struct KernelCosts {
  double syscall_ns;         // yield() while no other thread is ready
  double context_switch_ns;  // yield() to another thread of the same core, minus syscall_ns
  double futex_wait_ns;      // a sleeper's processor time, until it has left its core
  double futex_wake_ns;      // wake_one() of a sleeper on another core, for the caller
  double wake_latency_ns;    // from the start of wake_one() to the sleeper's first instruction
  double timer_late_ns;      // how late sleep_ns(100 us) of a log thread returns
};

// Measures core number `core` of pin_to_core(), with core number `other` for the sleeper.
KernelCosts kernel_costs(int core, int other, uint32_t repetitions);

}  // namespace logjam::platform
