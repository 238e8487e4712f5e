// Where the runs of a log lie that continue each other (`run --continue`), and which of them there
// are.
//
// The first run's files lie in the log directories themselves, those of run 2 in the directory
// `run-2` of each, and so on. Each run is a complete log, with its own header, scheme and streams.
// From the second on, its header says which run it continues, and how long the streams of that run
// were (LogFileHeader). All runs of one log name the same first run.
//
// A run counts from the moment at which its headers, or its starting files, are durable
// (logging/log_directories.h). Of a run that was killed before, there may be files without headers:
// nothing continued yet. Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logging/format/log_reader.h"

namespace logjam {

// Returns where run `ordinal` (from 1) has its files in `directory`, or in each of `directories`.
std::string run_directory(const std::string& directory, uint32_t ordinal);
std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal);
// Returns the numbers N for which any of `directories` has an entry of the name `prefix` and N, in
// ascending order, each once.
std::vector<uint64_t> numbers_in(const std::vector<std::string>& directories,
                                 std::string_view prefix);
// Returns the ordinals of the runs behind the first for which any directory has a `run-K`, in
// ascending order.
std::vector<uint64_t> later_runs_in(const std::vector<std::string>& directories);

// Returns the number of the first run of the log in `directories`, if a header of it can be read
// there, or 0.
uint64_t first_run_in(const std::vector<std::string>& directories);

// The runs from one on, in their order. `error`: why they cannot be used, or empty.
struct Runs {
  std::vector<LogFiles> runs;
  std::string error;
};
// Finds the runs of the log `first_run` (0: of whichever there is) from run `from` on. Sets `error`
// if a run is missing or incomplete, continues another one than it should, or if there is none.
Runs find_runs(const std::vector<std::string>& directories, uint32_t from, uint64_t first_run);

// Returns whether run `ordinal`, from the second on, has begun: some file of it is not blank, or
// all directories have its starting file.
bool later_run_began(const std::vector<std::string>& directories, uint32_t ordinal);

// Returns the directories of later runs and of checkpoints (`run-K`, `checkpoint-N`) in
// `directory`: what a log has beside its first run.
std::vector<std::string> continued_in(const std::string& directory);
inline constexpr std::string_view kCheckpointPrefix = "checkpoint-";

// Removes the files of run `ordinal` from all directories: of a run that a checkpoint covers.
// Returns 0 or errno.
int remove_run(const std::vector<std::string>& directories, uint32_t ordinal);

// Makes all files of the run durable: what was written before a process was killed, and read by the
// recovery, may not be. Returns 0 or errno.
int sync_run(const LogFiles& run);

}  // namespace logjam
