// Recovery of hand-written logs: which records are applied, in which order, and which are skipped
// or refused.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/recovery/recover.h"
#include "engine/storage/database.h"
#include "tests/engine/hand_written_log.h"

namespace logjam {
namespace {

Key group_of(Key, const std::byte* row) { return reinterpret_cast<const Row*>(row)->value / 100; }

class Recovery : public testing::Test {
 protected:
  Recovery() {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(Row);
    schema.secondaries = {{.name = "by_group", .key_of = group_of}};
    Table& table = database_.create_table(schema);
    for (Key key = 1; key <= 3; ++key) {
      const Row row{key * 100};
      table.load(key, &row, arena_);
    }
  }

  RecoveryResult replay(const HandWrittenLog& log, const RecoveryRule& rule = first_gap()) {
    const LogFiles files = log.files();
    EXPECT_EQ(files.error, "");
    return recover(database_, files, rule, 2);
  }

  std::map<Key, uint64_t> rows() {
    std::map<Key, uint64_t> found;
    database_.tables()[0]->for_each_row(
        [&](Key key, const std::byte* row) { std::memcpy(&found[key], row, sizeof(uint64_t)); });
    return found;
  }

  // The keys that the secondary index has for `group`.
  std::vector<Key> keys_of(Key group) {
    std::vector<Key> keys;
    database_.tables()[0]->secondary(0).find_all(
        group, [&](NodeVersion, std::span<Keyed* const> entries) {
          for (Keyed* entry : entries) keys.push_back(static_cast<Posting*>(entry)->primary);
          return true;
        });
    std::ranges::sort(keys);
    return keys;
  }

  using Rows = std::map<Key, uint64_t>;
  Database database_;
  Arena arena_;
};

TEST_F(Recovery, AppliesUpdatesInsertsAndErases) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1,
          {{WriteOp::kUpdate, 1, 11}, {WriteOp::kInsert, 7, 77}, {WriteOp::kErase, 2}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 11}, {3, 300}, {7, 77}}));
}

TEST_F(Recovery, TheLargestSequenceNumberWinsInAnyOrder) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 30, 1, {{WriteOp::kErase, 1}, {WriteOp::kUpdate, 2, 30}});
  log.add(RecordKind::kTransaction, 20, 2, {{WriteOp::kUpdate, 1, 20}, {WriteOp::kUpdate, 2, 20}});
  log.add(RecordKind::kTransaction, 10, 3, {{WriteOp::kInsert, 9, 10}});
  log.add(RecordKind::kTransaction, 40, 4, {{WriteOp::kErase, 9}});
  log.add(RecordKind::kTransaction, 15, 5, {{WriteOp::kInsert, 9, 15}});
  replay(log);
  EXPECT_EQ(rows(), (Rows{{2, 30}, {3, 300}}));
}

// The erase leaves an absent tuple, whose number keeps the older insert out.
TEST_F(Recovery, AnEraseOfAnUnseenKeyWinsOverItsOlderInsert) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 40, 1, {{WriteOp::kErase, 9}});
  log.add(RecordKind::kTransaction, 15, 2, {{WriteOp::kInsert, 9, 15}});
  replay(log);
  EXPECT_EQ(rows(), (Rows{{1, 100}, {2, 200}, {3, 300}}));
}

TEST_F(Recovery, TheSecondaryIndexFindsRecoveredRows) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1,
          {{WriteOp::kInsert, 7, 770}, {WriteOp::kUpdate, 1, 720}});
  replay(log);
  EXPECT_EQ(keys_of(7), (std::vector<Key>{1, 7}));
}

// The cut is where the third record begins.
TEST_F(Recovery, ARecordThatStartsExactlyAtTheCutDoesNotSurvive) {
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

TEST_F(Recovery, OperationsCountOnlyWithTheirCommit) {
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

// The commit's number counts: another transaction's write may have a number between the two.
TEST_F(Recovery, AnOperationHasTheNumberOfItsCommit) {
  HandWrittenLog log;
  log.add(RecordKind::kBegin, 1, 1, {});
  log.add(RecordKind::kOperation, 2, 1, {{WriteOp::kUpdate, 1, 11}});
  log.add(RecordKind::kTransaction, 3, 2, {{WriteOp::kUpdate, 1, 33}});
  log.add(RecordKind::kCommit, 4, 1, {});
  replay(log);
  EXPECT_EQ(rows().at(1), 11u);
}

// The checksum of such a record may be right: a later format may have the kind, with a meaning that
// this reader does not know.
TEST_F(Recovery, ARecordOfAnUnknownKindEndsTheLog) {
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

TEST_F(Recovery, VoidRecordsAreSkipped) {
  HandWrittenLog log;
  log.add(RecordKind::kVoid, 1, 1, {});
  log.add(RecordKind::kVoid, 3, 3, {{WriteOp::kUpdate, 1, 33}});  // whatever its body
  log.add(RecordKind::kTransaction, 2, 2, {{WriteOp::kUpdate, 1, 11}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(rows().at(1), 11u);
}

TEST_F(Recovery, ARecordForAnUnknownTableIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11, 5}});
  EXPECT_NE(replay(log).error.find("table 5"), std::string::npos);
}

// Two streams, of which the second decides that all of the first is used.
struct LogOfTwoStreams : HandWrittenLog {
  LogOfTwoStreams() : HandWrittenLog(2) {
    add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11}}, 0);
    add(RecordKind::kWatermark, 1, 0, {}, 1);
  }
};
const RecoveryRule kRsne = min_cut(&StreamTail::last_sequence, "RSNe");

TEST_F(Recovery, FailsIfTheFileOfAStreamIsMissing) {
  const LogOfTwoStreams log;
  LogFiles files = log.files();
  files.paths[1][0] += ".gone";
  for (const auto order : {ReplayOrder::kParallel, ReplayOrder::kMerged}) {
    const RecoveryResult result = recover(database_, files, kRsne, 2, order);
    EXPECT_EQ(result.error,
              "cannot open the log file " + files.paths[1][0] + ": No such file or directory");
    EXPECT_EQ(result.transactions, 0u);
  }
  EXPECT_EQ(replay(log, kRsne).error, "");
  EXPECT_EQ(rows().at(1), 11u);
}

// A log from elsewhere may have any number. Those of the first kind would set the bits of a row's
// version by which threads lock it.
TEST_F(Recovery, ANumberThatNoRowCanHaveIsAnError) {
  for (const uint64_t number : {Version::kLocked | 7, Version::kAbsent | 7, ~uint64_t{0}}) {
    HandWrittenLog log;
    log.add(RecordKind::kTransaction, number, 1, {{WriteOp::kUpdate, 1, 11}});
    log.add(RecordKind::kTransaction, number, 1, {{WriteOp::kUpdate, 1, 12}});
    EXPECT_EQ(replay(log).error, "a record with a valid checksum contradicts itself");
  }
}

TEST_F(Recovery, ALogWithMoreStreamsThanItsSchemeHasIsAnError) {
  HandWrittenLog log(2);
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kUpdate, 1, 11}}, 1);
  EXPECT_EQ(replay(log).error, "the log has 2 stream(s), and no log of its scheme has that number");
  EXPECT_EQ(replay(log, kRsne).error, "");
}

// While this object lives, the process may open only `more` further files.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST_F(Recovery, FailsIfAStreamCannotBeOpenedForLackOfFileDescriptors) {
  const LogOfTwoStreams log;
  const LogFiles files = log.files();
  for (const rlim_t more : {0, 1}) {
    const FewFiles few(more);
    EXPECT_EQ(recover(database_, files, kRsne, 2).error,
              "cannot open the log file " + files.paths[more][0] + ": Too many open files");
  }
}

}  // namespace
}  // namespace logjam
