// A small machine for the unit tests of the simulation's parts. Any two prices of the machine
// differ, so that a test sees which price is charged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/machine/scheduler.h"

namespace logjam::sim {

inline constexpr Picoseconds kNanosecond = 1000, kMicrosecond = 1'000'000;

// A profile of four sockets in a square. A socket has four cores with two contexts each. The L1 has
// 8 sets, and the L2 has 16. Memory sends a cache line in ten cycles. A cycle is a nanosecond.
inline constexpr const char* kSmallProfile = "tests/sim/small.toml";
// Returns kSmallProfile with one context for each core, and with prices between complexes.
Profile small_profile();
// Returns small_profile() with one socket, and with free system calls and wake-ups.
Profile free_kernel();

// Takes a page of simulated memory whose home is the socket. Returns the number of the page's first
// line. The first call maps the simulated memory.
uint32_t line_of_new_page(uint32_t socket = 0);

// Simulates a machine. The function scheduler() returns the machine's scheduler. Only one
// RunningMachine exists at a time. The thread that creates it is the observer. All fibers end
// before its destruction.
class RunningMachine {
 public:
  RunningMachine(const Profile& profile, uint32_t contexts, uint64_t seed = 1);
  ~RunningMachine();
  RunningMachine(const RunningMachine&) = delete;
  RunningMachine& operator=(const RunningMachine&) = delete;

  Scheduler* operator->() { return &scheduler_; }
  // Runs each function in a fiber, and waits until all fibers have ended. run_pinned() pins the
  // fibers to the contexts 0, 1, ...
  void run_pinned(const std::vector<std::function<void()>>& bodies);
  void run(const std::vector<std::function<void()>>& bodies);

 private:
  const Machine machine_;
  Scheduler scheduler_;
};

}  // namespace logjam::sim
