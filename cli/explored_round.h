// One round of `logjam explore`: a run on a disk in memory, in an order of its threads' steps that
// a seed draws, with crashes. Each crash is recovered and judged: the ledger by its checker,
// another workload by its own checks and by the history of its writes.
#pragma once

#include <cstdint>
#include <string>

#include "platform/exploration.h"

namespace logjam {

// The report of a round to the process that started it, through shared memory.
struct RoundReport {
  uint64_t steps, switches, crashes, hash, weakened;
  bool ended;        // the round has filled the report in
  bool disk_fails;   // then the run may end with a sentence
  int judged;        // exit status of the first recovery that failed; 0: none
  char order[64];    // in words
  char what[16384];  // what was wrong by itself; empty: nothing
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

}  // namespace logjam
