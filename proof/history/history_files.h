// A history that spans restarts. A *life* is the part that one process writes. The first life
// starts with loaded rows. Each later life continues with the rows that it recovered (run
// --continue).
//
// Life 1 writes the file FILE, life 2 FILE.2, and so on. A check reads all files as one history.
// Any life may be the last. These rules hold:
//
//   - No two transactions have the same id. A worker's counts continue from life to life, so its
//     ids ascend.
//   - All transactions of a life come before all transactions of the next life.
//   - A transaction that was not acknowledged when its life was killed may be recovered or lost. If
//     the life is unsafe (HistoryFile::proves_nothing()), an acknowledged transaction may be lost
//     too. The next life begins with the recovered rows, and later lives cannot change which
//     transactions were recovered.
//   - A life that ended by itself acknowledged all that it committed.
//
// Each life writes one run of the log, and the life's file has the ordinal of this run. So a check
// notices a run without a history, whose writes are in the database and in no file.
//
// A process that was killed before its first transaction left no trace in the log. So the next
// process overwrites the file of the killed process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proof/history/file.h"

namespace logjam {

// Returns the file of life `life`, from 1, of the history `path`.
std::string file_of_life(const std::string& path, uint32_t life);

struct HistoryFiles {
  std::string error;  // why the history cannot be used, in one sentence; empty if it can
  // The files by life, without entries. The last life has started, or is the only life.
  std::vector<HistoryFile> files;
  std::vector<HistoryEntry> entries;  // of all lives, sorted by id

  const HistoryFileParameters& parameters() const { return files.front().parameters; }
  // Returns why acknowledged transactions may be lost (R8), or an empty string.
  std::string unsafe() const;
  // Returns the largest count in the ids of each worker.
  std::vector<uint64_t> counts() const;
};
// Reads the files of all lives, whose processes must have ended. Ignores files that an earlier
// history of the same name, of another log, has left.
HistoryFiles open_history_files(const std::string& path);

// Returns " of life 2" for the index 1. Returns an empty string if `lives` is 1.
std::string name_of_life(size_t lives, uint32_t index);

// Returns which parameter differs, or an empty string. Ignores `unsafe` and `ordinal`.
std::string difference(const HistoryFileParameters& has, const HistoryFileParameters& wanted);

struct StartedHistory {
  std::unique_ptr<HistoryWriter> writer;
  std::vector<uint64_t> counts;  // of the ids in earlier lives, by worker
};
// Creates the file of a run, with --history_mb MiB and a temporary name, which keep_life()
// replaces. A run that continues no other run writes `path`. A run that continues a log writes the
// file of the next life of the history `path`. Refuses to continue a history that does not exist,
// has other parameters, or lacks a run of the log.
StartedHistory start_life(const std::string& path, uint32_t workers,
                          const HistoryFileParameters& parameters);

// Gives the life's file its final name. If this is the first life, first removes the files that an
// earlier history has left, from its last life to its second.
void keep_life(const std::string& path, const HistoryFileParameters& parameters,
               HistoryWriter& writer);

// Makes sure that `path` is the history of the log `log`, whose last run has the number `ordinal`.
// If the process of this run was killed before it named the file of its life, names the file.
// Returns an empty string, or in one sentence why `path` is not the history of this log.
std::string adopt_history(const std::string& path, uint64_t log, uint32_t ordinal);

// Returns a sentence if `ordinal`, the number of the log's last run, is larger than the number of
// the history's last run: the runs between them kept no history. Otherwise, and if the last file
// cannot be read, returns an empty string.
std::string gap_in_history(const std::string& path, uint32_t ordinal);

}  // namespace logjam
