// A history that spans restarts. A *life* is what one process does of it: the first one starts with
// loaded rows, and each later one goes on with the rows that it recovered (run --continue).
//
// Life 1 writes the file FILE, life 2 FILE.2, and so on. Together they are one history, and are
// checked as one, after any life:
//
//   - No two transactions have the same id. A worker's counts go on from life to life, so its ids
//     ascend.
//   - All of a life comes before all of the next one.
//   - A transaction that was not acknowledged when its life was killed may be there or not. So may
//     one that was, if its life is unsafe (HistoryFile::proves_nothing()). What was recovered after
//     a life is what the next life began with, and cannot change any more.
//   - A life that ended by itself acknowledged all that it committed.
//
// The log of each life is a run of its own, whose ordinal the file has. So a run that kept no
// history is noticed: what it wrote is in the database and in no history.
//
// A life whose process was killed before a transaction ran has left the log as it was, so it is as
// if it had not been: the next one takes its file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proof/history/file.h"

namespace logjam {

// The file of life `life`, from 1, of the history `path`.
std::string file_of_life(const std::string& path, uint32_t life);

struct HistoryFiles {
  std::string error;  // why the history cannot be used, in one sentence; empty if it can
  // By life, without their entries. The last one has started, unless it is the only one.
  std::vector<HistoryFile> files;
  std::vector<HistoryEntry> entries;  // of all lives, sorted by id

  const HistoryFileParameters& parameters() const { return files.front().parameters; }
  // Why what was acknowledged may be missing (R8), or an empty string.
  std::string unsafe() const;
  // The largest count of each worker's ids.
  std::vector<uint64_t> counts() const;
};
// Reads the files of all lives, whose processes have ended.
HistoryFiles open_history_files(const std::string& path);

// " of life 2" for index 1, and nothing if there is but one life.
std::string name_of_life(size_t lives, uint32_t index);

// Why a history of `has` is not one of `wanted`, or an empty string. One may be unsafe, and the
// other not.
std::string difference(const HistoryFileParameters& has, const HistoryFileParameters& wanted);

struct StartedHistory {
  std::unique_ptr<HistoryWriter> writer;
  std::vector<uint64_t> counts;  // of the ids in earlier lives, by worker
};
// Creates the file of a run, of --history_mb. The first run of a log writes `path`, and removes
// the files of later lives. Another one goes on with the history of `path`, and writes the file of
// the next life.
// If there is no such history, or it is of another workload, of other keys or of another number of
// counters, or a run since kept none, the process ends with one sentence.
StartedHistory start_life(const std::string& path, uint32_t workers,
                          const HistoryFileParameters& parameters);

// Why the history cannot be that of a log whose last run is number `ordinal`, in one sentence: the
// runs since its last life kept no history. An empty string if they did, or if the last file cannot
// be read.
std::string gap_in_history(const std::string& path, uint32_t ordinal);

}  // namespace logjam
