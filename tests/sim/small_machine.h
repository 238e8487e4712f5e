// A small machine for the unit tests of the simulation's parts. Each of its prices is another
// number, so that a test sees which one was charged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/scheduler.h"

namespace logjam::sim {

// Four sockets in a square, of four cores each. One gigahertz: a cycle is a nanosecond.
Profile small_profile();

// Maps the simulated memory, once in the process. Takes a page whose home is the socket, and
// returns the number of its first line.
uint32_t line_of_new_page(uint32_t socket = 0);

// The machine, and its scheduler as the program's one. One of them lives at a time. Its caller is
// the observer. All fibers end before it does.
class RunningMachine {
 public:
  RunningMachine(const Profile& profile, uint32_t contexts, uint64_t seed = 1);
  ~RunningMachine();
  RunningMachine(const RunningMachine&) = delete;
  RunningMachine& operator=(const RunningMachine&) = delete;

  Scheduler* operator->() { return &scheduler_; }
  // One fiber each, pinned to context 0, 1, ...; returns when all have ended.
  void run_pinned(const std::vector<std::function<void()>>& bodies);
  void run(const std::vector<std::function<void()>>& bodies);

 private:
  const Machine machine_;
  Scheduler scheduler_;
};

}  // namespace logjam::sim
