// The manifest of a log: what belongs to the log, and what of it counts. Recovery, the next run,
// checkpoints, truncation and removal ask the manifest alone.
//
// It is text (text_block.h) in the file `manifest` of the log's first directory (manifest_file.h):
//
//   logjam manifest 1
//   log=, generation=, directories=, ...   the log
//   run=K                                   then the lines of that run, which begin with `run.`
//   checkpoint=N                            then its lines, which begin with `checkpoint.`
//   end <XXH3-64 of all lines before, in hex>
//
// Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "logging/format/checkpoint.h"
#include "logging/format/log_file.h"

namespace logjam {

// A run: the part of a log that one process writes, continuing earlier runs.
struct ManifestRun {
  LogFileHeader header;  // of its files; `stream` and `stripe` are 0
  bool begun = false;    // all its files have their headers; until then no file of it is read
  // By stream: the position at which the recovery ended that the next run, or a checkpoint at the
  // end of this run, is built on. Empty if there is neither. No later recovery uses more of the
  // run, and a recovery that finds less has lost something.
  std::vector<uint64_t> ends;
  std::vector<uint64_t> released;  // by stream: the log before it may be gone; empty: no part of it
  std::string accepted;  // the damage that --accept_damage accepted; empty: there was none

  uint32_t ordinal() const { return header.ordinal; }
};

// Whether a run kept a history (proof/history/history_files.h). A life outlasts its run's log.
struct ManifestLife {
  uint32_t ordinal = 1;
  uint64_t run = 0;
  bool history = false;
};

// Files of a run or a checkpoint that no recovery needs any more. They stay here until they are
// removed.
struct Removable {
  enum class Kind : uint8_t { kRun, kCheckpoint };
  Kind kind = Kind::kRun;
  uint64_t number = 0;  // the run's ordinal, or the checkpoint's number
  uint64_t id = 0;      // LogFileHeader::run, or Checkpoint::id

  bool operator==(const Removable&) const = default;
};

struct Manifest {
  uint64_t log = 0;         // random: the log's identity
  uint64_t generation = 0;  // grows by 1 with each replacement
  uint32_t directories = 1;
  std::vector<uint64_t> replaced;  // the logs that it has replaced, whose manifests do not count
  bool whole = true;          // its runs reach back to the initial load; else it needs a checkpoint
  uint32_t last_ordinal = 0;  // the largest that a run has had
  uint64_t last_checkpoint = 0;  // the largest number that a checkpoint has had
  std::vector<ManifestRun> runs;
  std::vector<Checkpoint> checkpoints;  // in ascending order
  std::vector<ManifestLife> lives;
  std::vector<Removable> removable;

  std::string encode() const;
  // Fills `*this` from `text` and returns an empty string. If `text` is no manifest, leaves `*this`
  // unchanged and returns the reason, in words that follow "PATH is not a manifest: ".
  std::string decode(const std::string& text);

  // Returns the run with this ordinal, or null.
  const ManifestRun* run(uint32_t ordinal) const;
  ManifestRun* run(uint32_t ordinal);
  // Moves the run or the checkpoint to `removable`.
  void remove_run(uint32_t ordinal);
  void remove_checkpoint(uint64_t number);
  // Moves what a killed process has left unfinished to `removable`: incomplete checkpoints, and
  // runs that have not begun. The last of all runs stays if there is no checkpoint, because the
  // log's flags are those of a run or of a checkpoint.
  void remove_unfinished();
};

// Returns the directory of run `ordinal` (from 1) in `directory`: for run 1 the directory itself.
std::string run_directory(const std::string& directory, uint32_t ordinal);
std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal);

}  // namespace logjam
