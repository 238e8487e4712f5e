// One round of `logjam explore`: a run of the ledger on a disk in memory, in an order of its
// threads' steps that a seed draws, with crashes. Each crash is recovered and judged by the
// ledger's checker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

// The report of a round to the process that started it, through shared memory.
struct RoundReport {
  uint64_t steps, switches, crashes, hash;
  bool ended;        // the round has filled the report in
  int judged;        // exit status of the first recovery that failed; 0: none
  char order[64];    // in words
  char what[16384];  // what was wrong by itself; empty: nothing
};

// Returns the flags of a round, by name, but those that the command line gives. They follow from
// the seed, and from --log and --cc unless these are "every". The first call is made before any
// round.
std::vector<std::pair<std::string, std::string>> flags_of_round(uint64_t seed,
                                                                const std::string& scheme,
                                                                const std::string& protocol);

// Plays a round in this process, which ends with it. `directory` is of a real file system, for the
// history. What the run and the recoveries print goes to the open file `output`; before a recovery
// it is emptied.
[[noreturn]] void play_round(uint64_t seed, const std::string& scheme, const std::string& protocol,
                             const std::string& directory, int output, RoundReport* report);

}  // namespace logjam
