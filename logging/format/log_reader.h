// Reads one stream from its first record to its end, out of its file or its striped files. The
// reader trusts only bytes that it has checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "logging/format/device_pace.h"
#include "logging/format/log_file.h"
#include "logging/format/log_memory.h"
#include "logging/format/record.h"
#include "logging/format/stream_tail.h"

namespace logjam {

// Consecutive valid records. They point into `memory`, which lives as long as any copy of the
// batch.
struct RecordBatch {
  LogMemory memory;
  std::vector<const RecordHeader*> records;
  std::vector<uint64_t> positions;  // of each record in the stream
};

// How much memory a LogReader may use. It reads a window at a time, and one whole record where that
// is longer. Beside the batch that it has returned, it has at most the next window, the part of the
// next record that it has read already, and 64 KiB.
struct ReadMemory {
  uint64_t window_bytes = uint64_t{4} << 20;  // 64 KiB or a watermark's length if that is more
  LogMemoryMeter* meter = nullptr;            // counts what is read, if there is one
};

// One thread at a time may use a LogReader.
class LogReader {
 public:
  // Opens the stream's files, which `paths` names in stripe order; without files the stream is
  // empty. On failure error() says why in one sentence; otherwise it is empty. `paces` has the pace
  // of each file, or is empty; the caller owns the paces, and they outlive the reader. Reading
  // begins at `start`: before it only the files' headers need to exist.
  explicit LogReader(const std::vector<std::string>& paths, std::vector<DevicePace*> paces = {},
                     StreamStart start = {}, ReadMemory memory = {});
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  const std::string& error() const { return error_; }
  const LogFileHeader& header() const { return header_; }  // the first file's

  // Reads the next records, a window at a time, into `batch`. Returns false at the end of the
  // usable log; tail() then says why it ended. The batch also has void records, watermark records
  // and padding, which the caller skips. Ends the process if a file cannot be read.
  bool next(RecordBatch* batch);
  const StreamTail& tail() const { return tail_; }
  // Reads a batch again, which next() has returned when tail().bytes was `position`. Leaves tail()
  // as it is. Ends the process if the batch is not there any more.
  void read_again(uint64_t position, RecordBatch* batch);
  // Empties tail().watermarks, which the caller has moved elsewhere.
  void forget_watermarks() { tail_.watermarks.clear(); }

 private:
  struct State;

  void add_to_tail(const RecordBatch& batch);
  bool has_word_for_each_stream(const RecordHeader& header) const;
  void add_vouchers(const RecordHeader& header, uint64_t position);
  void end_stream(std::span<const std::byte> rest);

  std::unique_ptr<State> state_;
  LogFileHeader header_;
  StreamTail tail_;
  std::string error_;
};

// The log files of one run.
struct LogFiles {
  // By stream: the stream's files in stripe order. A stream without files is empty. All streams are
  // empty if a crash ended the run before its headers were written.
  std::vector<std::vector<std::string>> paths;
  LogFileHeader header;  // of stream 0
  std::string error;     // why the files cannot be used, or empty
  // By stream: where a recovery begins to read it. Empty: each stream is read from position 0.
  std::vector<StreamStart> starts = {};

  StreamStart start(size_t stream) const { return starts.empty() ? StreamStart{} : starts[stream]; }
};
// Finds the log files of one run in `directories`, which may be in any order. Sets `error` to one
// sentence if there is no log file, if a file is missing, or if a file belongs to another run. Any
// thread may call it.
LogFiles find_log_files(const std::vector<std::string>& directories);

}  // namespace logjam
