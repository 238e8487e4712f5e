// The manifest of a log: what belongs to the log, and what of it counts.
//
// It is text (logging/format/text_block.h) in the file `manifest` of the log's first directory.
// Every other directory has a *member file*, which names the log and the directory's place in it.
// logging/log_manifest.h reads and replaces these files. Whatever decides about a log asks the
// manifest: recovery, the next run, checkpoints, truncation, removal. A listing of a directory
// decides nothing.
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

// A run: the part of a log that one process writes. Its recovery begins with all that the runs
// before it have left.
struct ManifestRun {
  LogFileHeader header;  // of its files; `stream` and `stripe` are 0
  // Whether all its files have their headers. Until then it is empty, and no file of it is read.
  bool begun = false;
  // By stream: the position at which the recovery ended that the next run, or a checkpoint at the
  // end of this run, is built on. Empty if there is neither. No later recovery uses more of the
  // run, and one that finds less has lost something.
  std::vector<uint64_t> ends;
  // By stream: the position before which the log may be gone. Empty: nothing is.
  std::vector<uint64_t> released;
  std::string accepted;  // the damage that --accept_damage accepted; empty: there was none

  uint32_t ordinal() const { return header.ordinal; }
};

// Which runs of a log kept a history (proof/history/history_files.h). A life stays in the manifest
// when the log of its run is removed.
struct ManifestLife {
  uint32_t ordinal = 1;
  uint64_t run = 0;
  bool history = false;
};

// Files that no recovery needs any more: those of a run, or of a checkpoint. They stay in the
// manifest until they have been removed. `id` is `run` of the run, or `id` of the checkpoint.
struct Removable {
  enum class Kind : uint8_t { kRun, kCheckpoint };
  Kind kind = Kind::kRun;
  uint64_t number = 0;  // the run's ordinal, or the checkpoint's number
  uint64_t id = 0;

  bool operator==(const Removable&) const = default;
};

struct Manifest {
  uint64_t log = 0;         // random: the log's identity
  uint64_t generation = 0;  // grows by 1 with each replacement
  uint32_t directories = 1;
  // Logs that this one has replaced. A manifest of one of them does not count any more.
  std::vector<uint64_t> replaced;
  // Whether the runs reach back to the initial load. If they do not, a recovery needs a checkpoint.
  bool whole = true;
  uint32_t last_ordinal = 0;     // the largest that a run has had
  uint64_t last_checkpoint = 0;  // the largest number that a checkpoint has had
  std::vector<ManifestRun> runs;
  std::vector<Checkpoint> checkpoints;  // in ascending order
  std::vector<ManifestLife> lives;
  std::vector<Removable> removable;

  std::string encode() const;
  // Returns an empty string, or why `text` is no manifest, in words that follow "PATH is not a
  // manifest: ", and leaves `*this` unchanged then.
  std::string decode(const std::string& text);

  // Returns the run with this ordinal, or null.
  const ManifestRun* run(uint32_t ordinal) const;
  ManifestRun* run(uint32_t ordinal);
  // Moves the run or the checkpoint to `removable`.
  void remove_run(uint32_t ordinal);
  void remove_checkpoint(uint64_t number);
  // Moves what a killed process has left unfinished to `removable`: checkpoints that are not
  // complete, and runs that have not begun. The last of all runs stays if there is no checkpoint,
  // because the log's flags are those of a run or of a checkpoint.
  void remove_unfinished();
};

// Returns the directory of run `ordinal` (from 1) in `directory`: for run 1 the directory itself.
std::string run_directory(const std::string& directory, uint32_t ordinal);
// Returns the directory of run `ordinal` in each of `directories`.
std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal);

}  // namespace logjam
