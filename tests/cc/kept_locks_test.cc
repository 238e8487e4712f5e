// Without early lock release, a transaction keeps its locks until its commit is durable.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "tests/cc/script.h"

namespace logjam {
namespace {

// With --locks=write, a transaction keeps only its write locks until its commit is durable.
class KeepsLocks : public testing::TestWithParam<std::string> {
 protected:
  KeepsLocks() : world(GetParam(), {}, LogRecords::kTransaction, false) {
    world.load_tens(*world.ordered, 20);
  }
  Table& ordered() { return *world.ordered; }
  World world;
};

TEST_P(KeepsLocks, LocksAreKeptUntilReleased) {
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

// Only with --locks=all does a transaction also keep its read locks. OCC has no read locks.
TEST_P(KeepsLocks, ReadLocksAreKeptOnlyIfAskedFor) {
  for (const bool all : {false, true}) {
    SCOPED_TRACE(all);
    Actor parked(world);
    parked.options.keep_read_locks = all;
    parked.read(ordered(), 10);
    parked.scan(ordered(), 40, 60);
    parked.read(ordered(), 30);
    parked.add(ordered(), 30, 1);
    ASSERT_TRUE(parked.commit());
    EXPECT_TRUE(parked.txn->holds_locks());
    const bool readable = !all || !GetParam().starts_with("2pl");
    Actor writer(world), inserter(world), reader(world);
    writer.set(ordered(), 10, 9);
    EXPECT_EQ(writer.commit(), readable);
    writer.durable();
    inserter.insert(ordered(), 55, 9);
    EXPECT_EQ(inserter.commit(), readable);
    inserter.durable();
    reader.read(ordered(), 30);
    EXPECT_FALSE(reader.commit()) << "a row that was read and then written is locked";
    parked.durable();
    Actor eraser(world);
    if (readable) {
      EXPECT_EQ(eraser.erase(ordered(), 55), Status::kOk);
    }
    EXPECT_EQ(eraser.set(ordered(), 30, 1), Status::kOk) << "nothing is left locked";
    EXPECT_EQ(eraser.set(ordered(), 10, 1), Status::kOk);
    EXPECT_TRUE(eraser.commit());
    eraser.durable();
  }
}

// A worker holds a lock twice: for a parked transaction, and for the worker's next transaction.
// When the parked transaction releases the lock, waiters must still find the worker among the
// lock's holders.
TEST(KeepsReadLocks, ADeadlockWithAWorkerThatHeldALockTwiceIsFound) {
  World world("2pl-detect", {}, LogRecords::kTransaction, false);
  Table& table = *world.ordered;
  world.load_tens(table, 20);
  Actor parked(world), other(world);
  world.actors = parked.context.id;
  Actor next(world);
  for (Actor* each : {&parked, &other, &next}) each->options.keep_read_locks = true;
  parked.read(table, 10);
  parked.add(table, 20, 1);
  ASSERT_TRUE(parked.commit());
  EXPECT_EQ(next.read(table, 10), 1);
  parked.durable();
  other.add(table, 30, 1);
  next.context.acknowledge_durable = [&] {
    EXPECT_EQ(other.add(table, 10, 1), Status::kAbort);
    EXPECT_FALSE(other.blocked) << "it waits for a transaction that waits for it";
    EXPECT_EQ(other.txn->abort_reason(), AbortReason::kDeadlock);
    throw Blocked();
  };
  next.read(table, 30);
  EXPECT_TRUE(next.blocked);
}

// A transaction waits for a lock that a committed transaction keeps until that commit is durable.
// The waiter calls acknowledge_durable(), which releases the lock.
using WaitsForParked = KeepsLocks;

TEST_P(WaitsForParked, AcknowledgingReleasesTheLocksAWaiterNeeds) {
  Actor older(world), parked(world);
  parked.add(ordered(), 10, 41);
  ASSERT_TRUE(parked.commit());
  older.context.acknowledge_durable = [&] {
    if (parked.txn->holds_locks()) parked.txn->release_locks();
  };
  EXPECT_EQ(older.read(ordered(), 10), 42);
  EXPECT_TRUE(older.commit());
}

class FillsAfterUnlock : public testing::TestWithParam<std::string> {};

TEST_P(FillsAfterUnlock, OthersReadTheRowsOnceTheNumberIsDrawnAndBeforeTheRecordIsPublished) {
  std::vector<std::optional<uint64_t>> seen;
  std::function<void()> look;
  World world(
      GetParam(),
      {.fills_after_unlock = true, .before_draw = [&] { look(); }, .at_publish = [&] { look(); }});
  world.load_tens(*world.ordered, 20);
  look = [&] {
    Actor reader(world);
    seen.push_back(reader.read(*world.ordered, 10));
    EXPECT_EQ(reader.alive, seen.back().has_value());
  };
  Actor writer(world);
  writer.set(*world.ordered, 10, 5);
  ASSERT_TRUE(writer.commit());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], std::nullopt) << "the row is unlocked before its number is drawn";
  EXPECT_EQ(seen[1], 5);
  const auto writes = world.log.entries.back().writes();
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].header.key, 10u);
}

INSTANTIATE_TEST_SUITE_P(Protocols, FillsAfterUnlock, testing::ValuesIn(protocol_names()),
                         protocol_name);
INSTANTIATE_TEST_SUITE_P(Protocols, KeepsLocks, testing::ValuesIn(protocol_names()), protocol_name);
INSTANTIATE_TEST_SUITE_P(Protocols, WaitsForParked,
                         testing::Values("occ", "2pl-waitdie", "2pl-detect"), protocol_name);

}  // namespace
}  // namespace logjam
