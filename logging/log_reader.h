// Reads one stream, from its file or striped files, front to back, and believes nothing it has not
// checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logging/log_file.h"
#include "logging/log_scheme.h"
#include "logging/read_pace.h"
#include "logging/record.h"

namespace logjam {

// Consecutive valid records. They point into `memory`, which lives as long as any copy of the
// batch.
struct RecordBatch {
  std::shared_ptr<std::vector<std::byte>> memory;
  std::vector<const RecordHeader*> records;
  std::vector<uint64_t> positions;  // of each record in the stream
};

class LogReader {
 public:
  // Opens the stream's files, in stripe order; error() is then empty or one sentence.
  // `paces`: of each file, or none.
  explicit LogReader(const std::vector<std::string>& paths, std::vector<ReadPace*> paces = {});
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  const std::string& error() const { return error_; }
  const LogFileHeader& header() const { return header_; }  // the first file's

  // The next records, some MiB at a time; false at the end of the usable log. tail() then says
  // what ended it. Voids, marks and padding are delivered too (the caller skips them).
  bool next(RecordBatch* batch);
  const StreamTail& tail() const { return tail_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  LogFileHeader header_;
  StreamTail tail_;
  std::string error_;
};

// The files of one run in `directories`, whatever their order: by stream, each stream's in stripe
// order. Refuses (error) when one is missing, belongs to another run, or none is there.
struct LogFiles {
  std::vector<std::vector<std::string>> paths;
  LogFileHeader header;  // of stream 0
  std::string error;
};
LogFiles find_log_files(const std::vector<std::string>& directories);

}  // namespace logjam
