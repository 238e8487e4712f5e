// Runs a program under an order of its threads' steps that a seed draws, and lets it crash at steps
// that the seed draws. Only the simulated build can: there each access to shared memory is a step,
// and one host thread makes all steps (sim/explorer.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace logjam::platform {

// How a schedule ended.
struct Explored {
  uint64_t steps = 0, switches = 0;
  uint32_t crashes = 0;
  uint64_t hash = 0;  // of all steps: two schedules with the same hash took the same steps
  int judged = 0;     // the first exit status of Schedule::judge that is not 0, or 0
  std::string order;  // in words
  std::string what;   // what was wrong by itself, in one sentence; empty: nothing
};

struct Schedule {
  uint64_t seed = 1;
  std::string order;        // the kind of order; empty: the seed draws it
  bool late_stores = true;  // stores become visible as late as on x86
  // A wait with a longer timeout has none while a thread named "worker..." waits: if that one then
  // sleeps for ever, only a timeout could have saved it, and its wake-up was lost.
  uint64_t longest_timeout_ns = ~uint64_t{0};
  uint64_t mean_crash_steps = 0;  // from one crash to the next; 0: there are no crashes
  uint32_t most_crashes = 0;
  bool from_start = true;            // else from begin_steps() on
  uint64_t most_steps = 20'000'000;  // a longer schedule does not end

  // Judges crash number `crash`, from 0, in a process of its own, in which no other thread runs any
  // more. `in_a_file_call`: the caller of the last call of the file system does not know yet that
  // it has returned. Returns the exit status; 0: nothing is wrong.
  std::function<int(uint32_t crash, bool in_a_file_call)> judge;
  // The schedule has ended: by itself, or because something is wrong. Then threads are left in the
  // middle of their work, so the function ends the process.
  std::function<void(const Explored&)> ended;
};

// Returns whether this build explores.
bool explores();

// Runs `body` on the calling thread, and the threads that it starts, under the schedule, and calls
// ended(). Called once in a process, by the main thread.
void explore(const Schedule& schedule, const std::function<void()>& body);

// Begins the steps of a schedule that does not begin with its body. Until then threads change
// places only where they wait, and there are no crashes. Nothing without such a schedule.
void begin_steps();

// Counts the basic blocks that are executed from now on, also by processes that are forked later.
void begin_coverage();
uint64_t blocks_covered();

// Lets the schedule crash here now and then, because a crash would show much.
void maybe_crash();

// A call of the file system, from its construction to its destruction: steps of the schedule, and
// what is between them is one step. Without a schedule it does nothing.
class ExploredCall {
 public:
  ExploredCall();
  ~ExploredCall();  // NOLINT(performance-trivially-destructible): natively it is empty
  ExploredCall(const ExploredCall&) = delete;
  ExploredCall& operator=(const ExploredCall&) = delete;

 private:
  [[maybe_unused]] const bool explored_;
  [[maybe_unused]] void* before_ = nullptr;  // who watched the accesses
};

}  // namespace logjam::platform
