// Replay of range images: each is applied to the version that it names, in any order of the
// records, once, and a range without its version is an error.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "engine/recovery/recover.h"
#include "engine/storage/database.h"
#include "tests/engine/hand_written_log.h"

namespace logjam {
namespace {

using Write = HandWrittenLog::Write;

// Returns a write that changes one byte of the version `changes`.
Write byte_of(Key key, uint64_t changes, uint16_t offset, uint8_t value) {
  return {WriteOp::kUpdate, key, value, 0, changes, offset, 1};
}

class RangeReplay : public testing::TestWithParam<ReplayOrder> {
 protected:
  RangeReplay() {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(Row);
    schema.secondaries = {{.name = "by_value", .key_of = [](Key, const std::byte* row) {
                             return reinterpret_cast<const Row*>(row)->value;
                           }}};
    table_ = &database_.create_table(schema);
    for (Key key = 1; key <= 3; ++key) {
      const Row row{0};
      table_->load(key, &row, arena_);
    }
  }

  std::string replay(const HandWrittenLog& log) {
    const LogFiles files = log.files();
    EXPECT_EQ(files.error, "");
    const RecoveryRule rule{[](const StreamTails& tails) {
                              Cut cut;
                              for (const StreamTail& tail : tails) cut.bytes.push_back(tail.bytes);
                              return cut;
                            },
                            [](const RecordHeader&, const Cut&) { return true; }};
    const RecoveryResult result = recover(database_, files, rule, 3, GetParam());
    for (Key key = 1; key <= 3; ++key) {
      EXPECT_EQ(tuple(key).lock.load(), 0u) << "a transaction could not lock the row";
    }
    return result.error;
  }

  Tuple& tuple(Key key) { return *Table::tuple_of(table_->primary().find(key, nullptr)); }
  std::map<Key, uint64_t> rows() {
    std::map<Key, uint64_t> found;
    table_->for_each_row(
        [&](Key key, const std::byte* row) { std::memcpy(&found[key], row, sizeof(uint64_t)); });
    return found;
  }

  using Rows = std::map<Key, uint64_t>;
  Database database_;
  Table* table_;
  Arena arena_;
};

TEST_P(RangeReplay, AppliesRangesInAnyOrderOfTheRecords) {
  HandWrittenLog log(2);
  log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 20, 2, 0xcc)}, 0);
  log.add(RecordKind::kTransaction, 40, 4, {byte_of(1, 30, 0, 0xdd)}, 0);
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb)}, 1);
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 0, 0xaa)}, 1);
  EXPECT_EQ(replay(log), "");
  EXPECT_EQ(rows(), (Rows{{1, 0xccbbdd}, {2, 0}, {3, 0}}));
  EXPECT_EQ(tuple(1).load_version(), Version(40, false));
  bool found = false;
  table_->secondary(0).find_all(0xccbbdd, [&](NodeVersion, std::span<Keyed* const> entries) {
    found = !entries.empty();
    return true;
  });
  EXPECT_TRUE(found) << "the secondary index lacks a row that ranges made";
}

// Each write of a row changes one byte of it, or all, or erases it.
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
  EXPECT_EQ(replay(log), "");
  EXPECT_EQ(rows(), expected);
}

TEST_P(RangeReplay, ARangeWithoutItsVersionIsAnError) {
  for (const bool has_others : {false, true}) {
    HandWrittenLog log;
    if (has_others) log.add(RecordKind::kTransaction, 6, 1, {{WriteOp::kUpdate, 1, 5}});
    log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 7, 1, 0xbb)});
    log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 20, 1, 0xcc)});
    EXPECT_EQ(replay(log),
              "2 logged change(s) of rows are of versions that the log lacks, such as version 7 of "
              "row 1 of table rows");
  }
}

TEST_P(RangeReplay, ARangeOfAVersionThatTheRowHasPassedIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kUpdate, 1, 5}});
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 0, 1, 0xbb)});
  EXPECT_NE(replay(log).find("version 0 of row 1"), std::string::npos);
}

TEST_P(RangeReplay, ARangeOfAVersionWithoutARowIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb), byte_of(9, 0, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 10, 1, {{WriteOp::kErase, 1}});
  EXPECT_NE(replay(log).find("2 logged change(s)"), std::string::npos);
  EXPECT_EQ(rows(), (Rows{{2, 0}, {3, 0}}));
}

TEST_P(RangeReplay, TwoRangesOfOneVersionAreAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 0, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 30, 3, {byte_of(1, 0, 1, 0xcc)});
  EXPECT_NE(replay(log).find("1 logged change(s)"), std::string::npos);
}

// A checkpoint may hold any version from its start on.
TEST_P(RangeReplay, RangesThatTheRowHasAlreadyAreSkipped) {
  for (const uint64_t has : {10, 20, 30}) {
    const Row row{has == 10 ? 0x01u : has == 20 ? 0x0201u : 0x030201u};
    tuple(2).version = Version(has, false).word();
    std::memcpy(tuple(2).row(), &row, sizeof row);
    HandWrittenLog log(2);
    log.add(RecordKind::kTransaction, 30, 3, {byte_of(2, 20, 2, 3)}, 0);
    log.add(RecordKind::kTransaction, 10, 1, {byte_of(2, 0, 0, 1)}, 1);
    log.add(RecordKind::kTransaction, 20, 2, {byte_of(2, 10, 1, 2)}, 1);
    EXPECT_EQ(replay(log), "");
    EXPECT_EQ(rows().at(2), 0x030201u) << has;
  }
}

TEST_P(RangeReplay, ARangeIsNotAppliedAfterALaterRowOrErase) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 20, 2, {byte_of(1, 10, 1, 0xbb), byte_of(2, 10, 1, 0xbb)});
  log.add(RecordKind::kTransaction, 30, 3, {{WriteOp::kUpdate, 1, 7}, {WriteOp::kErase, 2}});
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 0, 0xaa), byte_of(2, 0, 0, 0xaa)});
  EXPECT_EQ(replay(log), "");
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
  EXPECT_EQ(replay(log), "");
  EXPECT_EQ(rows().at(1), 0xddcc0000u);
}

TEST_P(RangeReplay, ARangeBeyondTheRowIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1, {byte_of(1, 0, 8, 0xaa)});
  EXPECT_EQ(replay(log), "a record with a valid checksum contradicts itself");
}

INSTANTIATE_TEST_SUITE_P(All, RangeReplay,
                         testing::Values(ReplayOrder::kParallel, ReplayOrder::kMerged),
                         [](const auto& info) {
                           return info.param == ReplayOrder::kMerged ? "merged" : "parallel";
                         });

}  // namespace
}  // namespace logjam
