// Hand-made histories of blind writes, inserts and erases. Each has one violation.
#include <gtest/gtest.h>

#include <functional>

#include "proof/ledger/checker.h"
#include "tests/proof/ledger_world.h"

namespace logjam::ledger {
namespace {

TEST(LedgerChecker, AGoodHistoryOfBlindWritesPasses) {
  World world;
  world.change(0, {}, {{Op::kBlind, 4}, {Op::kBlind, 5}});
  world.change(1, {}, {{Op::kBlind, 4}, {Op::kInsert, 1}});
  world.change(2, {1}, {{Op::kUpdate, 4}, {Op::kErase, 1}});
  world.change(0, {}, {{Op::kInsert, 1}}, kThere);
  world.change(1, {}, {{Op::kBlind, 0}, {Op::kErase, 2}}, kThere);
  world.change(2, {}, {{Op::kBlind, 5}}, kLost);
  world.run(2, {cell_key(4), cell_key(2), cell_key(3)}, {1});
  const CheckResult result = world.check();
  EXPECT_TRUE(result.passed) << result.violation;
  EXPECT_EQ(result.recovered, 6u);
}

// Poplar may recover a write-only transaction although the previous writer of its row is lost.
TEST(LedgerChecker, AnUpdateDependsOnABlindWriteAndAnotherBlindWriteDoesNot) {
  for (const Op op : {Op::kBlind, Op::kUpdate}) {
    World world;
    const TransactionId lost =
        world.make(0, {}, {{cell_key(4), 0, Op::kBlind}, {cell_key(5), 0, Op::kBlind}}, kLost);
    world.apply(op, 4, world.make(1, {}, {{cell_key(4), lost, op}}));
    world.expect(op == Op::kBlind ? ""
                                  : "R2: 0:1 is torn: its write of cell 4 is there, its write of "
                                    "cell 5 over the initial load is not there, the initial load "
                                    "wrote last");
  }
}

TEST(LedgerChecker, FindsAnOlderBlindWriteAppliedLast) {
  World one;
  const TransactionId older = one.change(0, {}, {{Op::kBlind, 4}});
  one.change(1, {}, {{Op::kBlind, 4}});
  one.apply(Op::kBlind, 4, older);
  one.expect(
      "R1: 1:1 was acknowledged and is lost: its write of cell 4 over 0:1 is not there, 0:1 wrote "
      "last");
  World two;
  two.change(0, {}, {{Op::kBlind, 4}});
  two.change(1, {}, {{Op::kBlind, 4}, {Op::kBlind, 5}}, kThere);
  two.apply(Op::kBlind, 4, older);
  two.expect(
      "R2: 1:1 is torn: its write of cell 5 is there, its write of cell 4 over 0:1 is not there, "
      "0:1 wrote last");
}

TEST(LedgerChecker, FindsALostBlindWrite) {
  World world;
  world.change(0, {}, {{Op::kBlind, 4}});
  world.change(1, {}, {{Op::kBlind, 4}}, kLost);
  world.expect("");
  world.history().area(1).acknowledge(make_id(1, 1));
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of cell 4 over 0:1 is not there, 0:1 wrote "
      "last");
}

TEST(LedgerChecker, FindsARecoveredReaderOfALostBlindWrite) {
  World world;
  const TransactionId lost = world.change(0, {}, {{Op::kBlind, 4}}, kLost);
  const TransactionId reader = world.make(1, {{cell_key(4), lost}}, {{3, 0}}, kThere);
  world.write(3, reader);
  world.expect("R4: 1:1 is there, but the write of cell 4 by 0:1 that it read is not");
}

// A reader has read from a lost transaction. The reader's own write was overwritten blindly, so no
// row shows this write. But a third transaction, which is recovered, has read the write.
TEST(LedgerChecker, FindsALostTransactionAfterOneThatDoesNotShow) {
  World world;
  const TransactionId lost = world.change(0, {}, {{Op::kBlind, 5}}, kLost);
  const TransactionId hidden =
      world.make(1, {{cell_key(5), lost}}, {{cell_key(4), 0, Op::kBlind}}, kThere);
  const TransactionId reader = world.make(2, {{cell_key(4), hidden}}, {{3, 0}}, kThere);
  world.write(3, reader);
  const TransactionId last = world.make(0, {}, {{cell_key(4), hidden, Op::kBlind}}, kThere);
  world.apply(Op::kBlind, 4, last);
  world.expect(
      "R4: 1:1 must be there, for 2:1 depends on its write of cell 4, but the write of cell 5 by "
      "0:1 that it read is not");
}

// A transaction writes two cells. A second transaction reads the first cell, which is then
// overwritten. The second cell shows that the first transaction is lost.
TEST(LedgerChecker, FindsAReaderOfATransactionThatIsLostElsewhere) {
  for (const Fate fate : {kThere, kAcknowledged}) {
    World world;
    const TransactionId lost =
        world.make(0, {}, {{cell_key(4), 0, Op::kBlind}, {cell_key(5), 0, Op::kBlind}}, kLost);
    const TransactionId reader = world.make(1, {{cell_key(4), lost}}, {{3, 0}}, fate);
    world.write(3, reader);
    const TransactionId last = world.make(2, {}, {{cell_key(4), lost, Op::kBlind}});
    world.apply(Op::kBlind, 4, last);
    world.expect((fate == kThere ? "R4: 1:1 is there" : "R1: 1:1 was acknowledged") +
                 std::string(", but the write of cell 4 by 0:1 that it read is lost with that of "
                             "cell 5 over the initial load is not there, the initial load wrote "
                             "last"));
  }
}

// The log must not treat an insert after an erase as a write-only transaction.
TEST(LedgerChecker, AnInsertDependsOnTheEraseBeforeIt) {
  World world;
  const TransactionId erase =
      world.make(0, {}, {{cell_key(0), 0, Op::kErase}, {cell_key(5), 0, Op::kBlind}}, kLost);
  const TransactionId insert = world.make(1, {}, {{cell_key(0), erase, Op::kInsert}}, kThere);
  world.apply(Op::kInsert, 0, insert);
  world.expect(
      "R4: 1:1 is there, but the write of cell 0 by 0:1 that it depends on is lost with that of "
      "cell 5 over the initial load is not there, the initial load wrote last");
}

// An overwrite or an erase depends on the insert of the row, but not on other overwrites.
TEST(LedgerChecker, AnEraseDependsOnTheInsertOfTheRow) {
  for (const bool insert_is_lost : {false, true}) {
    for (const Op op : {Op::kErase, Op::kBlind}) {
      World world;
      const TransactionId insert = world.id(0), between = world.id(1), last = world.id(2);
      std::vector<Access> inserted{{cell_key(1), 0, Op::kInsert}};
      std::vector<Access> written{{cell_key(1), insert, Op::kBlind}};
      (insert_is_lost ? inserted : written).push_back({cell_key(5), 0, Op::kBlind});
      world.record(insert, {}, inserted, kThere);
      world.record(between, {}, written, kThere);
      world.record(last, {}, {{cell_key(1), between, op}}, kThere);
      world.apply(op, 1, last);
      const CheckResult result = world.check();
      EXPECT_EQ(result.passed, !insert_is_lost) << result.violation;
      EXPECT_EQ(result.violation.find("R4: 2:1 is there, but the write of cell 1 by 0:1"),
                insert_is_lost ? 0u : std::string::npos)
          << result.violation;
    }
  }
}

TEST(LedgerChecker, FindsRowsThatDoNotComeAndGoInTurn) {
  const auto world_with = [](Op first, Op second, const std::string& sentence) {
    World world;
    world.change(0, {}, {{first, 1}});
    world.change(1, {}, {{second, 1}});
    world.expect(sentence);
  };
  world_with(Op::kInsert, Op::kInsert,
             "not serializable: 1:1 inserted the row of cell 1, but 0:1 left one");
  world_with(Op::kErase, Op::kInsert,
             "not serializable: 0:1 erased the row of cell 1, but the initial load left none");
  World world;
  world.change(0, {}, {{Op::kErase, 0}});
  world.change(1, {}, {{Op::kBlind, 0}});
  world.expect("not serializable: 1:1 overwrote the row of cell 0, but 0:1 left none");
}

TEST(LedgerChecker, FindsAWriteThatNeverReachedItsSerializationPoint) {
  World world;
  const TransactionId early = world.make(0, {}, {{cell_key(4), kNotYet, Op::kBlind}}, kThere);
  world.expect("");
  world.apply(Op::kBlind, 4, early);
  world.expect("R3: cell 4 was last written by 0:1, which had not reached its serialization point");
}

TEST(LedgerChecker, FindsACellNotMadeFromTheReadsOfItsWriter) {
  World world;
  world.change(0, {1}, {{Op::kBlind, 4}});
  world.change(1, {1, 2}, {{Op::kBlind, 4}});
  world.expect("");
  world.cell(4).seen = LedgerRow::remember(0, 1, 0);
  world.cell(4).seal(4);
  world.expect("R3: cell 4, last written by 1:1, is not what its writer made of what it had read");
}

TEST(LedgerChecker, FindsSlotsThatDisagreeWithTheirCells) {
  const auto expect = [](const std::function<void(World&)>& damage, const std::string& sentence) {
    World world;
    world.change(0, {}, {{Op::kBlind, 2}, {Op::kErase, 0}});
    damage(world);
    world.expect(sentence);
  };
  expect([](World& world) { world.rows().slots.clear(); },
         "R2: cell 2 (by 0:1) should have a slot's row and has none");
  expect([](World& world) { world.rows().slots[0].second.writer = 0; },
         "R2: cell 2 (by 0:1) has a slot's row by the initial load");
  expect([](World& world) { world.rows().slots[0].second.filler ^= 1; },
         "R2: cell 2 (by 0:1) has a torn slot's row");
  expect(
      [](World& world) {
        world.rows().slots.insert(world.rows().slots.begin(), {0, {}});
      },
      "R2: cell 0 (by 0:1) should have no slot's row and has one, by the initial load");
  expect(
      [](World& world) {
        world.rows().slots.push_back({kCells, {}});
      },
      "R2: there is a row for slot 6, which does not exist");
  expect([](World& world) { world.cell(4).filler[1] ^= 1; },
         "R2: the row of cell 4, by the initial load, is torn");
  expect([](World& world) { world.rows().cells.pop_back(); }, "R1: there are 5 cells instead of 6");
}

TEST(LedgerChecker, FindsWriteSkewAmongBlindWrites) {
  World world;
  const TransactionId a = world.id(0), b = world.id(1);
  world.record(a, {{cell_key(5), 0}}, {{cell_key(4), 0, Op::kBlind}});
  world.record(b, {{cell_key(4), 0}}, {{cell_key(5), 0, Op::kBlind}});
  world.apply(Op::kBlind, 4, a);
  world.apply(Op::kBlind, 5, b);
  world.expect(
      "not serializable: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at cell 4, 1:1 "
      "overwrote what 0:1 had read at cell 5");
}

TEST(LedgerChecker, RefusesAccessesThatTheWorkloadDoesNotMake) {
  const auto refuse = [](Access read, Access write, const std::string& what) {
    World world;
    Attempt attempt;
    attempt.clear(world.id(0));
    attempt.reads = {read};
    attempt.writes = {write};
    world.record(attempt, kThere);
    world.expect("the history is damaged: 0:1 accessed " + what);
  };
  refuse({1, 0}, {2, 0, Op::kBlind}, "ledger key 2, in a way in which none is");
  refuse({1, 0, Op::kErase}, {2, 0, Op::kUpdate}, "ledger key 1, in a way in which none is");
  refuse({1, 0}, {cell_key(4), 0, Op::kInsert}, "cell 4, in a way in which none is");
  refuse({1, 0}, {cell_key(1), 0, Op::kUpdate}, "cell 1, in a way in which none is");
  refuse({1, 0}, {cell_key(6), 0, Op::kBlind}, "cell 6, but there are only 8 and 6 cells");
}

}  // namespace
}  // namespace logjam::ledger
