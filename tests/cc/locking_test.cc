// Who waits, who dies, and what locks are kept for.
#include <gtest/gtest.h>

#include "cc/row_lock.h"
#include "cc/waits_for.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

TEST(RowLockTest, SharedAndExclusive) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  EXPECT_TRUE(lock.try_shared(5, &seen));
  EXPECT_TRUE(lock.try_shared(3, &seen));
  EXPECT_TRUE(lock.try_shared(9, &seen));
  EXPECT_EQ(lock.state().shared(), 3u);
  EXPECT_EQ(lock.state().oldest(), 3u);
  EXPECT_FALSE(lock.try_exclusive(1, &seen));
  EXPECT_EQ(seen.oldest(), 3u);
  EXPECT_FALSE(lock.try_upgrade(&seen));
  lock.release_shared();
  lock.release_shared();
  EXPECT_EQ(lock.state().oldest(), 3u) << "conservative until it is free";
  EXPECT_TRUE(lock.try_upgrade(&seen));
  EXPECT_FALSE(lock.try_shared(1, &seen));
  EXPECT_TRUE(seen.exclusive());
  lock.release_exclusive();
  EXPECT_EQ(word.load(), 0u);
  EXPECT_TRUE(lock.try_exclusive(7, &seen));
  EXPECT_EQ(lock.state().oldest(), 7u);
  lock.release_exclusive();
}

TEST(RowLockTest, SleepersTurnNewReadersAwayUntilItIsFree) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  EXPECT_TRUE(lock.try_shared(5, &seen));
  const uint32_t bed = lock.bed();
  EXPECT_FALSE(lock.try_exclusive(1, &seen));
  lock.sleep(bed, seen);  // nobody wakes it: the time-out does
  EXPECT_TRUE(lock.state().sleepers());
  EXPECT_FALSE(lock.try_shared(9, &seen));
  EXPECT_TRUE(lock.try_upgrade(&seen)) << "a holder may still";
  const uint32_t before = lock.bed();
  lock.release_exclusive();
  EXPECT_NE(lock.bed(), before) << "sleepers were called";
  EXPECT_TRUE(lock.state().free());
}

class WaitDie : public testing::Test {
 protected:
  WaitDie() : world("2pl-waitdie") { world.load_tens(*world.ordered, 20); }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_F(WaitDie, TheOlderWaitsTheYoungerDies) {
  Actor older(world), younger(world);
  younger.add(ordered(), 10, 1);
  older.add(ordered(), 20, 1);
  EXPECT_FALSE(younger.read(ordered(), 20).has_value());
  EXPECT_FALSE(younger.blocked);
  EXPECT_EQ(younger.txn->abort_reason(), AbortReason::kDied);
  EXPECT_TRUE(older.read(ordered(), 10).has_value()) << "the dead left no lock";

  Actor third(world);
  third.add(ordered(), 30, 1);
  older.read(ordered(), 30);
  EXPECT_TRUE(older.blocked) << "waiting for a younger one is allowed";
}

TEST_F(WaitDie, WaitingEndsWhenTheHolderDoes) {
  Actor older(world), younger(world);
  younger.add(ordered(), 10, 41);
  older.context.settle = [&] {
    if (!younger.commit()) throw Blocked();  // waiting for somebody else
  };
  EXPECT_EQ(older.read(ordered(), 10), 42);
  EXPECT_TRUE(older.commit());
}

TEST_F(WaitDie, ARetriedTransactionKeepsItsAge) {
  Actor first(world), second(world), third(world);
  first.add(ordered(), 10, 1);
  EXPECT_EQ(second.add(ordered(), 10, 1), Status::kAbort);
  first.commit();
  third.add(ordered(), 10, 1);
  second.begin(true);
  second.add(ordered(), 10, 1);
  EXPECT_TRUE(second.blocked) << "it is older than the third";
  second.begin(false);
  second.add(ordered(), 10, 1);
  EXPECT_FALSE(second.blocked) << "a new transaction is the youngest";
  EXPECT_EQ(second.txn->abort_reason(), AbortReason::kDied);
}

TEST_F(WaitDie, OnlyTheOldestReaderWaitsToUpgrade) {
  Actor older(world), younger(world);
  older.read(ordered(), 10);
  younger.read(ordered(), 10);
  EXPECT_EQ(younger.add(ordered(), 10, 1), Status::kAbort);
  EXPECT_FALSE(younger.blocked);
  younger.begin(true);
  younger.read(ordered(), 10);
  older.add(ordered(), 10, 1);
  EXPECT_TRUE(older.blocked);
}

TEST_F(WaitDie, AnInsertWaitsForAScannerOrDies) {
  Actor older(world), younger(world);
  older.scan(ordered(), 0, 100);
  EXPECT_EQ(younger.insert(ordered(), 15, 1), Status::kAbort);
  EXPECT_FALSE(younger.blocked);
  EXPECT_EQ(younger.txn->abort_reason(), AbortReason::kDied);
  older.abort();

  Actor scanner(world);
  older.begin(true);
  scanner.scan(ordered(), 0, 100);
  older.context.settle = [&] {
    if (!scanner.commit()) throw Blocked();  // waiting for somebody else
  };
  EXPECT_EQ(older.insert(ordered(), 15, 1), Status::kOk);
  EXPECT_FALSE(scanner.alive);
  EXPECT_TRUE(older.commit());
}

// An older transaction joins the readers while one in between sleeps: it must not go on waiting.
TEST_F(WaitDie, AWaitIsReconsidered) {
  Actor oldest(world), middle(world), youngest(world);
  youngest.read(ordered(), 10);
  int settled = 0;
  middle.context.settle = [&] {
    if (++settled == 1) oldest.read(ordered(), 10);
    if (settled > 3) throw Blocked();
  };
  EXPECT_EQ(middle.add(ordered(), 10, 1), Status::kAbort);
  EXPECT_TRUE(oldest.alive);
  EXPECT_FALSE(middle.blocked);
  EXPECT_EQ(middle.txn->abort_reason(), AbortReason::kDied);
}

// While the oldest waits for the lock of the node it missed in, the row is inserted there.
TEST_F(WaitDie, AMissIsLookedAtAgainBehindTheLock) {
  Actor oldest(world), inserter(world), scanner(world);
  scanner.scan(ordered(), 0, 100);
  oldest.context.settle = [&] {
    if (!scanner.commit()) throw Blocked();
    Actor another(world);
    EXPECT_EQ(another.insert(ordered(), 25, 5), Status::kOk);
    EXPECT_TRUE(another.commit());
  };
  int settled = 0;
  inserter.context.settle = [&] {
    if (++settled == 1) return;  // it sleeps, and from now on new readers of the node are kept out
    EXPECT_EQ(oldest.read(ordered(), 25), 5);
    throw Blocked();
  };
  inserter.insert(ordered(), 15, 1);
  EXPECT_TRUE(inserter.blocked);
  EXPECT_EQ(settled, 2);
  EXPECT_TRUE(oldest.commit());
}

TEST(RowLockTest, SlotsOfItsHolders) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  const Holder first = Holder::of_slot(1, true), second = Holder::of_slot(2, true);
  EXPECT_TRUE(lock.try_shared(first, &seen));
  EXPECT_TRUE(lock.try_shared(second, &seen));
  EXPECT_EQ(lock.state().slots(), 3u);
  lock.release_shared(first);
  EXPECT_EQ(lock.state().slots(), 2u);
  EXPECT_TRUE(lock.try_upgrade(&seen));
  EXPECT_EQ(lock.state().slots(), 2u);
  lock.release_exclusive();
  EXPECT_TRUE(lock.state().free());
  // A worker that may hold it twice is among its holders until it is free.
  const Holder twice = Holder::of_slot(4, false);
  EXPECT_TRUE(lock.try_shared(twice, &seen));
  EXPECT_TRUE(lock.try_shared(twice, &seen));
  EXPECT_TRUE(lock.try_shared(first, &seen));
  lock.release_shared(twice);
  EXPECT_EQ(lock.state().slots(), 5u);
  lock.release_shared(twice);
  lock.release_shared(first);
  EXPECT_TRUE(lock.state().free());
}

TEST(WaitsForTest, CyclesOfAnyLength) {
  WaitsFor graph;
  const auto slot = [](uint32_t worker) { return WaitsFor::slot_of(worker); };
  EXPECT_FALSE(graph.closes_cycle(0, slot(1) | slot(2)));
  EXPECT_FALSE(graph.closes_cycle(1, slot(3)));
  EXPECT_FALSE(graph.closes_cycle(3, slot(4) | slot(44)));
  EXPECT_FALSE(graph.closes_cycle(2, slot(44)));
  EXPECT_TRUE(graph.closes_cycle(44, slot(20) | slot(0)));
  graph.ends(44);
  EXPECT_TRUE(graph.closes_cycle(4, slot(0)));
  graph.ends(4);
  graph.ends(1);
  EXPECT_FALSE(graph.closes_cycle(4, slot(0)));
  EXPECT_TRUE(graph.closes_cycle(44, slot(0))) << "by 2 now";
  EXPECT_FALSE(WaitsFor::may_wait(45));
  EXPECT_FALSE(WaitsFor::may_wait(1000));
  EXPECT_EQ(slot(45), slot(1000));
}

class Detect : public testing::Test {
 protected:
  Detect() : world("2pl-detect") { world.load_tens(*world.ordered, 20); }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_F(Detect, AnybodyWaitsForAnybody) {
  Actor t1(world), t2(world);
  t1.add(ordered(), 10, 41);
  t2.add(ordered(), 20, 41);
  int settled = 0;
  t2.context.settle = [&] {
    ++settled;
    if (!t1.commit()) throw Blocked();
  };
  EXPECT_EQ(t2.read(ordered(), 10), 42);
  EXPECT_EQ(settled, 1);
  Actor t3(world);
  t3.read(ordered(), 20);
  EXPECT_TRUE(t3.blocked);
}

TEST_F(Detect, WhoClosesACycleAborts) {
  Actor t1(world), t2(world), t3(world);
  t1.add(ordered(), 10, 1);
  t2.add(ordered(), 20, 1);
  t3.add(ordered(), 30, 1);
  t1.context.settle = [&] {
    if (!t2.alive) throw Blocked();
    t2.read(ordered(), 30);  // waits for t3, inside
    throw Blocked();
  };
  t2.context.settle = [&] {
    t3.read(ordered(), 10);
    EXPECT_FALSE(t3.blocked) << "it did not wait for itself";
    EXPECT_FALSE(t3.alive);
    EXPECT_EQ(t3.txn->abort_reason(), AbortReason::kDeadlock);
    throw Blocked();
  };
  t1.read(ordered(), 20);
  EXPECT_TRUE(t1.blocked);
  EXPECT_TRUE(t2.blocked);
  EXPECT_FALSE(t3.alive);
  // Nothing is left of it.
  t1.begin();
  t1.context.settle = [] { throw Blocked(); };
  EXPECT_EQ(t1.read(ordered(), 20), 1);
  EXPECT_TRUE(t1.commit());
}

TEST_F(Detect, OfTwoReadersWhoBothUpgradeOneAborts) {
  Actor t1(world), t2(world);
  t1.read(ordered(), 10);
  t2.read(ordered(), 10);
  t1.context.settle = [&] {
    if (t2.alive) {
      EXPECT_EQ(t2.add(ordered(), 10, 1), Status::kAbort);
      EXPECT_FALSE(t2.blocked);
      EXPECT_EQ(t2.txn->abort_reason(), AbortReason::kDeadlock);
    }
  };
  EXPECT_EQ(t1.add(ordered(), 10, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
}

TEST_F(Detect, TwoScannersWhoInsertIntoTheOthersRange) {
  Actor t1(world), t2(world);
  t1.scan(ordered(), 0, 100);
  t2.scan(ordered(), 0, 100);
  t1.context.settle = [&] {
    if (t2.alive) {
      EXPECT_EQ(t2.insert(ordered(), 16, 1), Status::kAbort);
      EXPECT_EQ(t2.txn->abort_reason(), AbortReason::kDeadlock);
    }
  };
  EXPECT_EQ(t1.insert(ordered(), 15, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
}

TEST(NoWait, GivesUpAtOnce) {
  World world("2pl-nowait");
  world.load_tens(*world.ordered, 20);
  Actor t1(world), t2(world), t3(world), t4(world);
  t1.add(*world.ordered, 10, 1);
  t1.scan(*world.ordered, 50, 60);
  EXPECT_FALSE(t2.read(*world.ordered, 10).has_value());
  EXPECT_EQ(t2.txn->abort_reason(), AbortReason::kLockBusy);
  EXPECT_EQ(t3.insert(*world.ordered, 55, 1), Status::kAbort);
  EXPECT_EQ(t3.txn->abort_reason(), AbortReason::kPhantom);
  EXPECT_FALSE(t2.blocked || t3.blocked);
  EXPECT_TRUE(t1.commit());
  EXPECT_TRUE(t4.read(*world.ordered, 10).has_value());
  EXPECT_EQ(t4.insert(*world.ordered, 55, 1), Status::kOk);
  EXPECT_TRUE(t4.commit());
}

// --elr=false: locks are kept until the transaction is durable.
class KeepsLocks : public testing::TestWithParam<std::string> {
 protected:
  KeepsLocks() : world(GetParam(), {}, LogRecords::kTransaction, false) {
    world.load_tens(*world.ordered, 20);
  }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_P(KeepsLocks, UntilReleased) {
  Actor writer(world);
  writer.add(ordered(), 10, 1);
  writer.erase(ordered(), 20);
  writer.insert(ordered(), 25, 5);
  EXPECT_FALSE(writer.txn->holds_locks());
  ASSERT_TRUE(writer.commit());
  EXPECT_TRUE(writer.txn->holds_locks());
  for (const Key key : {10, 20, 25}) {
    Actor reader(world);
    EXPECT_FALSE(reader.read(ordered(), key).has_value());
    EXPECT_FALSE(reader.alive) << "it is not to be seen before it is durable";
    Actor other(world);
    other.set(ordered(), key, 9);
    EXPECT_FALSE(other.commit());
  }
  writer.txn->release_locks();
  EXPECT_FALSE(writer.txn->holds_locks());
  Actor reader(world);
  EXPECT_EQ(reader.read(ordered(), 10), 2);
  EXPECT_FALSE(reader.read(ordered(), 20).has_value());
  EXPECT_EQ(reader.read(ordered(), 25), 5);
  EXPECT_TRUE(reader.commit());
  EXPECT_FALSE(reader.txn->holds_locks()) << "what it read was durable";
  writer.begin();
  EXPECT_EQ(writer.add(ordered(), 10, 1), Status::kOk);
  EXPECT_TRUE(writer.commit());
  writer.txn->release_locks();
  EXPECT_EQ(world.content(ordered()).at(10), 3);
}

// The holder is a parked transaction of the worker that waits.
using WaitsForParked = KeepsLocks;

TEST_P(WaitsForParked, SettlingLetsAWaiterThrough) {
  Actor older(world), parked(world);
  parked.add(ordered(), 10, 41);
  ASSERT_TRUE(parked.commit());
  older.context.settle = [&] {
    if (parked.txn->holds_locks()) parked.txn->release_locks();
  };
  EXPECT_EQ(older.read(ordered(), 10), 42);
  EXPECT_TRUE(older.commit());
}

INSTANTIATE_TEST_SUITE_P(Protocols, KeepsLocks, testing::ValuesIn(protocol_names()),
                         [](const auto& info) { return test_name(info.param); });
INSTANTIATE_TEST_SUITE_P(Protocols, WaitsForParked,
                         testing::Values("occ", "2pl-waitdie", "2pl-detect"),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace logjam
