// Runs a program with a random order of its threads' steps, and with crashes at random steps, both
// from a seed. Only the simulated build can do this: there each access to shared memory is a step,
// and one host thread makes all steps (sim/explore/explorer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace logjam::platform {

// The end of a thread's turn. Threads are numbered in the order of their starts. These numbers, and
// the count of the thread's own steps, stay the same when other turns change.
struct Turn {
  uint32_t thread = 0;
  uint64_t steps = 0;   // the thread's own steps that have begun
  bool waits = false;   // the thread waits or has ended; else its last step is not made yet
  uint32_t next = 0;    // the thread that continues
  uint32_t late = 0;    // how many stores of `thread` other threads do not see yet
  uint32_t timers = 0;  // how many waits a timeout ends early in the turn
};

struct CrashPoint {
  uint32_t thread = 0;
  uint64_t steps = 0;
  bool in_a_file_call = false;
  bool before_step = false;  // the last of `steps` is not made yet
  uint32_t number = 0;       // from 0; also the seed for Schedule::judge
};

// How a schedule ended.
struct Explored {
  uint64_t steps = 0, switches = 0;
  uint32_t crashes = 0;
  uint64_t hash = 0;           // a hash of each step's code address, data address and thread
  uint64_t weakened = 0;       // how many operations counted as relaxed: Schedule::weakened
  int judged = 0;              // the first exit status of Schedule::judge that is not 0, or 0
  std::string order;           // the order, for people
  std::string what;            // what the explorer found wrong, in one sentence; or empty
  std::vector<Turn> turns;     // if Schedule::records
  CrashPoint crash;            // the last crash
  std::string turns_in_words;  // if Schedule::recorded: one line for each turn
};

struct Schedule {
  uint64_t seed = 1;
  std::string order;          // the kind of order; empty: a random kind, from the seed
  bool late_stores = true;    // stores become visible as late as on x86
  bool drops_fences = false;  // full fences order nothing
  bool late_disk = false;     // some calls of the file system take time
  // The schedule ends at a data race under the memory orders that the program asks for, even if the
  // race does no harm on x86. No store of such a schedule is late.
  bool watches_races = false;
  // The code addresses of atomic operations that the search for data races takes as relaxed.
  std::vector<uint64_t> weakened;
  // While a thread named "worker..." waits, timeouts longer than this number end no wait. So if the
  // worker's wake-up was lost, no such timeout hides this error: the worker waits for ever.
  uint64_t longest_timeout_ns = ~uint64_t{0};
  uint64_t mean_crash_steps = 0;  // mean steps between two crashes; 0: there are no crashes
  uint32_t most_crashes = 0;
  bool from_start = true;           // otherwise the steps begin with begin_steps()
  uint64_t most_steps = 4'000'000;  // a longer schedule counts as endless
  bool records = false;             // Explored::turns
  // If `recorded`, threads switch as `turns` say, and apart from that only where a thread waits.
  // The process crashes only at `crash`, as often as `most_crashes` says.
  bool recorded = false;
  std::vector<Turn> turns;
  std::optional<CrashPoint> crash;

  // Checks the files after crash number `crash`, from 0, in a process of its own without other
  // threads. `in_a_file_call`: the caller of the last call of the file system does not know yet
  // that the call has returned. Returns the exit status; 0: nothing is wrong.
  std::function<int(uint32_t crash, bool in_a_file_call)> judge;
  // Receives the result at the schedule's end, and ends the process.
  std::function<void(const Explored&)> ended;
};

bool explores();

// Runs `body`, and the threads that `body` starts, under the schedule. Then calls ended().
void explore(const Schedule& schedule, const std::function<void()>& body);

// Begins the steps of a schedule whose `from_start` is false. Until then threads switch only where
// a thread waits, and there are no crashes. Does nothing without such a schedule.
void begin_steps();

// Counts the basic blocks that are executed from now on, also by processes that are forked later.
// If `path` is not empty, also counts the blocks in this file, and adds the new blocks to it.
// Several processes may share the file.
void begin_coverage(const std::string& path);
uint64_t blocks_covered();

// Crashes the process in a few calls of this function, if the schedule has crashes. Call it where
// crashes often find errors.
void maybe_crash();

// Forbids further accesses to these bytes: an access ends the schedule. Returns true under a
// schedule; then do not use the bytes again. Without a schedule, does nothing and returns false.
bool forbid(const void* at, size_t bytes);

// Calls `with` with the open file and the memory of each mapped file of a disk in memory. After a
// crash the file may have lines that the program has not written back, or may lack them.
void for_each_mapping(const std::function<void(int file, const std::byte* memory)>& with);

// Notes that the next call of the file system loads these bytes, or stores to them.
void note_transfer(const void* at, size_t bytes, bool stores);

// A call of the file system. Its construction and its destruction are steps of the schedule.
// Everything between these two steps is one step. Does nothing without a schedule.
class ExploredCall {
 public:
  ExploredCall();
  ~ExploredCall();
  ExploredCall(const ExploredCall&) = delete;
  ExploredCall& operator=(const ExploredCall&) = delete;

 private:
  const bool explored_;
  void* before_ = nullptr;  // the earlier watcher of accesses
};

}  // namespace logjam::platform
