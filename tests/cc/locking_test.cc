// Row locks, the waits-for graph, and the rules by which the locking protocols wait and abort.
#include <gtest/gtest.h>

#include <array>

#include "cc/row_lock.h"
#include "cc/waits_for.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

TEST(RowLockTest, SharedAndExclusiveExcludeEachOther) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  EXPECT_TRUE(lock.try_shared(5, &seen));
  EXPECT_TRUE(lock.try_shared(3, &seen));
  EXPECT_TRUE(lock.try_shared(9, &seen));
  EXPECT_EQ(lock.state().shared(), 3u);
  EXPECT_EQ(lock.state().oldest_age(), 3u);
  EXPECT_FALSE(lock.try_exclusive(1, &seen));
  EXPECT_EQ(seen.oldest_age(), 3u);
  EXPECT_FALSE(lock.try_upgrade(5, &seen));
  lock.release_shared();
  lock.release_shared();
  EXPECT_EQ(lock.state().oldest_age(), 3u) << "conservative until it is free";
  EXPECT_TRUE(lock.try_upgrade(5, &seen));
  EXPECT_FALSE(lock.try_shared(1, &seen));
  EXPECT_TRUE(seen.exclusive());
  lock.release_exclusive();
  EXPECT_EQ(word.load(), 0u);
  EXPECT_TRUE(lock.try_exclusive(7, &seen));
  EXPECT_EQ(lock.state().oldest_age(), 7u);
  lock.release_exclusive();
}

TEST(RowLockTest, ALockWithSleepersAdmitsNoNewReaders) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  EXPECT_TRUE(lock.try_shared(5, &seen));
  const uint32_t parker = lock.parker();
  EXPECT_FALSE(lock.try_exclusive(1, &seen));
  lock.sleep(parker, seen);  // returns when its time-out has passed
  EXPECT_TRUE(lock.state().no_new_readers());
  EXPECT_FALSE(lock.try_shared(9, &seen));
  EXPECT_TRUE(lock.try_upgrade(5, &seen)) << "a holder may still";
  const uint32_t before = lock.parker();
  lock.release_exclusive();
  EXPECT_NE(lock.parker(), before) << "sleepers were called";
  EXPECT_TRUE(lock.state().free());
}

TEST(RowLockTest, ReadersAreTurnedAwayUntilTheLockIsFree) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  lock.turn_readers_away();
  EXPECT_TRUE(lock.state().free()) << "there is no reader to wait for";
  EXPECT_TRUE(lock.try_shared(5, &seen));
  EXPECT_TRUE(lock.try_shared(6, &seen));
  lock.turn_readers_away();
  EXPECT_FALSE(lock.try_shared(4, &seen));
  lock.release_shared();
  EXPECT_FALSE(lock.try_shared(4, &seen));
  lock.release_shared();
  EXPECT_TRUE(lock.state().free());
  EXPECT_TRUE(lock.try_shared(4, &seen));
}

TEST(RowLockTest, TheLockNamesItsExclusiveHolder) {
  RowLock::Word word{0};
  RowLock lock(word);
  LockState seen;
  const Holder first = Holder::of_worker(0), second = Holder::of_worker(1000);
  EXPECT_TRUE(lock.try_shared(first, &seen));
  EXPECT_TRUE(lock.try_shared(second, &seen));
  EXPECT_EQ(lock.state().writer(), 0u);
  lock.release_shared();
  EXPECT_TRUE(lock.try_upgrade(second, &seen));
  EXPECT_TRUE(lock.state().exclusive());
  EXPECT_EQ(lock.state().shared(), 0u);
  EXPECT_EQ(lock.state().writer(), 1001u);
  lock.release_exclusive();
  EXPECT_TRUE(lock.state().free());
  EXPECT_TRUE(lock.try_exclusive(first, &seen));
  EXPECT_EQ(lock.state().writer(), 1u) << "worker 0";
}

// --- wait-die ---

class WaitDie : public testing::Test {
 protected:
  WaitDie() : world("2pl-waitdie") { world.load_tens(*world.ordered, 20); }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_F(WaitDie, AnOlderTransactionWaitsAndAYoungerAborts) {
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

TEST_F(WaitDie, AWaiterGetsTheLockWhenTheHolderCommits) {
  Actor older(world), younger(world);
  younger.add(ordered(), 10, 41);
  older.context.acknowledge_durable = [&] {
    if (!younger.commit()) throw Blocked();  // the younger has ended, but the older still waits
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

TEST_F(WaitDie, OnlyTheOldestReaderMayWaitForAnUpgrade) {
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

TEST_F(WaitDie, AnInsertWaitsForAYoungerScannerAndAbortsForAnOlder) {
  Actor older(world), younger(world);
  older.scan(ordered(), 0, 100);
  EXPECT_EQ(younger.insert(ordered(), 15, 1), Status::kAbort);
  EXPECT_FALSE(younger.blocked);
  EXPECT_EQ(younger.txn->abort_reason(), AbortReason::kDied);
  older.abort();

  Actor scanner(world);
  older.begin(true);
  scanner.scan(ordered(), 0, 100);
  older.context.acknowledge_durable = [&] {
    if (!scanner.commit()) throw Blocked();  // the scanner has ended, but the older still waits
  };
  EXPECT_EQ(older.insert(ordered(), 15, 1), Status::kOk);
  EXPECT_FALSE(scanner.alive);
  EXPECT_TRUE(older.commit());
}

// While the middle transaction waits for the youngest reader, an older transaction reads the row.
TEST_F(WaitDie, AWaiterAbortsWhenAnOlderTransactionJoinsTheHolders) {
  Actor oldest(world), middle(world), youngest(world);
  youngest.read(ordered(), 10);
  int settled = 0;
  middle.context.acknowledge_durable = [&] {
    if (++settled == 1) oldest.read(ordered(), 10);
    if (settled > 3) throw Blocked();
  };
  EXPECT_EQ(middle.add(ordered(), 10, 1), Status::kAbort);
  EXPECT_TRUE(oldest.alive);
  EXPECT_FALSE(middle.blocked);
  EXPECT_EQ(middle.txn->abort_reason(), AbortReason::kDied);
}

// Readers overlap, so the lock is never free and keeps the age of the first reader. A writer that
// is younger than the first reader, but older than the other readers, must get the lock.
TEST_F(WaitDie, OverlappingReadersDoNotStarveAWriter) {
  const auto expect_a_turn = [&](const std::function<void(Actor&)>& looks,
                                 const std::function<void(Actor&)>& writes) {
    auto reader = std::make_unique<Actor>(world);
    looks(*reader);
    Actor writer(world);
    for (int readers = 0; readers < 100; ++readers) {
      writes(writer);
      if (writer.alive || writer.blocked) return;  // the writer has the lock, or waits for it
      EXPECT_EQ(writer.txn->abort_reason(), AbortReason::kDied);
      auto next = std::make_unique<Actor>(world);
      looks(*next);
      reader->commit();
      reader = std::move(next);
      writer.begin(true);
    }
    ADD_FAILURE() << "a hundred readers came, and the writer died each time";
  };
  {
    SCOPED_TRACE("a row");
    expect_a_turn([&](Actor& t) { t.read(ordered(), 10); },
                  [&](Actor& t) { t.set(ordered(), 10, 5); });
  }
  {
    SCOPED_TRACE("a row that the writer has read");
    expect_a_turn([&](Actor& t) { t.read(ordered(), 20); },
                  [&](Actor& t) {
                    t.read(ordered(), 20);
                    t.set(ordered(), 20, 5);
                  });
  }
  {
    SCOPED_TRACE("an index node");
    expect_a_turn([&](Actor& t) { t.scan(ordered(), 0, 100); },
                  [&](Actor& t) { t.insert(ordered(), 15, 5); });
  }
}

// A writer that aborts for the first time does not prevent readers from taking the lock.
TEST_F(WaitDie, AYoungWriterTurnsNoReaderAway) {
  Actor first(world), writer(world), second(world);
  first.read(ordered(), 10);
  EXPECT_EQ(writer.set(ordered(), 10, 5), Status::kAbort);
  EXPECT_TRUE(second.read(ordered(), 10).has_value());
}

// While the oldest transaction waits for the node's lock, another transaction inserts the key.
TEST_F(WaitDie, AMissIsRepeatedAfterItsNodeIsLocked) {
  Actor oldest(world), inserter(world), scanner(world);
  scanner.scan(ordered(), 0, 100);
  oldest.context.acknowledge_durable = [&] {
    if (!scanner.commit()) throw Blocked();
    Actor another(world);
    EXPECT_EQ(another.insert(ordered(), 25, 5), Status::kOk);
    EXPECT_TRUE(another.commit());
  };
  int settled = 0;
  inserter.context.acknowledge_durable = [&] {
    if (++settled == 1) return;  // the inserter sleeps, so the node admits no new readers
    EXPECT_EQ(oldest.read(ordered(), 25), 5);
    throw Blocked();
  };
  inserter.insert(ordered(), 15, 1);
  EXPECT_TRUE(inserter.blocked);
  EXPECT_EQ(settled, 2);
  EXPECT_TRUE(oldest.commit());
}

// --- the waits-for graph ---

const LockState kShared(LockState::kOneShared);
LockState held_by(uint32_t worker) { return LockState(LockState::kExclusive | (worker + 1)); }

class WaitsForTest : public testing::Test {
 protected:
  WaitsFor graph;
  std::array<RowLock::Word, 2 * WaitsFor::kMostLocks> locks{};
};

TEST_F(WaitsForTest, FindsCyclesOfAnyLength) {
  graph.add_held(2, locks[2]);
  graph.add_held(3, locks[3]);
  graph.add_held(44, locks[2]);
  graph.add_held(44, locks[44]);
  graph.add_held(0, locks[0]);
  EXPECT_FALSE(graph.closes_cycle(0, locks[2], kShared));
  EXPECT_FALSE(graph.closes_cycle(1, locks[3], held_by(3)));
  EXPECT_FALSE(graph.closes_cycle(2, locks[44], held_by(44)));
  EXPECT_TRUE(graph.closes_cycle(44, locks[0], held_by(0)));
  graph.stop_waiting(44);
  EXPECT_FALSE(graph.closes_cycle(3, locks[0], kShared)) << "0 waits for 2, for 44";
  EXPECT_FALSE(graph.closes_cycle(44, locks[1], kShared)) << "nobody holds it";
  EXPECT_TRUE(graph.closes_cycle(44, locks[3], kShared)) << "3, 0, 44 itself";
}

TEST_F(WaitsForTest, AWorkerDoesNotWaitForItsOwnLock) {
  graph.add_held(7, locks[0]);
  EXPECT_FALSE(graph.closes_cycle(7, locks[0], kShared));
  EXPECT_FALSE(graph.closes_cycle(7, locks[0], held_by(7)));
  graph.add_held(8, locks[0]);
  EXPECT_FALSE(graph.closes_cycle(7, locks[0], kShared)) << "8 does not wait";
  EXPECT_TRUE(graph.closes_cycle(8, locks[0], kShared)) << "both upgrade";
}

TEST_F(WaitsForTest, AWorkerWithMoreLocksThanFitHoldsAllOfThem) {
  graph.add_held(1, locks[0]);
  for (uint32_t i = 1; i <= WaitsFor::kMostLocks; ++i) graph.add_held(2, locks[i]);
  EXPECT_FALSE(graph.closes_cycle(1, locks.back(), kShared));
  EXPECT_FALSE(graph.closes_cycle(2, locks[0], kShared));
  EXPECT_TRUE(graph.closes_cycle(1, locks[WaitsFor::kMostLocks], kShared));
  graph.add_held(2, locks[0]);
  graph.add_held(2, locks[0]);
  EXPECT_TRUE(graph.closes_cycle(1, locks.back(), kShared));
  graph.hold_nothing(2);
  EXPECT_FALSE(graph.closes_cycle(1, locks.back(), kShared));
}

class Detect : public testing::Test {
 protected:
  Detect() : world("2pl-detect") { world.load_tens(*world.ordered, 20); }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_F(Detect, ATransactionWaitsRegardlessOfAge) {
  Actor t1(world), t2(world);
  t1.add(ordered(), 10, 41);
  t2.add(ordered(), 20, 41);
  int settled = 0;
  t2.context.acknowledge_durable = [&] {
    ++settled;
    if (!t1.commit()) throw Blocked();
  };
  EXPECT_EQ(t2.read(ordered(), 10), 42);
  EXPECT_EQ(settled, 1);
  Actor t3(world);
  t3.read(ordered(), 20);
  EXPECT_TRUE(t3.blocked);
}

TEST_F(Detect, TheTransactionThatClosesACycleAborts) {
  Actor t1(world), t2(world), t3(world);
  t1.add(ordered(), 10, 1);
  t2.add(ordered(), 20, 1);
  t3.add(ordered(), 30, 1);
  t1.context.acknowledge_durable = [&] {
    if (!t2.alive) throw Blocked();
    t2.read(ordered(), 30);  // waits for t3 while t1 waits for t2
    throw Blocked();
  };
  t2.context.acknowledge_durable = [&] {
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
  // The edge of the aborted wait must not remain in the graph.
  t1.begin();
  t1.context.acknowledge_durable = [] { throw Blocked(); };
  EXPECT_EQ(t1.read(ordered(), 20), 1);
  EXPECT_TRUE(t1.commit());
}

TEST_F(Detect, OneOfTwoUpgradingReadersAborts) {
  Actor t1(world), t2(world);
  t1.read(ordered(), 10);
  t2.read(ordered(), 10);
  t1.context.acknowledge_durable = [&] {
    if (t2.alive) {
      EXPECT_EQ(t2.add(ordered(), 10, 1), Status::kAbort);
      EXPECT_FALSE(t2.blocked);
      EXPECT_EQ(t2.txn->abort_reason(), AbortReason::kDeadlock);
    }
  };
  EXPECT_EQ(t1.add(ordered(), 10, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
}

TEST_F(Detect, OneOfTwoScannersThatInsertIntoEachOthersRangeAborts) {
  Actor t1(world), t2(world);
  t1.scan(ordered(), 0, 100);
  t2.scan(ordered(), 0, 100);
  t1.context.acknowledge_durable = [&] {
    if (t2.alive) {
      EXPECT_EQ(t2.insert(ordered(), 16, 1), Status::kAbort);
      EXPECT_EQ(t2.txn->abort_reason(), AbortReason::kDeadlock);
    }
  };
  EXPECT_EQ(t1.insert(ordered(), 15, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
}

TEST_F(Detect, ADeadlockWithAReaderIsFound) {
  world.threads = 500;
  world.actors = 400;
  Actor reader(world), writer(world);
  reader.read(ordered(), 10);
  writer.add(ordered(), 20, 1);
  writer.context.acknowledge_durable = [&] {
    reader.read(ordered(), 20);
    EXPECT_FALSE(reader.blocked) << "it did not wait for itself";
    EXPECT_EQ(reader.txn->abort_reason(), AbortReason::kDeadlock);
    throw Blocked();
  };
  writer.add(ordered(), 10, 1);
  EXPECT_TRUE(writer.blocked) << "it waits for the reader";
}

// T1 waits for a lock of T2's worker. T2 commits, and the next transaction of the same worker waits
// for T1. T1 has not woken yet, so the graph still has an edge from T1 to the worker. Detection
// must not take this old edge for a cycle.
TEST_F(Detect, ALockThatWasGivenBackClosesNoCycle) {
  Actor t1(world), t2(world);
  t1.add(ordered(), 10, 1);
  t2.add(ordered(), 20, 1);
  t1.context.acknowledge_durable = [&] {
    EXPECT_TRUE(t2.commit());
    t2.begin();
    t2.add(ordered(), 10, 1);
    EXPECT_TRUE(t2.blocked) << "it waits for t1";
    throw Blocked();
  };
  t1.add(ordered(), 20, 1);
  EXPECT_TRUE(t1.blocked);
}

TEST(NoWait, AbortsAtOnceOnAHeldLock) {
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

}  // namespace
}  // namespace logjam
