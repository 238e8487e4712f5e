// A checkpoint: what the manifest says of it, and where its files lie.
//
// Checkpoint N of a log lies in `checkpoint-N` of each log directory. The files `rows-P` there hold
// the tuples of part P of all tables; engine/checkpoint/row_blocks.h has their format. What the
// files are, how long they are, and the seed of their checksums is in the manifest
// (logging/format/manifest.h). A checkpoint that the manifest does not have, or does not call
// complete, does not count.
//
// RSN (Poplar, section 5): the place where a recovery begins to read the log. It is a StreamStart
// for each stream of the run that took the checkpoint. engine/checkpoint/checkpointer.h proves that
// this is enough. Any thread may call any function.
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
  uint64_t bytes = 0;  // without the padding at the end
  uint64_t rows = 0;   // present tuples
  uint64_t tombstones = 0;
};

struct Checkpoint {
  uint64_t number = 0;
  uint64_t id = 0;  // random: seeds the checksums of the rows
  // Whether all its files are durable. One that is not complete is removed by the next run.
  bool complete = false;
  uint32_t ordinal = 1;  // the run that took it, or at whose end it was taken
  // Taken at the end of that run: it holds all of the run, whose log is not read any more.
  bool at_end = false;
  std::vector<StreamStart> rsn;  // by stream; empty if `at_end`
  uint64_t sequence = 0;         // the largest sequence number of its tuples
  std::string tables;            // the names of the tables, and how long their rows are
  std::string revision;
  std::map<std::string, std::string> flags;  // workload and the flags that shape its tables
  std::vector<CheckpointFile> files;

  // Returns the lines of the checkpoint in a manifest.
  KeyValues lines() const;
  // Fills `*this` from such lines. Returns an empty string, or why they are not a checkpoint's.
  std::string read(const KeyValues& lines);

  uint64_t bytes() const;
  uint64_t rows() const;
  // Returns the name for people: "checkpoint 3".
  std::string name() const { return "checkpoint " + std::to_string(number); }
};

// Returns the directory of checkpoint `number` in the log directory `directory`.
std::string checkpoint_directory(const std::string& directory, uint64_t number);

// Returns the path of each file of `checkpoint`, in their order. Sets `error` to one sentence if a
// file is missing or too short, else to an empty string. Fails if a directory cannot be
// looked into.
std::vector<std::string> paths_of(const std::vector<std::string>& directories,
                                  const Checkpoint& checkpoint, std::string* error);

}  // namespace logjam
