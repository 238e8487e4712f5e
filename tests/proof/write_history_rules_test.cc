// The rules of the history of writes (proof/history/with_history.h), in hand-made histories and
// databases: torn transactions, sets that are not closed, lost updates, and correct histories.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>

#include "engine/storage/database.h"
#include "proof/history/history_files.h"
#include "proof/history/with_history.h"
#include "tests/temporary_directory.h"

namespace logjam::write_history {
namespace {

constexpr uint64_t kAbsent = 0;  // the row does not exist

class Rules : public testing::Test {
 protected:
  Rules() { writer_->keep(); }

  // A change of row `key` from the value `from` to the value `to`. The value 0 stands for no row.
  struct Change {
    Key key;
    uint64_t from, to;
    bool blind = false;
  };

  // Sets the rows. A row that is not mentioned is absent.
  void rows(std::initializer_list<std::pair<Key, uint64_t>> values) {
    for (const auto& [key, value] : values) table_.load(key, &value, arena_);
  }

  TransactionId commit(uint32_t worker, std::initializer_list<Change> changes,
                       bool acknowledged = true) {
    HistoryArea& area = writer_->area(worker);
    auto* header = reinterpret_cast<WritesHeader*>(area.next_payload());
    *header = {0, static_cast<uint32_t>(changes.size())};
    auto* write = reinterpret_cast<RecordedWrite*>(header + 1);
    for (const Change& change : changes) {
      const bool looked = change.from == kAbsent || (!change.blind && change.to != kAbsent);
      *write++ = {change.key,
                  order_->next(0, change.key),
                  looked ? hash(change.from) : kUnknownRow,
                  hash(change.to),
                  0,
                  0};
    }
    const TransactionId id = make_id(worker, ++count_);
    area.intend(id, sizeof(WritesHeader) + changes.size() * sizeof(RecordedWrite));
    if (acknowledged) area.acknowledge(id);
    return id;
  }

  std::string violation() {
    const Check check = check_history(database_, path_, "made", {"change"});
    return check.passed ? "" : check.detail;
  }
  static constexpr bool kCommitted = false;  // committed, but not acknowledged

  // Starts another life. The previous life ended by itself if `ended`, and otherwise was killed.
  void next_life(bool ended = false) {
    const gflags::FlagSaver saver;
    gflags::SetCommandLineOption("history_mb", "1");
    writer_->record_start();
    if (ended) writer_->record_end();
    ++lives_;
    writer_ = start_life(path_, 2, {"made", 1, {}, "", lives_, lives_ - 1}).writer;
    writer_->keep();
    writer_->record_start();
    order_ = std::make_unique<RowOrder>();
  }
  // Replaces the first life by one whose commit policy is unsafe.
  void begin_unsafe() {
    writer_ = std::make_unique<HistoryWriter>(
        path_, 2, 1 << 20, HistoryFileParameters{"made", 1, {}, "asynchronous commit"});
    writer_->keep();
  }

 private:
  static RowHash hash(uint64_t value) {
    return value == kAbsent ? kAbsentRow
                            : hash_of(reinterpret_cast<const std::byte*>(&value), sizeof value);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
  uint32_t lives_ = 1;
  Database database_;
  Table& table_ = database_.create_table({"rows", sizeof(uint64_t)});
  Arena arena_;
  std::unique_ptr<RowOrder> order_ = std::make_unique<RowOrder>();
  std::unique_ptr<HistoryWriter> writer_ =
      std::make_unique<HistoryWriter>(path_, 2, 1 << 20, HistoryFileParameters{"made", 1, {}, ""});
  uint64_t count_ = 0;
};

TEST_F(Rules, WhatIsThereIsThere) {
  rows({{1, 12}, {2, 22}});
  commit(0, {{1, 10, 11}, {3, kAbsent, 31}});
  commit(1, {{2, 20, 22, true}, {1, 11, 12}});
  commit(1, {{3, 31, kAbsent}});
  EXPECT_EQ(violation(), "");
}

TEST_F(Rules, AnAcknowledgedTransactionIsLost) {
  rows({{1, 11}, {2, 20}});
  commit(0, {{1, 10, 11}});
  commit(0, {{2, 20, 21}});
  commit(1, {{3, kAbsent, 31}});
  EXPECT_EQ(violation(),
            "R1: 2 of 3 acknowledged transactions that write are lost (worker 0: 1 change; worker "
            "1: 1 change); the first is 0:2 (change): its write of rows 2 is not, which is as "
            "loaded");
}

TEST_F(Rules, NothingIsThere) {
  rows({{1, 10}});
  commit(0, {{1, 10, 11}});
  EXPECT_EQ(violation(),
            "nothing of the run is there: 1 of 1 acknowledged transactions that write are lost "
            "(worker 0: 1 change); the first is 0:1 (change): its write of rows 1 is not, which is "
            "as loaded");
}

TEST_F(Rules, WhatWasNotAcknowledgedMayBeLost) {
  rows({{1, 11}, {2, 20}});
  commit(0, {{1, 10, 11}});
  commit(1, {{1, 11, 12}, {2, 20, 21}}, kCommitted);
  EXPECT_EQ(violation(), "");
}

TEST_F(Rules, ATransactionIsTorn) {
  rows({{1, 11}, {2, 20}});
  commit(0, {{1, 10, 11}, {2, 20, 21}}, kCommitted);
  EXPECT_EQ(violation(),
            "R2: 0:1 (change) is torn: its write of rows 1 is there, its write of rows 2 is not, "
            "which is as loaded");
}

// The lost transaction did not change the value of row 1, so row 1 does not show the loss.
TEST_F(Rules, ATransactionThatLeavesARowAsItWasIsNotTorn) {
  rows({{1, 10}, {2, 20}, {3, 31}});
  commit(0, {{1, 10, 10}, {2, 20, 21}}, kCommitted);
  commit(1, {{3, 30, 31}});
  EXPECT_EQ(violation(), "");
}

TEST_F(Rules, WhatAnAcknowledgedTransactionHasUpdatedIsThere) {
  rows({{1, 12}, {2, 20}});
  commit(0, {{1, 10, 11}, {2, 20, 21}}, kCommitted);
  commit(1, {{1, 11, 12}});
  EXPECT_EQ(violation(),
            "R4: 1:2 (change) is there, and has updated rows 1 as 0:1 (change) had left it, whose "
            "write of rows 2 is not, which is as loaded");
}

// Both rows of transaction 1:1 were overwritten, so no row shows this transaction. But transaction
// 1:2 depends on it.
TEST_F(Rules, WhatAnAcknowledgedTransactionDependsOnThroughAnotherIsThere) {
  rows({{1, 13}, {2, 22}, {3, 30}});
  commit(0, {{1, 10, 11}, {3, 30, 31}}, kCommitted);
  commit(1, {{1, 11, 12}, {2, 20, 21}}, kCommitted);
  commit(0, {{1, 12, 13, true}}, kCommitted);
  commit(1, {{2, 21, 22}});
  EXPECT_EQ(violation(),
            "R4: 1:2 (change) is there, and has updated rows 1 as 0:1 (change) had left it, whose "
            "write of rows 3 is not, which is as loaded");
}

TEST_F(Rules, WhatWasOverwrittenBlindlyMayBeLost) {
  rows({{1, 12}, {2, 20}});
  commit(0, {{1, 10, 11}, {2, 20, 21}}, kCommitted);
  commit(1, {{1, 11, 12, true}});
  EXPECT_EQ(violation(), "");
}

TEST_F(Rules, AnUpdateWasLostInTheRun) {
  rows({{1, 12}});
  commit(0, {{1, 10, 11}});
  commit(1, {{1, 10, 12}});
  EXPECT_EQ(violation(),
            "lost update: 1:2 (change) changed rows 1 without having seen it as 0:1 (change) had "
            "left it");
}

TEST_F(Rules, ARowCameBackWithoutAnInsert) {
  rows({{1, 10}});
  commit(0, {{1, kAbsent, 11}});
  commit(1, {{1, 11, kAbsent}}, kCommitted);
  EXPECT_EQ(violation(),
            "nothing of the run is there: 1 of 1 acknowledged transactions that write "
            "are lost (worker 0: 1 change); the first is 0:1 (change): its write of "
            "rows 1 is not, which is as loaded");
}

TEST_F(Rules, ARowIsAbsentThatNoTransactionHasErased) {
  rows({{2, 21}});
  commit(0, {{2, 20, 21}});
  commit(1, {{1, 10, 11}}, kCommitted);
  EXPECT_EQ(violation(), "R3: rows 1 is absent, and no transaction has erased it");
}

// Two transactions of different lives change a row from the same value. In one life this would be a
// lost update. Here the earlier transaction was not recovered, so the history is correct.
TEST_F(Rules, ALifeGoesOnWithWhatWasRecovered) {
  rows({{1, 13}, {2, 20}});
  commit(0, {{1, 10, 11}});
  commit(1, {{1, 11, 12}, {2, 20, 21}}, kCommitted);
  next_life();
  commit(0, {{1, 11, 13}});
  EXPECT_EQ(violation(), "");
  next_life();
  commit(0, {{1, 13, 14}, {2, 20, 22}}, kCommitted);
  EXPECT_EQ(violation(), "");
}

TEST_F(Rules, AnAcknowledgedTransactionIsLostBeforeTheNextLife) {
  rows({{1, 12}});
  commit(0, {{1, 10, 11}});
  next_life();
  commit(0, {{1, 10, 12}});
  EXPECT_EQ(violation(),
            "R1: 1 of 2 acknowledged transactions that write are lost (worker 0: 1 change); the "
            "first is 0:1 (change) of life 1: its write of rows 1 is not, which was, when life 2 "
            "wrote it, as loaded");
}

TEST_F(Rules, AnAcknowledgedTransactionIsLostLivesLater) {
  rows({{1, 10}, {2, 22}});
  commit(0, {{1, 10, 11}});
  next_life();
  commit(0, {{2, 20, 21}});
  next_life();
  commit(1, {{2, 21, 22}});
  EXPECT_EQ(violation(),
            "R1: 1 of 3 acknowledged transactions that write are lost (worker 0: 1 change); the "
            "first is 0:1 (change) of life 1: its write of rows 1 is not, which is as loaded");
}

TEST_F(Rules, AnEraseIsLostBeforeARowIsOverwrittenBlindly) {
  rows({{1, 12}});
  commit(0, {{1, kAbsent, 11}});
  commit(0, {{1, 11, kAbsent}});
  next_life();
  commit(1, {{1, 11, 12, true}});
  EXPECT_EQ(violation(),
            "R1: 1 of 3 acknowledged transactions that write are lost (worker 0: 1 change); the "
            "first is 0:2 (change) of life 1: its write of rows 1 is not, which was, when life 2 "
            "wrote it, as 0:1 (change) of life 1 left it");
}

TEST_F(Rules, ATransactionIsTornAtARestart) {
  rows({{1, 12}, {2, 20}});
  commit(0, {{1, 10, 11}, {2, 20, 21}}, kCommitted);
  next_life();
  commit(0, {{1, 11, 12}});
  EXPECT_EQ(violation(),
            "R2: 0:1 (change) of life 1 is torn: its write of rows 1 is there, its write of rows 2 "
            "is not, which is as loaded");
}

// Life 2 began without a transaction of life 1. But after life 2, a write of this transaction is in
// the rows.
TEST_F(Rules, ALostTransactionComesBack) {
  rows({{1, 12}, {2, 21}});
  commit(0, {{1, 10, 11}, {2, 20, 21}}, kCommitted);
  next_life();
  commit(0, {{1, 10, 12}});
  EXPECT_EQ(violation(),
            "R2: 0:1 (change) of life 1 is torn: its write of rows 2 is there, its write of rows 1 "
            "is not, which was, when life 2 wrote it, as loaded");
}

TEST_F(Rules, WhatALaterLifeHasUpdatedIsThere) {
  rows({{1, 13}, {2, 20}});
  commit(0, {{1, 10, 10}, {2, 20, 21}}, kCommitted);
  commit(0, {{1, 10, 11}}, kCommitted);
  next_life();
  commit(1, {{1, 11, 13}});
  EXPECT_EQ(violation(),
            "R4: 0:2 (change) of life 1 is there, and has updated rows 1 as 0:1 (change) of life 1 "
            "had left it, whose write of rows 2 is not, which is as loaded");
}

TEST_F(Rules, ALifeBeganWithARowThatNobodyLeft) {
  rows({{1, 16}});
  commit(0, {{1, 10, 11}}, kCommitted);
  next_life();
  commit(0, {{1, 15, 16}});
  EXPECT_EQ(violation(),
            "R3: rows 1 was, after life 1, as neither the load nor a transaction left it");
}

TEST_F(Rules, OfSeveralLivesOnlyTheUnsafeOneMayLoseWhatItAcknowledged) {
  begin_unsafe();
  rows({{1, 12}, {2, 20}});
  commit(0, {{1, 10, 11}});
  next_life();
  commit(0, {{1, 10, 12}});
  EXPECT_EQ(violation(), "");
  commit(0, {{2, 20, 21}});
  EXPECT_EQ(violation(),
            "R1: 1 of 3 acknowledged transactions that write are lost (worker 0: 1 change); the "
            "first is 0:3 (change) of life 2: its write of rows 2 is not, which is as loaded");
}

TEST_F(Rules, AnUnsafeLifeThatEndedByItselfHasLostNothing) {
  begin_unsafe();
  rows({{1, 12}});
  commit(0, {{1, 10, 11}});
  next_life(true);
  commit(0, {{1, 10, 12}});
  EXPECT_NE(violation(), "");
}

TEST_F(Rules, ALifeThatEndedByItselfHasAcknowledgedAll) {
  rows({{1, 11}});
  commit(0, {{1, 10, 11}}, kCommitted);
  next_life();
  EXPECT_EQ(violation(), "");
  commit(0, {{2, kAbsent, 21}}, kCommitted);
  next_life(true);
  EXPECT_EQ(violation(), "the run ended by itself, and never acknowledged 0:2 (change) of life 2");
}

}  // namespace
}  // namespace logjam::write_history
