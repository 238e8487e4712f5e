// Logs that a test writes record by record.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "engine/storage/database.h"
#include "logging/format/log_reader.h"
#include "logging/format/record_writer.h"
#include "tests/temporary_directory.h"

namespace logjam {

struct Row {
  uint64_t value;
};

inline std::map<Key, uint64_t> rows_of(Table& table) {
  std::map<Key, uint64_t> rows;
  table.for_each_row(
      [&](Key key, const std::byte* row) { std::memcpy(&rows[key], row, sizeof(uint64_t)); });
  return rows;
}

class HandWrittenLog {
 public:
  static constexpr uint64_t kRun = 0x1234;

  explicit HandWrittenLog(uint32_t streams = 1) : logs_(streams) {}

  struct Write {
    WriteOp op;
    Key key;
    uint64_t value = 0;
    uint16_t table = 0;
    // If set, the write is a range that changes this version of the row: `value` goes to `offset`.
    std::optional<uint64_t> changes = {};
    uint16_t offset = 0, length = sizeof(uint64_t);
  };

  void add(RecordKind kind, uint64_t sequence, uint64_t txn, const std::vector<Write>& writes,
           uint32_t stream = 0, uint8_t flags = 0) {
    StagedRecord record;
    for (const Write& write : writes) {
      LoggedWrite out;
      out.header = {write.table, write.op, WriteImage::kAfter, sizeof(Row), write.key};
      out.after = reinterpret_cast<const std::byte*>(&write.value);
      struct {
        uint64_t version;
        uint16_t offset, length;
        char bytes[sizeof(uint64_t)];
      } ranges{write.changes.value_or(0), write.offset, write.length, {}};
      if (write.changes) {
        std::memcpy(ranges.bytes, &write.value, sizeof ranges.bytes);
        out.header.image = WriteImage::kRanges;
        out.header.image_bytes = offsetof(decltype(ranges), bytes) + write.length;
        out.after = reinterpret_cast<const std::byte*>(&ranges);
      }
      record.add(out);
    }
    record.fill(reserve(sequence, stream, record.bytes()), kind, txn, flags, kRun);
  }
  // Adds a watermark record. `positions` has the durable position of each stream.
  void add_watermark(uint64_t sequence, const std::vector<uint64_t>& positions, uint32_t stream) {
    const LogReservation place =
        reserve(sequence, stream, sizeof(RecordHeader) + positions.size() * sizeof(uint64_t));
    RecordWriter record(place, RecordKind::kWatermark, 0);
    for (const uint64_t position : positions) {
      record.add(WatermarkWord::encode(position, position));
    }
    record.seal(kRun, place.position);
  }

  uint64_t bytes(uint32_t stream) const { return logs_[stream].size(); }
  // Writes these bytes after the stream's last record.
  void add_garbage(const std::vector<std::byte>& bytes, uint32_t stream) {
    logs_[stream].insert(logs_[stream].end(), bytes.begin(), bytes.end());
  }

  LogFiles files() const {
    ManifestRun run;
    run.begun = true;
    LogFileHeader& header = run.header;
    header.scheme = "centr";
    header.device = "sync";
    header.log_records = "txn";
    header.run = kRun;
    header.flags["workload"] = "none";
    header.streams = static_cast<uint32_t>(logs_.size());
    for (header.stream = 0; header.stream < header.streams; ++header.stream) {
      const std::vector<std::byte>& log = logs_[header.stream];
      std::ofstream out(log_file_path(directory_.path(), header.stream), std::ios::binary);
      const auto block = header.encode();
      out.write(reinterpret_cast<const char*>(block.data()), static_cast<long>(block.size()));
      out.write(reinterpret_cast<const char*>(log.data()), static_cast<long>(log.size()));
    }
    return files_of_run({directory_.path()}, run);
  }

 private:
  LogReservation reserve(uint64_t sequence, uint32_t stream, uint64_t bytes) {
    std::vector<std::byte>& log = logs_[stream];
    const size_t position = log.size();
    log.resize(position + bytes);
    return {.sequence = sequence,
            .position = position,
            .hole = log.data() + position,
            .bytes = static_cast<uint32_t>(bytes)};
  }

  TemporaryDirectory directory_;
  std::vector<std::vector<std::byte>> logs_;  // by stream
};

}  // namespace logjam
