// A small machine for the unit tests of the simulation's parts. All its prices differ, so that a
// test sees which price was charged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/machine/scheduler.h"

namespace logjam::sim {

// Four sockets in a square, of four cores each. One gigahertz: a cycle is a nanosecond.
Profile small_profile();
// The same with one socket, on which calls of the kernel and wake-ups are free.
Profile free_kernel();

// Maps the simulated memory, once in the process. Takes a page whose home is the socket, and
// returns the number of its first line.
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
  // Runs each function in a fiber, pinned to context 0, 1, ... Returns when all have ended.
  void run_pinned(const std::vector<std::function<void()>>& bodies);
  void run(const std::vector<std::function<void()>>& bodies);

 private:
  const Machine machine_;
  Scheduler scheduler_;
};

}  // namespace logjam::sim
