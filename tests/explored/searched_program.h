// Runs a small program of the project's classes in all schedules with few preemptions. The tests
// are compiled like the simulated program, so each access to shared memory is a step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "platform/cpu.h"
#include "platform/spin.h"
#include "sim/explore/search.h"
#include "sim/host_allocator.h"
#include "tests/sim/explored_program.h"

namespace logjam::sim {

// Returns a description of the schedule, one line for each switch between threads.
inline std::string in_words(const platform::Explored& explored) {
  std::string words;
  for (const platform::Turn& turn : explored.turns) {
    if (turn.thread == turn.next) continue;
    words += "thread " + std::to_string(turn.thread) + (turn.waits ? " waits" : " stops") +
             " after " + std::to_string(turn.steps) + " steps, " + std::to_string(turn.late) +
             " stores are late; thread " + std::to_string(turn.next) + " goes on\n";
  }
  return words;
}

// A Program without its full fences, in which a search must find a wrong schedule.
template <class Program>
struct WithoutFences : Program {
  using Program::Program;
  static constexpr bool kDropsFences = true;
};

// Runs the threads of a Program in all schedules with at most `preemptions` preemptions, until a
// schedule is wrong. Returns a description of the error and of the schedule, or "". Each schedule
// makes a Program from `arguments`, runs the functions that threads() returns, and then calls
// wrong(), which returns an error or "".
//
// The Program lies in the host's memory, where plain accesses are no steps. It holds the threads'
// notes, and pointers to the tested objects, which operator new puts in the simulated memory. If
// the Program has a member kStoresLandAtOnce, no store is late.
template <class Program, class... Arguments>
std::string first_wrong(uint32_t preemptions, const Arguments&... arguments) {
  HostAllocator<Program> host;
  Program* const program = host.allocate(1);
  Search all(preemptions);
  const auto wrong_in = [&](platform::Explored* explored) {
    std::construct_at(program, arguments...);
    platform::Schedule schedule;
    schedule.records = explored != nullptr;
    schedule.late_stores = !requires { Program::kStoresLandAtOnce; };
    schedule.drops_fences = requires { Program::kDropsFences; };
    const platform::Explored ran = Explored::run(schedule, program->threads(), all.order());
    if (explored != nullptr) *explored = ran;
    std::string wrong = program->wrong();
    std::destroy_at(program);
    return wrong;
  };
  std::string found;
  bool more = true;
  while (more && found.empty()) {
    if (const std::string wrong = wrong_in(nullptr); !wrong.empty()) {
      platform::Explored again;
      wrong_in(&again);
      found =
          wrong + " in schedule " + std::to_string(all.schedules() + 1) + "\n" + in_words(again);
    }
    more = all.next();
  }
  host.deallocate(program, 1);
  std::printf("%llu schedules\n", static_cast<unsigned long long>(all.schedules()));
  return found;
}

// Searches like first_wrong(). Fails the test if a schedule is wrong.
template <class Program, class... Arguments>
void search_all(uint32_t preemptions, const Arguments&... arguments) {
  EXPECT_EQ(first_wrong<Program>(preemptions, arguments...), "");
}

}  // namespace logjam::sim
