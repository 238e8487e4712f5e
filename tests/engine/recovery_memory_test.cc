// Recovery needs a bounded part of the log in memory, however long the log is.
#include <gtest/gtest.h>

#include <map>

#include "engine/recovery/recover.h"
#include "engine/recovery/stream_replay.h"
#include "engine/storage/database.h"
#include "tests/engine/hand_written_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint64_t kLeastShare = uint64_t{512} << 10;
constexpr Key kKeys = 1000;
constexpr uint32_t kWrites = 1000;  // writes in a record of add(); such a record has 24 KB

const RecoveryRule kByRecord = min_cut(&StreamTail::last_sequence, "RSNe");
const RecoveryRule kByWatermark = min_cut(&StreamTail::last_watermark, "epoch");

class RecoveryMemory : public testing::TestWithParam<ReplayOrder> {
 protected:
  // Adds a transaction that writes its number to all rows. If `changes` has a version, the writes
  // are logged as ranges that change this version.
  static void add(HandWrittenLog& log, uint64_t sequence, uint32_t stream,
                  std::optional<uint64_t> changes = {}) {
    log.add(RecordKind::kTransaction, sequence, sequence, writes(sequence, changes), stream);
  }
  static std::vector<HandWrittenLog::Write> writes(uint64_t sequence,
                                                   std::optional<uint64_t> changes = {}) {
    std::vector<HandWrittenLog::Write> all;
    for (uint32_t i = 0; i < kWrites; ++i) {
      all.push_back({WriteOp::kUpdate, i, sequence, 0, changes});
    }
    return all;
  }

  // Recovers the log with the smallest memory limit that recovery allows for each stream.
  void replay(const HandWrittenLog& log, const RecoveryRule& rule) {
    Database database;
    Table& table = database.create_table({.name = "rows", .row_bytes = sizeof(Row)});
    const LogFiles files = log.files();
    ASSERT_EQ(files.error, "");
    result_ = recover(database, files, rule, 2, GetParam(), 0, 1);
    EXPECT_EQ(result_.error, "");
    all_bytes_ = 0;
    for (size_t s = 0; s < files.paths.size(); ++s) all_bytes_ += log.bytes(s);
    rows_ = rows_of(table);
  }

  // Expects that all rows have the value `last`, and that `beyond` records lie after the cut.
  void expect(uint64_t last, uint64_t transactions, uint64_t beyond, uint64_t streams) {
    EXPECT_EQ(rows_.size(), last == 0 ? 0 : kKeys);
    for (const auto& [key, value] : rows_) ASSERT_EQ(value, last) << key;
    EXPECT_EQ(result_.transactions, transactions);
    EXPECT_EQ(result_.beyond_cut, beyond);
    EXPECT_LE(result_.most_memory, (streams + 1) * kLeastShare);
    EXPECT_GE(all_bytes_, 4 * (streams + 1) * kLeastShare) << "the log is too short for this test";
  }

  const Watchdog watchdog_{"a recovery in little memory has not ended"};
  RecoveryResult result_;
  uint64_t all_bytes_ = 0;
  std::map<Key, uint64_t> rows_;
};

// In the first log, both streams have equally many records. In the second log, stream 0 has 99 % of
// the records.
TEST_P(RecoveryMemory, OfAStreamThatIsFarAheadIsBounded) {
  for (const uint64_t every : {2, 100}) {
    HandWrittenLog log(2);
    for (uint64_t n = 1; n <= 600; ++n) add(log, n, n % every == 0 ? 1 : 0);
    add(log, 601, 0);
    add(log, 601, 1);
    replay(log, kByRecord);
    expect(601, 602, 0, 2);
  }
}

// All records of the first stream precede all records of the second stream.
TEST_P(RecoveryMemory, OfStreamsThatFollowEachOtherIsBounded) {
  HandWrittenLog log(2);
  for (uint64_t n = 1; n <= 600; ++n) add(log, n, n <= 300 ? 0 : 1);
  add(log, 601, 0);
  replay(log, kByRecord);
  expect(600, 600, 1, 2);
}

// The ranges of each stream change the versions that the previous stream makes. An applier that
// begins with a later stream must keep all ranges of this stream waiting.
TEST_P(RecoveryMemory, OfRangesThatWaitIsBounded) {
  HandWrittenLog log(3);
  add(log, 1, 0);
  for (uint64_t n = 2; n <= 900; ++n) add(log, n, (n - 1) / 300, n - 1);
  for (const uint32_t stream : {0, 1, 2}) log.add(RecordKind::kWatermark, 900, 0, {}, stream);
  replay(log, kByWatermark);
  expect(900, 900, 0, 3);
}

// The only watermark is the last record of the log. So recovery must read to the log's end before
// it knows whether any record survives.
TEST_P(RecoveryMemory, OfALogWithOneWatermarkAtItsEndIsBounded) {
  HandWrittenLog log(2);
  for (uint64_t n = 1; n <= 600; ++n) add(log, n, n % 2);
  for (const uint32_t stream : {0, 1}) log.add(RecordKind::kWatermark, 600, 0, {}, stream);
  replay(log, kByWatermark);
  expect(600, 600, 0, 2);
}

// One stream has lost nearly all its records, so the cut is near the log's beginning. Only few
// records of the other streams are before the cut.
TEST_P(RecoveryMemory, OfALogThatIsCutAtItsBeginningIsBounded) {
  HandWrittenLog log(3);
  for (uint64_t n = 1; n <= 3; ++n) add(log, n, n % 3);
  for (uint64_t n = 4; n <= 800; ++n) add(log, n, n % 2);
  replay(log, kByRecord);
  expect(2, 2, 798, 3);
}

// Recovery knows that the first stream's records survive only after it has read the second stream
// to its end. The records of the first stream have the smallest numbers. So a merge waits for the
// first stream while the queue of the second stream is full.
TEST_P(RecoveryMemory, IsBoundedAndAMergeEndsIfItsNextRecordNeedsAStreamThatIsFull) {
  HandWrittenLog log(2);
  for (uint64_t n = 1; n <= 600; ++n) add(log, n, n <= 10 ? 0 : 1);
  RecoveryRule rule = first_gap();
  rule.cut = [all = log.bytes(1)](const StreamTails& tails) {
    return Cut{.bytes = {tails[1].bytes < all ? 0 : tails[0].bytes, tails[1].bytes}, .why = {}};
  };
  replay(log, rule);
  expect(600, 600, 0, 2);
}

// Each attempt of a transaction logs 24 KB of operations before it fails.
TEST_P(RecoveryMemory, OfAttemptsThatFailedIsFreed) {
  HandWrittenLog log;
  for (uint64_t n = 1; n <= 400; ++n) {
    log.add(RecordKind::kBegin, n, n, {});
    log.add(RecordKind::kOperation, n, n, writes(n));
    log.add(n % 100 == 0 ? RecordKind::kCommit : RecordKind::kVoid, n, n, {});
  }
  replay(log, first_gap());
  expect(400, 4, 0, 1);
  EXPECT_EQ(result_.incomplete, 0u);
}

// A long transaction has operations in many parts of the log. Only these operations stay in memory.
TEST_P(RecoveryMemory, OfATransactionThatIsOpenForLongIsThatOfItsOperations) {
  HandWrittenLog log;
  constexpr uint64_t kOpen = uint64_t{1} << 48;  // a transaction of another worker
  log.add(RecordKind::kBegin, 1, kOpen, {});
  for (uint64_t n = 1; n <= 400; ++n) {
    add(log, n, 0);
    log.add(RecordKind::kOperation, n, kOpen, {{WriteOp::kUpdate, kKeys + n, n}});
  }
  log.add(RecordKind::kCommit, 401, kOpen, {});
  replay(log, first_gap());
  for (uint64_t n = 1; n <= 400; ++n) EXPECT_EQ(rows_[kKeys + n], n);
  std::erase_if(rows_, [](const auto& row) { return row.first > kKeys; });
  expect(400, 401, 0, 1);
}

// After each record of a stream comes a sync record with the tails of both streams.
TEST_P(RecoveryMemory, OfWatermarksThatWereMetIsFreed) {
  HandWrittenLog log(2);
  for (uint64_t n = 1; n <= 600; ++n) {
    const uint32_t stream = n % 2;
    add(log, n, stream);
    std::vector<uint64_t> tails = {log.bytes(0), log.bytes(1)};
    tails[stream] += sizeof(RecordHeader) + 2 * sizeof(uint64_t);
    log.add_watermark(n, tails, stream);
  }
  RecoveryRule rule = last_met_cut("sync record");
  size_t most = 0;  // batches of watermarks in memory; the log has more than 200
  rule.cut = [&most, cut = rule.cut](const StreamTails& tails) {
    size_t kept = 0;
    for (const StreamTail& tail : tails) kept += tail.watermarks.size();
    most = std::max(most, kept);
    return cut(tails);
  };
  replay(log, rule);
  expect(600, 600, 0, 2);
  EXPECT_LE(most, 20u);
}

// One record is longer than a stream's memory limit.
TEST_P(RecoveryMemory, IsEnoughForALongRecord) {
  HandWrittenLog log;
  std::vector<HandWrittenLog::Write> many;
  for (uint32_t i = 0; i < 60'000; ++i) many.push_back({WriteOp::kUpdate, i % kKeys, 300});
  for (uint64_t n = 1; n < 300; ++n) add(log, n, 0);
  log.add(RecordKind::kTransaction, 300, 300, many);
  replay(log, first_gap());
  EXPECT_EQ(result_.transactions, 300u);
  for (const auto& [key, value] : rows_) ASSERT_EQ(value, 300u) << key;
  EXPECT_LE(result_.most_memory, 2 * kLeastShare + 60'000 * 24 + 100);
}

INSTANTIATE_TEST_SUITE_P(All, RecoveryMemory,
                         testing::Values(ReplayOrder::kParallel, ReplayOrder::kMerged),
                         [](const auto& info) {
                           return info.param == ReplayOrder::kMerged ? "merged" : "parallel";
                         });

TEST(RecoveryShare, OfManyStreamsFitsIntoTheMemory) {
  for (const size_t streams : {1, 8, 256}) {
    for (const uint32_t appliers : {1, 64}) {
      const StreamShare share = share_of_stream(kRecoveryBytes, streams, appliers);
      EXPECT_LE(streams * (share.most_held_bytes + 5 * share.window_bytes) +
                    appliers * 2 * share.window_bytes + share.most_waiting_bytes,
                kRecoveryBytes);
      EXPECT_GE(share.most_held_bytes, 2 * share.window_bytes);
    }
  }
}

}  // namespace
}  // namespace logjam
