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
#include "logging/format/manifest.h"
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

// The log files of one run.
struct LogFiles {
  // By stream: the stream's files in stripe order. A stream without files is empty. All streams are
  // empty if the run has not begun.
  std::vector<std::vector<std::string>> paths;
  LogFileHeader header;  // of the run
  std::string error;     // why the files cannot be used, or empty
  // By stream: where a recovery begins to read it. Empty: each stream is read from position 0.
  std::vector<StreamStart> starts = {};
  // By stream: where a recovery ends to read it (ManifestRun::ends). Empty: at its end.
  std::vector<uint64_t> ends = {};

  StreamStart start(size_t stream) const { return starts.empty() ? StreamStart{} : starts[stream]; }
};

// Returns the files of a run of the log in `directories`. Looks at no file.
LogFiles files_of_run(const std::vector<std::string>& directories, const ManifestRun& run);
// Returns an empty string, or in one sentence which files of the run are missing, or have not its
// header. Sets `missing`, unless it is null, to whether a file is missing. Ends the process if a
// file cannot be read.
std::string check_files(const LogFiles& files, bool* missing = nullptr);
// Returns the files of the last run of the log in `directories`, which may be in any order. Sets
// `error` to one sentence if there is no log, or if check_files() finds something wrong.
LogFiles find_log_files(const std::vector<std::string>& directories);

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
  // Opens the files of stream `stream`; without files the stream is empty. On failure error() says
  // why in one sentence; otherwise it is empty. `paces` has the pace of each file, or is empty; the
  // caller owns the paces, and they outlive the reader. Before the stream's start only the log
  // files themselves need to exist.
  LogReader(const LogFiles& files, size_t stream, std::vector<DevicePace*> paces = {},
            ReadMemory memory = {});
  // Opens files in stripe order, whose first one's header says what they are.
  explicit LogReader(const std::vector<std::string>& paths, StreamStart start = {},
                     ReadMemory memory = {});
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  const std::string& error() const { return error_; }
  const LogFileHeader& header() const { return header_; }

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
  void open(const std::vector<std::string>& paths, ReadMemory memory);
  void end_stream(std::span<const std::byte> rest);
  void end_at_limit();

  std::unique_ptr<State> state_;
  LogFileHeader header_;
  StreamTail tail_;
  std::string error_;
};

}  // namespace logjam
