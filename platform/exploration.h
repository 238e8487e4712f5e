// Runs a program under an order of its threads' steps that a seed draws, and lets it crash at steps
// that the seed draws. Only the simulated build can: there each access to shared memory is a step,
// and one host thread makes all steps (sim/explore/explorer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace logjam::platform {

// The end of a thread's turn. A turn names a thread by its number, in the order of their starts,
// and a moment by the thread's own steps. Both stay the same when other turns change.
struct Turn {
  uint32_t thread = 0;
  uint64_t steps = 0;   // of its own that have begun
  bool waits = false;   // it waits or has ended; else its last step has not been made
  uint32_t next = 0;    // the thread that goes on
  uint32_t late = 0;    // how many of its stores others do not see yet
  uint32_t timers = 0;  // how many waits end early
};

struct CrashPoint {
  uint32_t thread = 0;
  uint64_t steps = 0;
  bool in_a_file_call = false;
  bool before_step = false;  // the last of the steps has not been made
  uint32_t number = 0;       // from 0; the judge draws by it
};

// How a schedule ended.
struct Explored {
  uint64_t steps = 0, switches = 0;
  uint32_t crashes = 0;
  uint64_t hash = 0;           // of the steps: their places, addresses and threads
  uint64_t weakened = 0;       // operations that counted as relaxed: Schedule::weakened
  int judged = 0;              // the first exit status of Schedule::judge that is not 0, or 0
  std::string order;           // in words
  std::string what;            // what was wrong by itself, in one sentence; empty: nothing
  std::vector<Turn> turns;     // if Schedule::records
  CrashPoint crash;            // the last one
  std::string turns_in_words;  // if Schedule::recorded: a line for each of its turns
};

struct Schedule {
  uint64_t seed = 1;
  std::string order;          // the kind of order; empty: the seed draws it
  bool late_stores = true;    // stores become visible as late as on x86
  bool drops_fences = false;  // full fences order nothing
  bool late_disk = false;     // some calls of the file system last
  // The schedule ends if two accesses race in the order that the program asks for, though x86
  // forgives the race. No store of such a schedule is late.
  bool watches_races = false;
  // The code addresses of atomic operations that count as relaxed in the watch for races.
  std::vector<uint64_t> weakened;
  // A wait with a longer timeout does not end by it while a thread named "worker..." waits. If that
  // worker then sleeps for ever, its wake-up was lost, and only a timeout could have saved it.
  uint64_t longest_timeout_ns = ~uint64_t{0};
  uint64_t mean_crash_steps = 0;  // from one crash to the next; 0: there are no crashes
  uint32_t most_crashes = 0;
  bool from_start = true;           // else steps begin with begin_steps()
  uint64_t most_steps = 4'000'000;  // a longer schedule does not end
  bool records = false;             // Explored::turns
  // If `recorded`, threads change places as `turns` say, and otherwise only where they wait, and
  // the process crashes only at `crash`, as often as `most_crashes` says.
  bool recorded = false;
  std::vector<Turn> turns;
  std::optional<CrashPoint> crash;

  // Judges crash number `crash`, from 0, in a process of its own, in which no other thread runs.
  // `in_a_file_call`: the caller of the last call of the file system does not know yet that the
  // call has returned. Returns the exit status; 0: nothing is wrong.
  std::function<int(uint32_t crash, bool in_a_file_call)> judge;
  // Ends the process: the schedule has ended.
  std::function<void(const Explored&)> ended;
};

bool explores();

// Runs `body` on the calling thread, and the threads that it starts, under the schedule, and calls
// ended().
void explore(const Schedule& schedule, const std::function<void()>& body);

// Begins the steps of a schedule whose `from_start` is false. Until then threads change places only
// where they wait, and there are no crashes. Does nothing without such a schedule.
void begin_steps();

// Counts the basic blocks that are executed from now on, also by processes that are forked later,
// and the blocks that the file `path`, if not empty, has. The file then has both. Several processes
// may share it: a block that two of them reach first at the same time may be counted later.
void begin_coverage(const std::string& path);
uint64_t blocks_covered();

// Lets the schedule crash here in one of a few calls: a crash here would show much.
void maybe_crash();

// Forbids further accesses to these bytes: an access ends the schedule. Returns true under a
// schedule; then do not use the bytes again. Without a schedule, does nothing and returns false.
bool forbid(const void* at, size_t bytes);

// Calls `with` with the open file and the memory of each mapped file of a disk in memory. After a
// crash the file may have lines that the program has not written back, or may lack them.
void for_each_mapping(const std::function<void(int file, const std::byte* memory)>& with);

// Notes that the next call of the file system loads these bytes, or stores to them.
void note_transfer(const void* at, size_t bytes, bool stores);

// A call of the file system: steps of the schedule from its construction to its destruction; all
// between them is one step. Does nothing without a schedule.
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
