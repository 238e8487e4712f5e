// The directories of a log's runs that continue each other (`run --continue`), and which runs
// exist.
//
// The files of the first run lie in the log directories themselves, the files of run 2 in the
// directory `run-2` of each, and so on. Each run is a complete log, with its own header, scheme and
// streams. From the second run on, the header says which run it continues, and how long the streams
// of that run were (LogFileHeader). All runs of one log name the same first run.
//
// A run counts from the moment at which its headers, or its starting files, are durable
// (logging/log_directories.h). A run that was killed earlier may leave files without headers, and
// has continued nothing. Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logging/format/log_reader.h"

namespace logjam {

// Returns the directory of run `ordinal` (from 1) in `directory`.
std::string run_directory(const std::string& directory, uint32_t ordinal);
// Returns the directory of run `ordinal` in each of `directories`.
std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal);
// Returns each number N for which any of `directories` has an entry named `prefix` followed by N,
// in ascending order.
std::vector<uint64_t> numbers_in(const std::vector<std::string>& directories,
                                 std::string_view prefix);
// Returns the ordinals K > 1 for which any of `directories` has a `run-K`, in ascending order.
std::vector<uint64_t> later_runs_in(const std::vector<std::string>& directories);

// Returns `run` of the first run of the log in `directories`, or 0 if no header of that run can be
// read there.
uint64_t first_run_in(const std::vector<std::string>& directories);

struct Runs {
  std::vector<LogFiles> runs;  // in their order
  std::string error;           // why they cannot be used, or empty
};
// Finds the runs of the log `first_run` (0: of any log) from run `from` on. Sets `error` if there
// is no run, or if a run is missing, is incomplete, or does not continue the run before it.
Runs find_runs(const std::vector<std::string>& directories, uint32_t from, uint64_t first_run);

// Returns whether run `ordinal`, which is at least 2, has begun: one of its files is not blank, or
// all directories have its starting file. Returns true if a directory cannot be read.
bool later_run_began(const std::vector<std::string>& directories, uint32_t ordinal);

// Returns the directories of later runs and of checkpoints (`run-K`, `checkpoint-N`) in
// `directory`.
std::vector<std::string> continued_in(const std::string& directory);
inline constexpr std::string_view kCheckpointPrefix = "checkpoint-";

// Removes the files of run `ordinal`, which a checkpoint covers, from all directories. Returns 0 or
// errno.
int remove_run(const std::vector<std::string>& directories, uint32_t ordinal);

// Makes all files of the run durable. Bytes that a killed process wrote and that a recovery has
// read may not be durable yet. Returns 0 or errno.
int sync_run(const LogFiles& run);

}  // namespace logjam
