// One round of `logjam explore`: a run on a disk in memory, in an order of its threads' steps that
// a seed draws, with crashes. Each crash is recovered and judged: the ledger by its checker,
// another workload by its own checks and by the history of its writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/exploration.h"
#include "platform/random.h"

namespace logjam {

// The report of a round to the process that started it, through shared memory.
struct RoundReport {
  uint64_t steps, switches, crashes, hash, weakened;
  bool ended;        // the round has filled the report in
  bool disk_fails;   // then the run may end with a sentence
  int judged;        // exit status of the first recovery that failed; 0: none
  char order[64];    // in words
  char what[16384];  // why the run fails without a recovery; empty: it does not
};

struct Round {
  uint64_t seed;
  std::string scheme, protocol;  // as the command line wants them
  std::string directory;         // of a real file system, for the history
  int output;                    // an open file for what the run prints; a recovery empties it
  RoundReport* report;
  platform::Schedule recorded;     // its recorded turns and crash are played, if it is `recorded`
  std::vector<uint64_t> weakened;  // Schedule::weakened; then nothing crashes
  std::string record;              // the file for the schedule, if something is found; empty: none
};

// Plays a round in this process, which ends with it.
[[noreturn]] void play_round(const Round& round);

// Draws numbers and choices by a seed.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) {
    LJ_ASSERT(limit != 0);
    return random_.next() % limit;
  }
  template <class Choice>
  Choice one_of(std::initializer_list<Choice> choices) {
    return choices.begin()[below(choices.size())];
  }
  std::string number_of(std::initializer_list<uint64_t> choices) {
    return std::to_string(one_of(choices));
  }

 private:
  platform::SplitMix64 random_;
};

using RoundFlags = std::vector<std::pair<std::string, std::string>>;

// Returns the flags of a round, by name, without the flags that the command line gives. The seed
// decides them, with `scheme` and `protocol` unless these are "every". Make the first call before
// any round, on the main thread.
RoundFlags flags_of_round(uint64_t seed, const std::string& scheme, const std::string& protocol);

// Returns whether a later life of a round keeps the flag of the first life, because it says which
// tables and directories there are, or what the clients do.
bool stays_in_later_lives(const std::string& flag);

// Reads the turns and the crash of the file into `schedule`. Refuses if
// the file cannot be read or is no such file.
void read_schedule(const std::string& path, platform::Schedule* schedule);
// Returns the addresses of a file that names atomic operations, one a line, in hexadecimal digits.
// Refuses if the file cannot be read or has anything else.
std::vector<uint64_t> read_addresses(const std::string& path);
// Refuses unless the file can be replaced by a schedule.
void claim_schedule(const std::string& path);
// Writes the file of a schedule. Ends the process with one sentence if it cannot.
void write_schedule(const std::string& path, const platform::Explored& explored);

}  // namespace logjam
