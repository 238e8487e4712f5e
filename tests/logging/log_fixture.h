// A log in a temporary directory, and a reader. The bytes of a record follow from its transaction's
// number, and the reader checks them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "logging/format/log_file.h"
#include "logging/format/log_reader.h"
#include "logging/format/record_writer.h"
#include "logging/format/segments.h"
#include "logging/log.h"
#include "tests/logging/usable_device.h"
#include "tests/temporary_directory.h"

namespace logjam {

class LogDirectory : public TemporaryDirectory {
 public:
  std::string file(uint32_t stream = 0) const { return log_file_path(path(), stream); }
};

// Fills and seals a record of one update. The update's key and row follow from `txn`. The
// reservation must have a multiple of 8 bytes, and at least 48.
inline void fill_record(const LogReservation& reservation, uint64_t run, uint64_t txn) {
  const auto row_bytes = static_cast<uint32_t>(reservation.bytes - reservation.vector.size_bytes() -
                                               sizeof(RecordHeader) - sizeof(WriteHeader));
  std::vector<std::byte> row(row_bytes + 1);  // not empty: memcpy() takes no null pointer
  for (size_t i = 0; i < row_bytes; ++i) row[i] = static_cast<std::byte>(txn * 31 + i * 7);
  StagedRecord record;
  record.add(
      {.header = {1, WriteOp::kUpdate, WriteImage::kAfter, row_bytes, txn}, .after = row.data()});
  record.fill(reservation, RecordKind::kTransaction, txn, 0, run);
}

inline bool filled_rightly(const RecordHeader& header) {
  RecordBody body(header);
  LoggedWrite write;
  if (!body.next(&write) || write.header.key != header.txn) return false;
  for (uint32_t i = 0; i < write.header.image_bytes; ++i) {
    if (write.after[i] != static_cast<std::byte>(header.txn * 31 + i * 7)) return false;
  }
  return !body.next(&write) && body.well_formed();
}

// Returns the dependencies of a transaction of `worker` that has read record `sequence`.
inline Dependencies reads(const LogScheme& scheme, uint32_t worker, uint64_t sequence) {
  const uint64_t names = (uint64_t{1} << scheme.traits().worker_bits) - 1;
  const bool foreign = names != 0 && (sequence & names) != worker;
  return {.max_read = sequence, .max_foreign = foreign ? sequence : 0, .reads = true};
}

// A published record. The reader must find the same record.
struct Published {
  uint64_t sequence, position, txn;
  uint32_t stream, bytes;
  CommitPoint point;
  bool ok;
  uint8_t flags = 0;  // of the reservation
};

inline Published publish_record(
    Log& log, uint32_t worker, uint64_t txn, uint32_t bytes, const Dependencies& deps = {},
    bool ok = true,
    const std::function<void(const LogReservation&)>& before_fill = [](const LogReservation&) {}) {
  const LogReservation reservation = log.scheme().reserve(worker, deps, bytes);
  before_fill(reservation);
  if (ok) {
    fill_record(reservation, log.run(), txn);
  } else {
    RecordWriter(reservation, RecordKind::kVoid, txn).seal(log.run(), reservation.position);
  }
  const CommitPoint point =
      log.scheme().publish(worker, reservation, ok ? RecordRole::kCommit : RecordRole::kVoid);
  return {reservation.sequence,
          reservation.position,
          txn,
          reservation.stream,
          reservation.bytes,
          point,
          ok,
          reservation.flags};
}

// Each worker publishes `each` records. A length is a multiple of 8 from 48 to `max_bytes`.
struct Mix {
  uint32_t each, max_bytes;
  uint32_t large_every = 0;  // one record in `large_every` has 64 KiB; 0: none
  uint32_t sleep_every = 0;  // a worker sleeps before one fill in `sleep_every`; 0: never
};

// Publishes records, with one pipelining thread for each worker. One record in 16 is void, but the
// last record of a thread never is. Returns the published records.
inline std::vector<Published> publish_from_threads(Log& log, uint32_t workers, const Mix& mix) {
  LogScheme& scheme = log.scheme();
  std::vector<std::vector<Published>> published(workers);
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      std::mt19937_64 random(worker);
      for (uint32_t i = 0; i < mix.each; ++i) {
        const bool large = mix.large_every != 0 && random() % mix.large_every == 0;
        const auto bytes =
            static_cast<uint32_t>(large ? 65536 : 48 + random() % (mix.max_bytes - 40) / 8 * 8);
        const bool ok = random() % 16 != 0 || i + 1 == mix.each;
        const auto before_fill = [&](const LogReservation& reservation) {
          if (mix.sleep_every == 0 || random() % mix.sleep_every != 0) return;
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
          EXPECT_FALSE(log.streams() == 1 &&
                       scheme.is_durable(CommitPoint::in_stream(0, reservation.sequence)))
              << "durable before it is published";
        };
        published[worker].push_back(
            publish_record(log, worker, uint64_t{worker} << 48 | i, bytes, {}, ok, before_fill));
        scheme.poll(worker);
        if (ok && random() % 32 == 0) scheme.wait_durable(worker, published[worker].back().point);
      }
      scheme.wait_durable(worker, published[worker].back().point);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Published> all;
  for (const auto& one : published) all.insert(all.end(), one.begin(), one.end());
  return all;
}

struct ReadLog {
  struct Record {
    uint64_t sequence, txn;
    uint32_t bytes;
    RecordKind kind;
  };
  using Records = std::map<uint64_t, Record>;  // by position

  // Returns an iterator to the published record in this log, or records.end().
  Records::const_iterator find(const Published& one) const {
    if (one.position != kPlacedLater) return records.find(one.position);
    const auto at = places.find({one.sequence, one.txn});
    return at == places.end() ? records.end() : records.find(at->second);
  }

  Records records;                                           // without watermarks and padding
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> places;  // positions, by number and txn
  StreamTail tail;
  std::string error;
  bool filled_rightly = true;
};

inline ReadLog read_log(const std::vector<std::string>& paths) {
  LogReader reader(paths);
  ReadLog log;
  RecordBatch batch;
  while (reader.next(&batch)) {
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const RecordHeader& header = *batch.records[i];
      if (header.kind == RecordKind::kWatermark || header.kind == RecordKind::kPadding) continue;
      log.records[batch.positions[i]] = {header.sequence, header.txn, header.bytes, header.kind};
      log.places[{header.sequence, header.txn}] = batch.positions[i];
      if (header.kind == RecordKind::kTransaction) {
        log.filled_rightly = log.filled_rightly && logjam::filled_rightly(header);
      }
    }
  }
  log.tail = reader.tail();
  log.error = reader.error();
  return log;
}

inline ReadLog read_log(const std::string& path) { return read_log(std::vector{path}); }

// Expects the log in the directories to have exactly these records.
inline void expect_on_device(const std::vector<Published>& published, const LogOptions& options) {
  const LogFiles files = find_log_files(options.directories);
  ASSERT_EQ(files.error, "");
  std::vector<ReadLog> logs;
  size_t records = 0;
  for (const auto& paths : files.paths) {
    logs.push_back(read_log(paths));
    EXPECT_EQ(logs.back().error, "");
    EXPECT_EQ(logs.back().tail.why, "end of log");
    EXPECT_TRUE(logs.back().filled_rightly);
    records += logs.back().records.size();
  }
  EXPECT_EQ(records, published.size());
  for (const Published& one : published) {
    const auto at = logs[one.stream].find(one);
    ASSERT_NE(at, logs[one.stream].records.end()) << "no record at " << one.position;
    EXPECT_EQ(at->second.sequence, one.sequence);
    EXPECT_EQ(at->second.txn, one.txn);
    EXPECT_EQ(at->second.bytes, one.bytes);
    EXPECT_EQ(at->second.kind, one.ok ? RecordKind::kTransaction : RecordKind::kVoid);
  }
}

// Returns the segment files of one log file, or of all log files in a directory.
inline std::vector<SegmentFile> segment_files(const std::string& path) {
  std::vector<SegmentFile> files;
  const bool all = std::filesystem::is_directory(path);
  EXPECT_EQ(all ? segment_files_in(path, &files) : segment_files_of(path, &files), 0);
  return files;
}

// Returns the log files in a directory with their streams' numbers.
inline std::vector<std::pair<uint32_t, std::string>> log_files(const std::string& directory) {
  std::vector<std::pair<uint32_t, std::string>> files;
  EXPECT_EQ(log_files_in(directory, &files), 0);
  return files;
}

inline LogOptions log_options(const SchemeInfo& scheme, const LogDirectory& directory,
                              const std::string& device, uint32_t workers) {
  LogOptions options;
  options.scheme = &scheme;
  options.directories = {directory.path()};
  options.overwrite = true;  // some tests write several logs into one directory
  options.device = usable_device(scheme, device);
  options.config.workers = workers;
  options.config.buffer_bytes = uint64_t{1} << 20;
  options.header.workers = workers;
  options.header.log_records = "txn";
  return options;
}

// A way to flush a log: which threads flush, how many writes may be under way, and whether the log
// has no parts (--log_parts), the scheme's own, or all that it may have.
struct FlushWay {
  const char* name;
  bool help, preemptible;
  uint32_t io_depth;
  LogParts SchemeInfo::*parts = nullptr;

  void apply(LogOptions* options) const {
    options->config.flush_help = help;
    options->config.preemptible_workers = preemptible;
    options->io_depth = io_depth;
    options->config.parts = parts == nullptr ? LogParts() : options->scheme->*parts;
  }
};
inline constexpr FlushWay kFlushWays[] = {
    {"helped", true, false, 1, &SchemeInfo::parts},
    {"helped, without parts", true, false, 4},
    {"helped, with all parts", true, false, 4, &SchemeInfo::may_have},
    {"daemon alone", false, false, 4, &SchemeInfo::may_have},
    {"workers preempted", true, true, 4, &SchemeInfo::parts}};

// Returns log_options() with at most `most` directories, one for each stream of the scheme, and
// with `most` simulated sockets.
inline LogOptions log_options_of_many(const SchemeInfo& scheme, const LogDirectory& directory,
                                      const std::string& device, uint32_t workers, uint32_t most) {
  LogOptions options = log_options(scheme, directory, device, workers);
  options.config.sockets = most;
  options.config.pinned_workers = false;  // so worker w has stream w % streams
  const uint32_t streams = scheme.stream_count(most, options.config);
  if (streams == 1) return options;
  options.directories.clear();
  for (uint32_t i = 0; i < std::min(most, streams); ++i) {
    options.directories.push_back(directory.path() + "/" + std::to_string(i));
  }
  return options;
}

inline std::string stream_file(const LogOptions& options, uint32_t stream) {
  return log_file_path(options.directories[stream % options.directories.size()], stream);
}

// Returns all registered schemes that log, so that each new scheme is tested.
inline std::vector<const SchemeInfo*> logging_schemes() {
  std::vector<const SchemeInfo*> schemes;
  for (const SchemeInfo& info : all_schemes()) {
    if (info.traits.logs) schemes.push_back(&info);
  }
  return schemes;
}

inline std::string scheme_test_name(const testing::TestParamInfo<const SchemeInfo*>& info) {
  std::string name(info.param->name);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace logjam
