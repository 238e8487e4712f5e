// A checkpoint on disk: its directories, its metadata, and the files with the rows.
//
// Checkpoint N of a log lies in `checkpoint-N` of each log directory. Files `rows-P` hold the
// tuples of part P of all tables. The file `metadata`, in one of the directories, is written last,
// and atomically: without it there is no checkpoint. It is text (logging/format/text_block.h). The
// format of the files of rows is in engine/checkpoint/row_blocks.h.
//
// RSN (Poplar, section 5): the place where a recovery begins to read the log. It is a StreamStart
// for each stream of the run that took the checkpoint. checkpointer.h proves that this is enough.
// Any thread may call any function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logging/format/stream_tail.h"

namespace logjam {

struct CheckpointFile {
  std::string name;
  uint64_t bytes = 0;  // without the padding at the end
  uint64_t rows = 0;   // present tuples
  uint64_t tombstones = 0;
};

struct Checkpoint {
  uint64_t number = 0;
  uint64_t id = 0;         // random: seeds the checksums of the rows
  uint64_t first_run = 0;  // of the log (logging/format/run_directories.h)
  uint32_t ordinal = 1;    // the run that took it, or at whose end it was taken
  uint64_t run = 0;        // that run's number
  // Taken at the end of that run: it holds all of the run, whose log is not read any more.
  bool at_end = false;
  std::vector<StreamStart> rsn;  // by stream; empty if `at_end`
  std::vector<uint64_t> tails;   // if `at_end`: how long the streams were
  uint64_t sequence = 0;         // the largest sequence number of its tuples
  std::string tables;            // the names of the tables, and how long their rows are
  std::string revision;
  std::map<std::string, std::string> flags;  // workload and the flags that shape its tables
  std::vector<CheckpointFile> files;

  std::string encode() const;
  // Returns an empty string, or why `text` is no metadata, in words that follow "PATH is not a
  // checkpoint's metadata: ".
  std::string decode(const std::string& text);

  uint64_t bytes() const;
  uint64_t rows() const;
  // Returns the name for people: "checkpoint 3".
  std::string name() const { return "checkpoint " + std::to_string(number); }
};

// Returns the directory of checkpoint `number` in the log directory `directory`.
std::string checkpoint_directory(const std::string& directory, uint64_t number);
// Returns the path of its metadata in that log directory.
std::string metadata_path(const std::string& directory, uint64_t number);

// Returns the numbers of all checkpoints, complete or not, that have something in any log
// directory, in ascending order.
std::vector<uint64_t> checkpoint_numbers_in(const std::vector<std::string>& directories);
// Reads the metadata of checkpoint `number` in any of the directories. Returns an empty string, or
// one sentence that says why the checkpoint cannot be used. Finds its files, but does not read
// them.
std::string find_checkpoint(const std::vector<std::string>& directories, uint64_t number,
                            Checkpoint* checkpoint);
// Returns the path of a file of `checkpoint`, or an empty string if no directory has it.
std::string path_of(const std::vector<std::string>& directories, const Checkpoint& checkpoint,
                    const CheckpointFile& file);

// Makes a file or a directory durable. Returns 0, or -1 with errno, as fsync() does.
using SyncFile = int(int fd);
// Writes the metadata of a checkpoint whose files are durable: writes, syncs, renames, and syncs
// the directory. Returns an empty string, or one sentence that says what failed.
std::string write_metadata(const std::string& directory, const Checkpoint& checkpoint,
                           SyncFile* sync);
// Removes checkpoint `number` from all directories: its metadata first. Ends the process if it
// cannot.
void remove_checkpoint(const std::vector<std::string>& directories, uint64_t number);

}  // namespace logjam
