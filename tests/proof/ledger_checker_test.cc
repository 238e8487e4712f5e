// Hand-made histories with one violation each. The checker must find and name the violation.
#include <gtest/gtest.h>

#include <functional>

#include "proof/ledger/checker.h"
#include "tests/proof/ledger_world.h"

namespace logjam::ledger {
namespace {

TEST(LedgerChecker, AGoodHistoryPasses) {
  World world;
  world.run(0, {1, 2}, {1, 3});
  world.run(1, {1}, {3});
  world.run(2, {3, 1}, {});
  world.run(0, {}, {1, 2}, kThere);
  world.run(1, {2}, {4}, kThere);
  world.run(2, {4}, {1}, kLost);
  world.run(2, {7}, {}, kLost);
  world.toggle(5, world.id(0));
  world.toggle(6, world.id(1));
  world.toggle(6, world.id(2));
  const CheckResult result = world.check();
  EXPECT_TRUE(result.passed) << result.violation;
  EXPECT_EQ(result.recorded, 10u);
  EXPECT_EQ(result.acknowledged, 6u);
  EXPECT_EQ(result.recovered, 7u);
  EXPECT_GT(result.edges, 5u);
}

TEST(LedgerChecker, FindsALostAcknowledgedTransaction) {
  World world;
  world.run(0, {}, {3});
  world.make(1, {}, {{3, make_id(0, 1)}});
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of ledger key 3 over 0:1 is not there, 0:1 "
      "wrote last");
}

TEST(LedgerChecker, AnUnsafeRunMayLoseTransactions) {
  World world("--commit=async");
  world.run(0, {}, {3});
  world.make(1, {}, {{3, make_id(0, 1)}});
  world.make(2, {{3, make_id(1, 1)}}, {});
  world.expect("");
  EXPECT_NE(world.check().summary().find("UNSAFE (--commit=async)"), std::string::npos);
  world.history().record_end();  // a run that ended by itself may lose nothing
  EXPECT_FALSE(world.check().passed);
}

TEST(LedgerChecker, FindsAnAcknowledgedReaderOfALostWrite) {
  World world;
  const TransactionId lost = world.run(0, {}, {3}, kLost);
  world.make(1, {{3, lost}}, {});
  world.expect(
      "R1: 1:1 was acknowledged, but the write of ledger key 3 by 0:1 that it read is not");
}

TEST(LedgerChecker, FindsATornTransaction) {
  World world;
  const TransactionId torn = world.make(0, {}, {{1, 0}, {2, 0}}, kThere);
  world.write(1, torn);
  world.expect(
      "R2: 0:1 is torn: its write of ledger key 1 is there, its write of ledger key 2 over the "
      "initial load is not there, the initial load wrote last");
}

TEST(LedgerChecker, FindsAForkInAChain) {
  World world;
  world.run(0, {}, {5});
  const TransactionId fork = world.make(1, {}, {{4, 0}, {5, 0}});
  world.write(4, fork);
  world.expect(
      "R2: 1:1 is torn: its write of ledger key 4 is there, its write of ledger key 5 over the "
      "initial load is not there, 0:1 overwrote the same (fork)");
}

TEST(LedgerChecker, FindsARecoveredReaderOfALostWrite) {
  World world;
  const TransactionId lost = world.run(0, {}, {3}, kLost);
  const TransactionId reader = world.make(1, {{3, lost}}, {{4, 0}}, kThere);
  world.write(4, reader);
  world.expect("R4: 1:1 is there, but the write of ledger key 3 by 0:1 that it read is not");
}

TEST(LedgerChecker, FindsAReaderOfAnAbortedAttempt) {
  World world;
  const TransactionId reader = world.make(1, {{3, make_id(0, 77)}}, {{4, 0}}, kThere);
  world.write(4, reader);
  world.expect("R4: 1:1 is there, but the write of ledger key 3 by 0:77 that it read is not");
}

TEST(LedgerChecker, FindsAnUnknownWriter) {
  World world;
  world.write(2, make_id(1, 9));
  world.expect("R3: ledger key 2 was last written by 1:9, which the history does not know");
}

TEST(LedgerChecker, FindsAWriterOfAnotherKey) {
  World world;
  world.make(0, {}, {{1, 0}}, kThere);
  world.write(2, make_id(0, 1));
  world.expect("R3: ledger key 2 was last written by 0:1, which never wrote that key");
}

TEST(LedgerChecker, FindsAMissingLinkInAChain) {
  World world;
  const TransactionId last = world.make(0, {}, {{1, make_id(2, 40)}});
  world.row(1).writer = make_id(2, 40);
  world.write(1, last);
  world.expect(
      "R3: in the chain of ledger key 1, 0:1 overwrote 2:40, which the history does not know");
}

TEST(LedgerChecker, FindsAnOlderWriteAppliedLast) {
  World world;
  const TransactionId older = world.run(0, {}, {1});
  world.run(1, {}, {1});
  world.row(1).writer = older;
  world.row(1).overwritten = 0;
  world.row(1).seal(1);
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of ledger key 1 over 0:1 is not there, 0:1 "
      "wrote last");
}

TEST(LedgerChecker, FindsARowThatContradictsTheHistory) {
  World world;
  world.run(0, {}, {1});
  world.run(1, {}, {1});
  world.row(1).overwritten = 0;
  world.row(1).seal(1);
  world.expect(
      "R3: ledger key 1 says that 1:1 overwrote the initial load, but it recorded that it "
      "overwrote 0:1");
}

// The row has the contents that a replay of two commands in the wrong order would leave.
TEST(LedgerChecker, FindsARowNotMadeFromTheReadsOfItsWriters) {
  World world;
  world.run(0, {}, {1});
  world.run(1, {1}, {2});
  world.run(0, {3}, {2});
  world.row(2).seen = LedgerRow::remember(0, 1, 0);
  world.row(2).remember(3, 0);
  world.row(2).seal(2);
  world.expect(
      "R3: ledger key 2, last written by 0:2, is not what its 2 writers made of what they had "
      "read");
}

TEST(LedgerChecker, FindsALoopInAChain) {
  World world;
  const TransactionId a = world.id(0), b = world.id(1);
  world.record(a, {}, {{1, b}});
  world.record(b, {}, {{1, a}});
  world.row(1).writer = b;
  world.write(1, a);
  world.expect(
      "R3: in the chain of ledger key 1, 1:1 overwrote 0:1, which is in that chain already: a "
      "loop");
}

TEST(LedgerChecker, FindsATornRow) {
  World world;
  world.run(0, {}, {1});
  world.row(1).filler[5] ^= 1;
  world.expect("R2: the row of ledger key 1, by 0:1, is torn");
}

TEST(LedgerChecker, FindsAMissingRow) {
  World world;
  world.rows().ledger.pop_back();
  world.expect("R1: the ledger has 7 rows instead of 8");
}

TEST(LedgerChecker, AHistoryOfMoreKeysThanMemoryHolds) {
  World world;
  History history = open_history(world.path());
  history.keys.ledger = uint64_t{1} << 60;
  EXPECT_EQ(check(world.rows(), history).violation,
            "R1: the ledger has 8 rows instead of 1152921504606846976");
}

TEST(LedgerChecker, FindsWriteSkew) {
  World world;
  const TransactionId a = world.id(0), b = world.id(1);
  world.record(a, {{1, 0}, {2, 0}}, {{1, 0}});
  world.record(b, {{1, 0}, {2, 0}}, {{2, 0}}, kThere);
  world.write(1, a);
  world.write(2, b);
  world.expect(
      "not serializable: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at ledger key "
      "1, 1:1 overwrote what 0:1 had read at ledger key 2");
}

// Snapshot isolation allows a cycle only if it has two read-write precedences in a row.
TEST(LedgerChecker, KnowsWhatSnapshotsAllow) {
  World write_skew("", false);
  const TransactionId a = write_skew.id(0), b = write_skew.id(1);
  write_skew.record(a, {{1, 0}, {2, 0}}, {{1, 0}});
  write_skew.record(b, {{1, 0}, {2, 0}}, {{2, 0}}, kThere);
  write_skew.write(1, a);
  write_skew.write(2, b);
  write_skew.expect("");

  World read_skew("", false);
  const TransactionId writer = read_skew.run(0, {}, {1, 3});
  read_skew.write(2, read_skew.make(1, {{1, writer}, {3, 0}}, {{2, 0}}));
  read_skew.expect(
      "not isolated by snapshots: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at "
      "ledger key 3, 1:1 read 0:1 at ledger key 1");

  World lost("", false);  // an update
  lost.run(0, {}, {1});
  const TransactionId stale = lost.make(1, {{1, 0}}, {{1, make_id(0, 1)}});
  lost.write(1, stale);
  EXPECT_FALSE(lost.check().passed);
}

// A read-only transaction sees the second of two transactions, but not the first. The history is
// correct if the reader was not acknowledged.
TEST(LedgerChecker, FindsAReadOnlyAnomaly) {
  for (const Fate fate : {kLost, kAcknowledged}) {
    World world;
    world.run(0, {}, {1});
    const TransactionId second = world.run(1, {1}, {2});
    world.make(2, {{1, 0}, {2, second}}, {}, fate);
    const CheckResult result = world.check();
    EXPECT_EQ(result.passed, fate == kLost) << result.violation;
    if (result.passed) continue;
    for (const char* part :
         {"not serializable: a cycle of 3 transactions: ", "1:1 read 0:1 at ledger key 1",
          "2:1 read 1:1 at ledger key 2", "0:1 overwrote what 2:1 had read at ledger key 1"}) {
      EXPECT_NE(result.violation.find(part), std::string::npos) << result.violation;
    }
  }
}

TEST(LedgerChecker, FindsAStaleReadBeforeAnUpdate) {
  World world;
  world.run(0, {}, {1});
  const TransactionId stale = world.make(1, {{1, 0}}, {{1, make_id(0, 1)}});
  world.write(1, stale);
  world.expect(
      "not serializable: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at ledger key "
      "1, 1:1 overwrote 0:1 at ledger key 1");
}

TEST(LedgerChecker, FindsAPhantomThatACommittedReaderSaw) {
  for (const Fate fate : {kLost, kAcknowledged}) {
    World world;
    Attempt audit;
    audit.clear(world.id(2));
    audit.reads = {{4, 0}};
    audit.complain(Mismatch::kUnexpected, 4);
    world.record(audit, fate);
    if (fate == kLost) {
      world.expect("");
    } else {
      world.expect(
          "not serializable: 2:1 committed having seen, at ledger key 4, an entry where its row "
          "says there is none (phantom)");
    }
  }
}

TEST(LedgerChecker, FindsEntriesThatDisagreeWithTheLedger) {
  const auto expect = [](const std::function<void(World&)>& damage, const std::string& sentence) {
    World world;
    world.toggle(2, world.id(0));
    world.toggle(3, world.id(1));
    world.expect("");
    damage(world);
    world.expect(sentence);
  };
  expect([](World& world) { world.rows().entries.erase(world.rows().entries.begin()); },
         "R2: ledger key 2 (by 0:1, toggled by 0:1) should have an entry and has none");
  expect([](World& world) { world.rows().entries[0].second.writer = make_id(2, 5); },
         "R2: ledger key 2 (by 0:1, toggled by 0:1) has an entry that it was not written with, by "
         "2:5");
  expect(
      [](World& world) {
        const auto entry = world.rows().entries[0];
        world.toggle(2, world.id(0));
        world.rows().entries.insert(world.rows().entries.begin(), entry);
      },
      "R2: ledger key 2 (by 0:2, toggled by 0:2) should have no entry and has one, by 0:1");
  expect([](World& world) { world.rows().entries.emplace_back(entry_key(kKeys, 0), EntryRow{}); },
         "R2: there is an entry for ledger key 8, which does not exist");
}

TEST(LedgerChecker, ACleanEndRequiresEveryCommitToBeAcknowledged) {
  World world;
  world.run(0, {}, {1});
  world.run(1, {}, {1}, kThere);
  world.expect("");
  world.history().record_end();
  world.expect("the run ended by itself, yet 1:1 is there and was never acknowledged");
}

}  // namespace
}  // namespace logjam::ledger
