// Histories of the ledger that span lives: hand-made histories with one violation each, and
// histories of runs that continue with the rows of earlier runs.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "engine/run/run.h"
#include "tests/forwarding_scheme.h"
#include "tests/proof/ledger_world.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

using namespace ledger;

TEST(LedgerLives, EachGoesOnWithWhatWasRecovered) {
  World world;
  world.run(0, {1}, {2});
  world.run(1, {2}, {1, 2}, kLost);
  world.change(0, {}, {{Op::kBlind, 4}, {Op::kInsert, 1}});
  world.change(2, {}, {{Op::kBlind, 4}}, kLost);
  world.next_life();
  world.run(1, {2, cell_key(4)}, {1});
  world.change(1, {}, {{Op::kBlind, 4}, {Op::kErase, 1}});
  world.run(0, {}, {3}, kLost);
  world.next_life();
  world.run(2, {1, 3}, {2});
  const CheckResult result = world.check();
  EXPECT_TRUE(result.passed) << result.violation;
  EXPECT_EQ(result.recorded, 8u);
  EXPECT_EQ(result.recovered, 4u) << "a blind write hides what it has overwritten";
}

TEST(LedgerLives, WhatTheFirstAcknowledgedIsThereAfterTheThird) {
  World world;
  world.make(0, {}, {{1, 0}});
  world.next_life();
  world.run(1, {}, {2});
  world.next_life();
  world.run(1, {}, {1});
  world.expect(
      "R1: 0:1 of life 1 was acknowledged and is lost: its write of ledger key 1 over the initial "
      "load is not there, 1:2 overwrote the same (fork)");
}

// Two lives write one cell blindly. The second life must record that it overwrites the first write.
TEST(LedgerLives, ABlindWriteOverwritesThatOfAnEarlierLife) {
  World world;
  world.change(0, {}, {{Op::kBlind, 4}});
  world.next_life();
  const TransactionId ignorant = world.make(1, {}, {{cell_key(4), 0, Op::kBlind}});
  world.apply(Op::kBlind, 4, ignorant);
  world.expect(
      "R1: 0:1 of life 1 was acknowledged and is lost: its write of cell 4 over the initial load "
      "is not there, 1:1 overwrote the same (fork)");
}

TEST(LedgerLives, NoneReadsWhatAnEarlierOneHasOverwritten) {
  World world;
  world.run(0, {}, {1});
  world.next_life();
  world.make(1, {{1, 0}}, {});
  world.expect(
      "not serializable: 1:1 of life 2 comes before 0:1 of life 1, because 0:1 overwrote what 1:1 "
      "had read at ledger key 1");
}

TEST(LedgerLives, OnlyAnUnsafeOneMayLoseWhatItAcknowledged) {
  World world("asynchronous commit");
  world.make(0, {}, {{1, 0}});
  world.next_life();
  world.run(1, {}, {1});
  const CheckResult result = world.check();
  EXPECT_TRUE(result.passed) << result.violation;
  EXPECT_EQ(result.unsafe, "asynchronous commit");
  world.make(1, {}, {{2, 0}});
  world.expect(
      "R1: 1:2 of life 2 was acknowledged and is lost: its write of ledger key 2 over the initial "
      "load is not there, the initial load wrote last");
}

TEST(LedgerLives, WhatIsReadLaterWasNotLostByAnUnsafeOne) {
  World world("asynchronous commit");
  const TransactionId lost = world.make(0, {}, {{1, 0}, {2, 0}});
  world.next_life();
  world.make(1, {{1, lost}}, {{3, 0}});
  world.write(3, make_id(1, 1));
  EXPECT_FALSE(world.check().passed);
}

TEST(LedgerLives, OneThatEndedByItselfHasAcknowledgedWhatShows) {
  World world;
  world.run(0, {}, {1}, kThere);
  world.next_life();
  world.expect("");
  world.run(0, {}, {2}, kThere);
  world.history().record_end();
  world.next_life();
  world.expect("the run ended by itself, yet 0:2 of life 2 is there and was never acknowledged");
}

TEST(LedgerLives, NoTwoTransactionsHaveTheSameId) {
  World world;
  const TransactionId id = world.run(0, {}, {1});
  world.next_life();
  world.record(id, {}, {{2, 0}});
  world.expect("cannot use the history " + world.path() +
               ": transaction 0:1 of life 2 does not come after 0:1 of life 1");
}

class LedgerLivesRun : public testing::Test {
 protected:
  LedgerLivesRun() {
    flags_.set("history", path_);
    flags_.set("history_mb", 16);
    flags_.set("commit", "pipelined");
    flags_.set("test", "ledger_yield:7,ledger_die_early:1000000");
  }

  // Runs the next life, and expects the checks of all lives to pass.
  void live(uint32_t workers) {
    SCOPED_TRACE("life " + std::to_string(++lives_));
    if (lives_ > 1) {
      workload_ = find_workload("ledger")->make();
      workload_->resume(database_);
    }
    workload_->start_history(workers, {.ordinal = lives_, .after = lives_ - 1});
    workload_->keep_history();
    ForwardingScheme scheme(workers);
    // The run ends after its transactions, long before its time.
    run(*workload_, database_, *find_protocol("occ"), scheme,
        {.threads = workers,
         .seconds = 3600,
         .transactions = 1000,
         .pipeline_depth = 8,
         .pin = false});
    for (const Check& check : workload_->verify(database_)) {
      EXPECT_TRUE(check.passed) << check.detail;
    }
  }

  ScopedFlags flags_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
  Database database_;
  std::unique_ptr<Workload> workload_;
  uint32_t lives_ = 0;
};

// The test sets a row whose last writer belongs to the first life back to the previous writer.
TEST_F(LedgerLivesRun, AreOneHistoryInWhichAWriteOfTheFirstIsMissed) {
  constexpr uint64_t kKeysOfRun = 400;
  flags_.set("ledger", "slots:4,keys:400");
  workload_ = find_workload("ledger")->make();
  load(*workload_, database_, 1);
  live(3);
  flags_.set("ledger", "slots:4,keys:400,theta:2");  // later lives leave some keys alone
  live(1);
  live(4);
  const History history = open_history(path_);
  ASSERT_EQ(history.lives.size(), 3u);
  uint64_t tried = 0;
  for (Key key = 0; key < kKeysOfRun && tried < 5; ++key) {
    Keyed* entry = database_.table("ledger").primary().find(key, nullptr);
    auto* row = reinterpret_cast<LedgerRow*>(Table::tuple_of(entry)->row());
    const uint32_t last = history.find(row->writer), before = history.find(row->overwritten);
    if (last == History::kNone || before == History::kNone) continue;
    const RecordedTransaction& writer = history.transactions[last];
    if (writer.life != 0 || writer.writes.size() != 1 || row->toggler == row->writer) continue;
    const LedgerRow kept = *row;
    row->writer = kept.overwritten;
    for (const Access& write : history.transactions[before].writes) {
      if (write.key == key) row->overwritten = write.writer;
    }
    row->seal(key);
    const CheckResult result = check_history(database_, path_);
    EXPECT_TRUE(result.violation.starts_with("R1: ")) << result.violation;
    if (tried++ == 0) std::cout << result.violation << std::endl;
    *row = kept;
  }
  EXPECT_GT(tried, 0u);
  EXPECT_TRUE(check_history(database_, path_).passed);
}

}  // namespace
}  // namespace logjam
