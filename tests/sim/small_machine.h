// A small machine for the unit tests of the simulation's parts. All its prices differ, so that a
// test sees which price is charged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/machine/scheduler.h"

namespace logjam::sim {

inline constexpr Picoseconds kNanosecond = 1000, kMicrosecond = 1'000'000;

// A profile of four sockets in a square, of four cores with two contexts each. Its L1 has 8 sets,
// and its L2 has 16. Its memory sends a cache line in ten cycles, and a cycle is a nanosecond.
inline constexpr const char* kSmallProfile = "tests/sim/small.toml";
// Returns this profile with one context for each core, and with prices between complexes.
Profile small_profile();
// The same with one socket, on which calls of the kernel and wake-ups are free.
Profile free_kernel();

// Maps the simulated memory at the first call. Takes a page whose home is the socket, and returns
// the number of the page's first line.
uint32_t line_of_new_page(uint32_t socket = 0);

// The machine, and its scheduler as the scheduler of the program. Only one such object lives at a
// time. Its caller is the observer. All fibers end before the object is destroyed.
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
