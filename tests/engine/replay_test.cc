// Logs of several streams are replayed in parallel and merged: both give the rows last written.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "engine/recovery/recover.h"
#include "engine/storage/database.h"
#include "logging/format/range_image.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr Key kKeys = 40;
constexpr uint32_t kWorkers = 4;

struct Row {
  uint64_t value = 0;
  uint8_t last[40] = {};  // byte i: the last value that is i modulo 40

  bool erased() const { return value % 7 == 0; }
  bool operator==(const Row&) const = default;
};
using Rows = std::map<Key, Row>;

// Logs a transaction of one write. Only the caller uses the key, and the caller keeps its version.
// Most writes of a present row are ranges.
CommitPoint log_write(Log& log, uint32_t worker, Key key, Row before, Row row, uint64_t* version) {
  LoggedWrite write;
  write.header = {0, row.erased() ? WriteOp::kErase : WriteOp::kUpdate, WriteImage::kAfter,
                  sizeof(Row), key};
  write.after = reinterpret_cast<const std::byte*>(&row);
  std::byte ranges[sizeof(Row)];
  if (!before.erased() && !row.erased() && row.value % 5 != 0) {
    write.header.image = WriteImage::kRanges;
    write.header.image_bytes = encode_ranges(*version, reinterpret_cast<const std::byte*>(&before),
                                             write.after, sizeof(Row), ranges);
    EXPECT_NE(write.header.image_bytes, 0u);
    write.after = ranges;
  }
  StagedRecord record;
  record.add(write);
  const LogReservation reservation = log.scheme().reserve(
      worker, {.max_overwritten = *version, .reads = true}, static_cast<uint32_t>(record.bytes()));
  record.fill(reservation, RecordKind::kTransaction, row.value, 0, log.run());
  *version = reservation.sequence;
  return log.scheme().publish(worker, reservation, RecordRole::kCommit);
}

Rows replay(const LogFiles& files, const RecoveryRule& rule, ReplayOrder order) {
  Database database;
  TableSchema schema;
  schema.name = "rows";
  schema.row_bytes = sizeof(Row);
  Table& table = database.create_table(schema);
  const RecoveryResult result = recover(database, files, rule, 3, order);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.transactions, 2000u);
  Rows rows;
  table.for_each_row(
      [&](Key key, const std::byte* row) { std::memcpy(&rows[key], row, sizeof(Row)); });
  return rows;
}

class ReplayTest : public testing::TestWithParam<const SchemeInfo*> {};

TEST_P(ReplayTest, MergedAndParallelReplayGiveTheLastWrites) {
  LogDirectory directory;
  LogOptions options = log_options_of_many(*GetParam(), directory, "sync", kWorkers, 3);
  options.header.flags["workload"] = "none";
  Rows expected;
  {
    Log log(options);
    log.start();
    std::mt19937_64 random(7);
    std::vector<uint64_t> versions(kKeys);
    std::vector<CommitPoint> last(kWorkers);
    for (uint64_t value = 1; value <= 2000; ++value) {
      const Key key = random() % kKeys;
      const auto worker = static_cast<uint32_t>(random() % kWorkers);
      const Row before = expected[key];
      Row row = before.erased() ? Row{} : before;
      row.value = value;
      row.last[value % 40] = static_cast<uint8_t>(value);
      last[worker] = log_write(log, worker, key, before, row, &versions[key]);
      log.scheme().poll(worker);
      expected[key] = row;
    }
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      log.scheme().wait_durable(worker, last[worker]);
    }
    log.drain();
    log.stop();
  }
  std::erase_if(expected, [](const auto& row) { return row.second.erased(); });
  const LogFiles files = find_log_files(options.directories);
  ASSERT_EQ(files.error, "");
  EXPECT_EQ(replay(files, GetParam()->recovery, ReplayOrder::kParallel), expected);
  EXPECT_EQ(replay(files, GetParam()->recovery, ReplayOrder::kMerged), expected);
}

INSTANTIATE_TEST_SUITE_P(All, ReplayTest, testing::ValuesIn(logging_schemes()), scheme_test_name);

}  // namespace
}  // namespace logjam
