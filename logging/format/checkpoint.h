// A checkpoint: its description in the manifest, and where its files lie.
//
// Checkpoint N of a log lies in `checkpoint-N` of each log directory. The files `rows-P` there hold
// the tuples of part P of all tables (engine/checkpoint/row_blocks.h). A recovery uses a checkpoint
// only if the manifest lists the checkpoint as complete. Any thread may call any function.
//
// RSN (Poplar, section 5) is where a recovery begins to read the log: one StreamStart for each
// stream of the run that took the checkpoint. engine/checkpoint/checkpointer.h has the proof.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logging/format/stream_tail.h"
#include "logging/format/text_block.h"

namespace logjam {

struct CheckpointFile {
  std::string name;
  uint64_t bytes = 0;  // the length without the padding at the end
  uint64_t rows = 0;   // present tuples
  uint64_t tombstones = 0;
};

struct Checkpoint {
  uint64_t number = 0;
  uint64_t id = 0;               // random: seeds the checksums of the rows
  bool complete = false;         // all files are durable; else the next run removes the checkpoint
  uint32_t ordinal = 1;          // the run during which, or at whose end, the checkpoint was taken
  bool at_end = false;           // taken at the end of that run, whose log is not read any more
  std::vector<StreamStart> rsn;  // by stream; empty if `at_end`
  uint64_t sequence = 0;         // the largest sequence number of the checkpoint's tuples
  std::string tables;            // the names and row lengths of the tables
  std::string revision;
  std::map<std::string, std::string> flags;  // the workload, and the flags for its tables
  std::vector<CheckpointFile> files;

  KeyValues lines() const;
  // Fills `*this` from `lines`. Returns an empty string, or why the lines describe no checkpoint.
  std::string read(const KeyValues& lines);

  uint64_t bytes() const;
  uint64_t rows() const;
  std::string name() const { return "checkpoint " + std::to_string(number); }
};

std::string checkpoint_directory(const std::string& directory, uint64_t number);

// Returns the path of each file of `checkpoint`. Sets `error` to one sentence if a file is missing
// or too short, else to an empty string. Fails if a directory cannot be read.
std::vector<std::string> paths_of(const std::vector<std::string>& directories,
                                  const Checkpoint& checkpoint, std::string* error);

}  // namespace logjam
