// The manifest of a log lists the parts of the log, and says which parts are used. Recovery, the
// next run, checkpoints, truncation and removal rely on the manifest alone.
//
// A manifest is text (text_block.h) in the file `manifest` of the log's first directory:
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
  LogFileHeader header;  // the header of the run's files; `stream` and `stripe` are 0
  bool begun = false;    // all files of the run have headers; before that, no file is read
  // By stream: the position at which a recovery of this run ended, before the next run or before a
  // checkpoint at the end of this run. Empty if there was no such recovery. A later recovery uses
  // no record after these positions. If a later recovery ends before one of them, records are lost.
  std::vector<uint64_t> ends;
  std::vector<uint64_t> released;  // by stream, or empty: bytes before this position may be removed
  std::string accepted;  // the damage that --accept_damage accepted; empty: there was none

  uint32_t ordinal() const { return header.ordinal; }
};

// Says whether a run kept a history (proof/history/history_files.h), also when its log is gone.
struct ManifestLife {
  uint32_t ordinal = 1;
  uint64_t run = 0;
  bool history = false;
};

// Files of a run or a checkpoint that no recovery needs any more, and that are not removed yet.
struct Removable {
  enum class Kind : uint8_t { kRun, kCheckpoint };
  Kind kind = Kind::kRun;
  uint64_t number = 0;  // the run's ordinal, or the checkpoint's number
  uint64_t id = 0;      // LogFileHeader::run, or Checkpoint::id

  bool operator==(const Removable&) const = default;
};

struct Manifest {
  uint64_t log = 0;         // random: the log's identity
  uint64_t generation = 0;  // grows by 1 when the manifest is replaced
  uint32_t directories = 1;
  std::vector<uint64_t> replaced;  // the logs that this log replaced; their manifests are ignored
  bool whole = true;               // the log's runs begin at the initial load, not at a checkpoint
  uint32_t last_ordinal = 0;       // the largest ordinal that a run has had
  uint64_t last_checkpoint = 0;    // the largest number that a checkpoint has had
  std::vector<ManifestRun> runs;
  std::vector<Checkpoint> checkpoints;  // in ascending order
  std::vector<ManifestLife> lives;
  std::vector<Removable> removable;

  std::string encode() const;
  // Fills `*this` from `text` and returns an empty string. If `text` is no manifest, leaves `*this`
  // unchanged and returns the reason, worded to follow "PATH is not a manifest: ".
  std::string decode(const std::string& text);

  const ManifestRun* run(uint32_t ordinal) const;
  ManifestRun* run(uint32_t ordinal);
  // Moves the run or the checkpoint to `removable`.
  void remove_run(uint32_t ordinal);
  void remove_checkpoint(uint64_t number);
  // Moves incomplete checkpoints, and runs that have not begun, to `removable`. If there is no
  // checkpoint, the last run stays, because it has the log's flags.
  void remove_unfinished();
};

// Returns the directory of run `ordinal` (from 1) in `directory`: for run 1 the directory itself.
std::string run_directory(const std::string& directory, uint32_t ordinal);
std::vector<std::string> run_directories(const std::vector<std::string>& directories,
                                         uint32_t ordinal);

}  // namespace logjam
