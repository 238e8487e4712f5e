// Recovery of hand-written logs: the records that it applies, skips or refuses, and their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "engine/recovery/recover.h"
#include "engine/recovery/stream_replay.h"
#include "engine/storage/database.h"
#include "engine/workload.h"
#include "tests/command_error.h"
#include "tests/engine/hand_written_log.h"

namespace logjam {
namespace {

using Write = HandWrittenLog::Write;

class Recovery : public testing::TestWithParam<ReplayOrder> {
 protected:
  Recovery() : table_(create_rows(database_)) {
    for (Key key = 1; key <= 3; ++key) {
      const Row row{key * 100};
      table_.load(key, &row, arena_);
    }
  }
  // In the secondary index, rows are grouped by key / 100.
  static Table& create_rows(Database& database) {
    const auto group_of = [](Key, const std::byte* row) {
      return reinterpret_cast<const Row*>(row)->value / 100;
    };
    return database.create_table({.name = "rows",
                                  .row_bytes = sizeof(Row),
                                  .secondaries = {{.name = "by_group", .key_of = group_of}}});
  }

  RecoveryResult replay(const HandWrittenLog& log, const RecoveryRule& rule = first_gap()) {
    const LogFiles files = log.files();
    EXPECT_EQ(files.error, "");
    return recover(database_, files, rule, 3, GetParam());
  }

  Tuple& tuple(Key key) { return *Table::tuple_of(table_.primary().find(key, nullptr)); }
  using Rows = std::map<Key, uint64_t>;
  Rows rows() { return rows_of(table_); }

  // Returns the keys that the secondary index has for `group`.
  std::vector<Key> keys_of(Key group) {
    std::vector<Key> keys;
    table_.secondary(0).find_all(group, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) keys.push_back(static_cast<Posting*>(entry)->primary);
      return true;
    });
    std::ranges::sort(keys);
    return keys;
  }

  Database database_;
  Table& table_;
  Arena arena_;
};

TEST_P(Recovery, AppliesUpdatesInsertsAndErases) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1,
          {{WriteOp::kUpdate, 1, 11}, {WriteOp::kInsert, 7, 77}, {WriteOp::kErase, 2}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 11}, {3, 300}, {7, 77}}));
  EXPECT_EQ(keys_of(0), (std::vector<Key>{1, 7}));
}

struct WithoutResume : Workload {
  void create_tables(Database&) override {}
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override { return {.description = "mine: 3 rows"}; }
  std::unique_ptr<Client> make_client(Database&, uint32_t, uint32_t, uint64_t) override {
    return nullptr;
  }
  std::vector<Check> verify(Database&) override { return {}; }
};

TEST_P(Recovery, AWorkloadWithoutResumeDoesNotContinueAfterInserts) {
  WithoutResume workload;
  HandWrittenLog updates;
  updates.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kUpdate, 1, 11}, {WriteOp::kErase, 2}});
  replay(updates);
  workload.resume(database_);
  HandWrittenLog inserts;
  inserts.add(RecordKind::kTransaction, 20, 2, {{WriteOp::kInsert, 7, 77}});
  replay(inserts);
  EXPECT_REFUSED(
      workload.resume(database_),
      "^the workload inserts rows and does not define resume\\(\\), so it cannot continue a "
      "log with rows that it inserted into its table rows: mine: 3 rows$");
}

TEST_P(Recovery, TheLargestSequenceNumberWinsInAnyOrder) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 30, 1, {{WriteOp::kErase, 1}, {WriteOp::kUpdate, 2, 30}});
  log.add(RecordKind::kTransaction, 20, 2, {{WriteOp::kUpdate, 1, 20}, {WriteOp::kUpdate, 2, 20}});
  log.add(RecordKind::kTransaction, 10, 3, {{WriteOp::kInsert, 9, 10}});
  log.add(RecordKind::kTransaction, 40, 4, {{WriteOp::kErase, 9}});
  // Each erase leaves an absent tuple with the erase's number, so older inserts have no effect.
  log.add(RecordKind::kTransaction, 15, 5, {{WriteOp::kInsert, 9, 15}});
  log.add(RecordKind::kTransaction, 50, 6, {{WriteOp::kErase, 8}});
  log.add(RecordKind::kTransaction, 16, 7, {{WriteOp::kInsert, 8, 16}});
  replay(log);
  EXPECT_EQ(rows(), (Rows{{2, 30}, {3, 300}}));
}

TEST_P(Recovery, ARecordThatStartsExactlyAtTheCutDoesNotSurvive) {
  HandWrittenLog log;
  for (Key key = 1; key <= 3; ++key) {
    log.add(RecordKind::kTransaction, key, key, {{WriteOp::kUpdate, key, key}});
  }
  constexpr uint64_t each = sizeof(RecordHeader) + sizeof(WriteHeader) + sizeof(Row);
  RecoveryRule rule = first_gap();
  rule.cut = [&](const StreamTails& tails) {
    return Cut{.bytes = {std::min(tails[0].bytes, 2 * each)}, .why = "by the test"};
  };
  const RecoveryResult result = replay(log, rule);
  EXPECT_EQ(result.tails[0].bytes, 3 * each);
  EXPECT_EQ(result.bytes, 2 * each);
  EXPECT_EQ(result.transactions, 2u);
  EXPECT_EQ(result.beyond_cut, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 1}, {2, 2}, {3, 300}}));
}

TEST_P(Recovery, OperationsCountOnlyWithTheirCommit) {
  HandWrittenLog log;
  log.add(RecordKind::kBegin, 1, 1, {});
  log.add(RecordKind::kBegin, 2, 2, {});
  log.add(RecordKind::kOperation, 3, 1, {{WriteOp::kUpdate, 1, 11}});
  log.add(RecordKind::kOperation, 4, 2, {{WriteOp::kUpdate, 3, 33}});
  log.add(RecordKind::kOperation, 5, 1, {{WriteOp::kUpdate, 2, 22}});
  log.add(RecordKind::kCommit, 6, 1, {});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(result.incomplete, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 11}, {2, 22}, {3, 300}}));
}

// The operation has number 2, its commit has number 4, and a write of another transaction has
// number 3. Replay must use 4 for the operation, so the operation is the last write.
TEST_P(Recovery, AnOperationHasTheNumberOfItsCommit) {
  HandWrittenLog log;
  log.add(RecordKind::kBegin, 1, 1, {});
  log.add(RecordKind::kOperation, 2, 1, {{WriteOp::kUpdate, 1, 11}});
  log.add(RecordKind::kTransaction, 3, 2, {{WriteOp::kUpdate, 1, 33}});
  log.add(RecordKind::kCommit, 4, 1, {});
  replay(log);
  EXPECT_EQ(rows().at(1), 11u);
}

// The checksum of such a record may be right: a later version of the format may define the kind.
TEST_P(Recovery, ARecordOfAnUnknownKindEndsTheLog) {
  constexpr auto kUnknown = static_cast<RecordKind>(9);
  static_assert(RecordKind::kCommand < kUnknown);
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11}});
  log.add(kUnknown, 2, 2, {{WriteOp::kUpdate, 2, 22}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(result.tails[0].why,
            "torn, stale or corrupt record at byte " + std::to_string(result.tails[0].bytes));
  EXPECT_EQ(rows(), (Rows{{1, 11}, {2, 200}, {3, 300}}));
}

TEST_P(Recovery, VoidRecordsAreSkipped) {
  HandWrittenLog log;
  log.add(RecordKind::kVoid, 1, 1, {});
  log.add(RecordKind::kVoid, 3, 3, {{WriteOp::kUpdate, 1, 33}});  // replay ignores a void body
  log.add(RecordKind::kTransaction, 2, 2, {{WriteOp::kUpdate, 1, 11}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(rows().at(1), 11u);
}

TEST_P(Recovery, ARecordForAnUnknownTableIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11, 5}});
  EXPECT_NE(replay(log).error.find("table 5"), std::string::npos);
}

// A log of two streams. The end of the second stream decides that the whole first stream is used.
struct LogOfTwoStreams : HandWrittenLog {
  LogOfTwoStreams() : HandWrittenLog(2) {
    add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11}}, 0);
    add(RecordKind::kWatermark, 1, 0, {}, 1);
  }
};
const RecoveryRule kRsne = min_cut(&StreamTail::last_sequence, "RSNe");

TEST_P(Recovery, FailsIfTheFileOfAStreamIsMissing) {
  const LogOfTwoStreams log;
  LogFiles files = log.files();
  files.paths[1][0] += ".gone";
  const RecoveryResult result = recover(database_, files, kRsne, 2, GetParam());
  EXPECT_EQ(result.error,
            "cannot open the log file " + files.paths[1][0] + ": No such file or directory");
  EXPECT_EQ(result.transactions, 0u);
  EXPECT_EQ(replay(log, kRsne).error, "");
  EXPECT_EQ(rows().at(1), 11u);
}

// Some numbers in a damaged log would set the lock bit or the absent bit of a row's version.
TEST_P(Recovery, ANumberThatNoRowCanHaveIsAnError) {
  for (const uint64_t number : {Version::kLocked | 7, Version::kAbsent | 7, ~uint64_t{0}}) {
    HandWrittenLog log;
    log.add(RecordKind::kTransaction, number, 1, {{WriteOp::kUpdate, 1, 11}});
    log.add(RecordKind::kTransaction, number, 1, {{WriteOp::kUpdate, 1, 12}});
    EXPECT_EQ(replay(log).error, "a record with a valid checksum contradicts itself");
  }
}

TEST_P(Recovery, ALogWithMoreStreamsThanItsSchemeHasIsAnError) {
  HandWrittenLog log(2);
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kUpdate, 1, 11}}, 1);
  EXPECT_EQ(replay(log).error, "the log has 2 stream(s), and no log of its scheme has that number");
  EXPECT_EQ(replay(log, kRsne).error, "");
}

// --- ranges ---

// Returns a write that changes one byte of a row. `changes` is the number of the changed version.
Write byte_of(Key key, uint64_t changes, uint16_t offset, uint8_t value) {
  return {WriteOp::kUpdate, key, value, 0, changes, offset, 1};
}

class RangeReplay : public Recovery {
 protected:
  RangeReplay() {
    for (Key key = 1; key <= 3; ++key) std::memset(tuple(key).row(), 0, sizeof(Row));
  }

  std::string error_of(const HandWrittenLog& log) {
    RecoveryRule all = first_gap();
    all.cut = [](const StreamTails& tails) {
      Cut cut;
      for (const StreamTail& tail : tails) cut.bytes.push_back(tail.bytes);
      return cut;
    };
    const std::string error = replay(log, all).error;
    for (Key key = 1; key <= 3; ++key) {
      EXPECT_EQ(tuple(key).lock.load(), 0u) << "a transaction could not lock the row";
    }
    return error;
  }
};

TEST_P(RangeReplay, AppliesRangesInAnyOrderOfTheRecords) {
  HandWrittenLog log(2);
  log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 20, 2, 0xcc)}, 0);
  log.add(RecordKind::kTransaction, 40, 4, {byte_of(1, 30, 0, 0xdd)}, 0);
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb)}, 1);
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 0, 0xaa)}, 1);
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(rows(), (Rows{{1, 0xccbbdd}, {2, 0}, {3, 0}}));
  EXPECT_EQ(tuple(1).load_version(), Version(40, false));
  EXPECT_EQ(keys_of(0xccbbdd / 100), (std::vector<Key>{1})) << "ranges made the row";
}

// Each write changes one byte of a row, replaces the whole row, or erases it.
TEST_P(RangeReplay, GivesTheLastWritesWhateverTheOrderOfTheRecords) {
  constexpr uint32_t kStreams = 3;
  std::mt19937_64 random(GetParam() == ReplayOrder::kMerged ? 1 : 2);
  HandWrittenLog log(kStreams);
  std::map<Key, uint64_t> versions;
  std::map<Key, uint64_t> expected = {{1, 0}, {2, 0}, {3, 0}};
  struct Record {
    uint64_t sequence;
    Write write;
  };
  std::vector<Record> records;
  for (uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    const Key key = 1 + random() % 3;
    const bool present = expected.contains(key);
    Write write{present ? WriteOp::kUpdate : WriteOp::kInsert, key, random()};
    if (present && random() % 20 == 0) {
      write.op = WriteOp::kErase;
      expected.erase(key);
    } else if (present && random() % 20 != 0) {
      const uint64_t offset = random() % 8;
      write = byte_of(key, versions[key], static_cast<uint16_t>(offset),
                      static_cast<uint8_t>(random()));
      expected[key] &= ~(uint64_t{0xff} << 8 * offset);
      expected[key] |= write.value << 8 * offset;
    } else {
      expected[key] = write.value;
    }
    versions[key] = sequence;
    records.push_back({sequence, write});
  }
  std::ranges::shuffle(records, random);
  for (const auto& [sequence, write] : records) {
    log.add(RecordKind::kTransaction, sequence, sequence, {write}, random() % kStreams);
  }
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(rows(), expected);
}

TEST_P(RangeReplay, ARangeWithoutItsVersionIsAnError) {
  for (const bool has_others : {false, true}) {
    HandWrittenLog log;
    if (has_others) log.add(RecordKind::kTransaction, 6, 1, {{WriteOp::kUpdate, 1, 5}});
    log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 7, 1, 0xbb)});
    log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 20, 1, 0xcc)});
    EXPECT_EQ(error_of(log),
              "2 logged change(s) of rows are of versions that the log lacks, such as version 7 of "
              "row 1 of table rows");
  }
}

TEST_P(RangeReplay, ARangeOfAVersionThatTheRowHasPassedIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kUpdate, 1, 5}});
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 0, 1, 0xbb)});
  EXPECT_NE(error_of(log).find("version 0 of row 1"), std::string::npos);
}

TEST_P(RangeReplay, ARangeOfAVersionWithoutARowIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb), byte_of(9, 0, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kErase, 1}});
  EXPECT_NE(error_of(log).find("2 logged change(s)"), std::string::npos);
  EXPECT_EQ(rows(), (Rows{{2, 0}, {3, 0}}));
}

TEST_P(RangeReplay, TwoRangesOfOneVersionAreAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 0, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 0, 1, 0xcc)});
  EXPECT_NE(error_of(log).find("1 logged change(s)"), std::string::npos);
}

// A checkpoint may contain any version that the row has had since the checkpoint's start.
TEST_P(RangeReplay, RangesThatTheRowHasAlreadyAreSkipped) {
  for (const uint64_t has : {10, 20, 30}) {
    const Row row{has == 10 ? 0x01u : has == 20 ? 0x0201u : 0x030201u};
    tuple(2).version = Version(has, false).word();
    std::memcpy(tuple(2).row(), &row, sizeof row);
    HandWrittenLog log(2);
    log.add(RecordKind::kTransaction, 30, 3, {byte_of(2, 20, 2, 3)}, 0);
    log.add(RecordKind::kTransaction, 10, 1, {byte_of(2, 0, 0, 1)}, 1);
    log.add(RecordKind::kTransaction, 20, 2, {byte_of(2, 10, 1, 2)}, 1);
    EXPECT_EQ(error_of(log), "");
    EXPECT_EQ(rows().at(2), 0x030201u) << has;
  }
}

TEST_P(RangeReplay, ARangeIsNotAppliedAfterALaterRowOrErase) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb), byte_of(2, 10, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 30, 3, {{WriteOp::kUpdate, 1, 7}, {WriteOp::kErase, 2}});
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 0, 0xaa), byte_of(2, 0, 0, 0xaa)});
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(rows(), (Rows{{1, 7}, {3, 0}}));
}

TEST_P(RangeReplay, RangesOfAbortedTransactionsAreNotApplied) {
  HandWrittenLog log;
  log.add(RecordKind::kVoid, 10, 1, {byte_of(1, 0, 0, 0xaa)});
  log.add(RecordKind::kBegin, 20, 2, {});
  log.add(RecordKind::kOperation, 21, 2, {byte_of(1, 0, 1, 0xbb)});
  log.add(RecordKind::kVoid, 22, 2, {});
  log.add(RecordKind::kBegin, 30, 3, {});
  log.add(RecordKind::kOperation, 31, 3, {byte_of(1, 0, 2, 0xcc)});
  log.add(RecordKind::kCommit, 32, 3, {});
  log.add(RecordKind::kTransaction, 40, 4, {byte_of(1, 32, 3, 0xdd)});
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(rows().at(1), 0xddcc0000u);
}

TEST_P(RangeReplay, ARangeBeyondTheRowIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 8, 0xaa)});
  EXPECT_EQ(error_of(log), "a record with a valid checksum contradicts itself");
}

constexpr auto kNameOfOrder = [](const auto& info) {
  return info.param == ReplayOrder::kMerged ? "merged" : "parallel";
};
const auto kOrders = testing::Values(ReplayOrder::kParallel, ReplayOrder::kMerged);
INSTANTIATE_TEST_SUITE_P(All, Recovery, kOrders, kNameOfOrder);
INSTANTIATE_TEST_SUITE_P(All, RangeReplay, kOrders, kNameOfOrder);

// During recovery, a stream waits for streams that are less far ahead. A stream that has ended
// reads no more, so no stream may wait for it.
TEST(RecoveryProgress, AStreamDoesNotWaitForOneThatHasEnded) {
  const RecoveryRule rule = first_gap();
  RecoveryProgress progress(rule, 2);
  progress.report_ahead(0, 100);
  progress.report_ahead(1, 50);
  EXPECT_TRUE(progress.others_are_less_ahead(0));
  EXPECT_FALSE(progress.others_are_less_ahead(1));
  progress.report_read(1, StreamTail{}, true);
  EXPECT_FALSE(progress.others_are_less_ahead(0));
}

}  // namespace
}  // namespace logjam
