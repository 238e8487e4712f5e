// Reads one stream from its first record to its end, from one file or from striped files. The
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
#include "logging/format/manifest.h"
#include "logging/format/record.h"
#include "logging/format/stream_tail.h"
#include "platform/atomic.h"

namespace logjam {

// The log files of one run.
struct LogFiles {
  // By stream: the stream's files in stripe order; none if the run has not begun.
  std::vector<std::vector<std::string>> paths;
  LogFileHeader header;                  // of the run
  std::string error;                     // why the files cannot be used, or empty
  std::vector<StreamStart> starts = {};  // by stream; empty: each stream is read from position 0
  std::vector<uint64_t> ends = {};       // ManifestRun::ends; empty: each stream is read to its end

  StreamStart start(size_t stream) const { return starts.empty() ? StreamStart{} : starts[stream]; }
};

// Returns the files of a run of the log in `directories`. Accesses no file.
LogFiles files_of_run(const std::vector<std::string>& directories, const ManifestRun& run);
// Returns one sentence that names the files that are missing, or whose header differs from the
// manifest. Returns an empty string if there are no such files. If a file is missing, sets
// `*missing`, unless `missing` is null. Fails on a read error.
std::string check_files(const LogFiles& files, bool* missing = nullptr);
// Returns the files of the last run of the log in `directories`, which may be in any order. Sets
// `error` if there is no log, or if check_files() finds something wrong.
LogFiles find_log_files(const std::vector<std::string>& directories);

using LogMemory = std::shared_ptr<std::vector<std::byte>>;

// Counts the bytes that were allocated through this meter and are not freed yet. Any thread may
// call any function; the counters are relaxed, and order no other memory.
class LogMemoryMeter {
 public:
  // Allocates `bytes` zeros. The meter outlives this memory.
  LogMemory allocate(uint64_t bytes) {
    const auto counted = std::make_shared<Counted>(*this, bytes);
    return {counted, &counted->memory};
  }
  // Returns the largest number of bytes that were allocated at the same time.
  uint64_t most() const { return most_.load(platform::memory_order_relaxed); }

 private:
  struct Counted {
    Counted(LogMemoryMeter& meter, uint64_t bytes) : meter(meter), bytes(bytes), memory(bytes) {
      const uint64_t now = meter.now_.fetch_add(bytes, platform::memory_order_relaxed) + bytes;
      platform::atomic_max(meter.most_, now, platform::memory_order_relaxed);
    }
    ~Counted() { meter.now_.fetch_sub(bytes, platform::memory_order_relaxed); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    LogMemoryMeter& meter;
    const uint64_t bytes;
    std::vector<std::byte> memory;
  };

  platform::atomic<uint64_t> now_{0}, most_{0};
};

inline LogMemory allocate_log_memory(LogMemoryMeter* meter, uint64_t bytes) {
  return meter == nullptr ? std::make_shared<std::vector<std::byte>>(bytes)
                          : meter->allocate(bytes);
}

// Consecutive valid records in `memory`, which lives as long as any copy of the batch.
struct RecordBatch {
  LogMemory memory;
  std::vector<const RecordHeader*> records;
  std::vector<uint64_t> positions;  // of each record in the stream
};

// The memory of a LogReader. The reader reads a window at a time, or one record that is longer than
// the window. Windows near a stream's start are shorter than later windows. The memory holds at
// most the batch that next() has returned, the next window, a part of the next record, and 64 KiB.
struct ReadMemory {
  uint64_t window_bytes = uint64_t{4} << 20;  // at least 64 KiB and a watermark record's length
  LogMemoryMeter* meter = nullptr;            // counts the memory of the batches, unless null
};

// One thread at a time may use a LogReader.
class LogReader {
 public:
  // Opens the files of stream number `stream`. A stream without files is empty. On failure error()
  // says why. `paces` is empty, or has the pace of each file; the paces outlive the reader. Segment
  // files before the stream's start may be missing.
  LogReader(const LogFiles& files, size_t stream, std::vector<DevicePace*> paces = {},
            ReadMemory memory = {});
  // Opens `paths`, which are in stripe order. The header of the first file describes the stream.
  explicit LogReader(const std::vector<std::string>& paths, StreamStart start = {},
                     ReadMemory memory = {});
  ~LogReader();

  const std::string& error() const { return error_; }
  const LogFileHeader& header() const { return header_; }

  // Reads the next window of records, of all kinds, into `batch`. Returns false at the end of the
  // usable log; tail() then says why the log ends there. Fails on a read error.
  bool next(RecordBatch* batch);
  const StreamTail& tail() const { return tail_; }
  // Reads again the batch that next() found at `position`. Does not change tail(). Fails if the
  // files have lost the batch.
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
