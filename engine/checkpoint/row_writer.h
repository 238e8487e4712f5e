// Writes one part of all tables to a file of rows (row_blocks.h), while transactions run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/row_blocks.h"
#include "engine/storage/database.h"
#include "logging/format/checkpoint.h"
#include "platform/memory.h"

namespace logjam {

// The division of all tables' tuples into parts. A part of an ordered table is a range of keys, a
// part of any other table is a range of buckets.
class TableParts {
 public:
  // Transactions may run. Nothing may leave an index until the last walk() has ended.
  TableParts(Database& database, uint32_t parts);

  uint32_t parts() const { return parts_; }
  // Calls visit(tuple) for every tuple of part `part` that `table` had when the walk began, in key
  // order if the table is ordered. Also visits some tuples that are inserted during the walk.
  void walk(Table& table, uint32_t part, FunctionRef<void(const Tuple&)> visit) const;

 private:
  const uint32_t parts_;
  std::vector<std::vector<Key>> splits_;  // by table: the first key of each part after the first
};

struct RowWriterOptions {
  std::string path;
  uint64_t id = 0;
  uint16_t part = 0;
  DevicePace* pace = nullptr;             // null: as fast as the device takes it
  std::function<bool()> stops = nullptr;  // called regularly; true abandons the checkpoint
};

// Writes one file of rows. One thread owns the object.
class RowWriter {
 public:
  explicit RowWriter(RowWriterOptions options);
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Writes the file and makes it durable. Waits while a tuple is locked. Returns an empty string,
  // one sentence about a failure, or kAbandoned if options.stops() returned true.
  std::string write(Database& database, const TableParts& parts);
  static constexpr const char* kAbandoned = "abandoned";

  // Returns the file's entry in the manifest. sequence() is the file's largest sequence number.
  const CheckpointFile& file() const { return file_; }
  uint64_t sequence() const { return sequence_; }

 private:
  bool open_file();
  void add(const Table& table, const Tuple& tuple);
  void begin_block(const Table& table);
  void end_block();
  void flush(bool all);
  void fail(const char* what, int error);
  bool good() const { return error_.empty(); }

  const RowWriterOptions options_;
  const platform::MirroredMemory buffer_;
  uint64_t begin_ = 0;   // the offset in the file of the first byte in the buffer
  uint64_t filled_ = 0;  // bytes in the buffer
  uint64_t block_ = 0;   // the offset in the buffer of the open block
  bool open_ = false;    // a block is open
  CheckpointFile file_;
  uint64_t sequence_ = 0;
  std::string error_;
  int out_ = -1;  // the open file
};

}  // namespace logjam
