// Tests the contents of a snapshot, and the waits of its transaction, by rule of --snapshot.
#include <gtest/gtest.h>

#include <optional>

#include "engine/storage/reclaimer.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

class SnapshotRules : public testing::Test {
 protected:
  // Makes the actors that are made later follow `rule`.
  void follow(SnapshotRule rule) {
    world.snapshot = rule;
    if (rule == SnapshotRule::kDurable) clock.track(4);
  }
  bool put(Actor& actor, int64_t value) {
    actor.begin();
    return actor.set(notes, 0, value) == Status::kOk && actor.commit();
  }
  std::optional<int64_t> value_of_new_snapshot() {
    Actor reader(world);
    const auto value = reader.read(notes, 0);
    EXPECT_TRUE(reader.commit());
    return value;
  }
  // Says that all commits of `actor` are durable. Returns the durable prefix.
  uint64_t make_durable(const Actor& actor) {
    clock.note_oldest(actor.context.id, CommitClock::kNone);
    return clock.extend_durable_prefix();
  }

  World world{"si"};
  Table& notes = *world.notes;
  CommitClock& clock = world.database.commit_clock();
};

TEST_F(SnapshotRules, EachCommitIsSeenAndOnlyAcknowledgedWaitsForIt) {
  int64_t value = 0;
  for (const SnapshotRule rule : {SnapshotRule::kCommitted, SnapshotRule::kAcknowledged}) {
    follow(rule);
    Actor writer(world);
    ASSERT_TRUE(put(writer, ++value));
    EXPECT_EQ(value_of_new_snapshot(), value);
    EXPECT_EQ(world.log.observed, rule == SnapshotRule::kAcknowledged ? 1u : 0u);
  }
}

TEST_F(SnapshotRules, DurableSeesNoCommitThatACrashCanTakeBack) {
  follow(SnapshotRule::kDurable);
  Actor writer(world);
  ASSERT_TRUE(put(writer, 7));
  EXPECT_EQ(value_of_new_snapshot(), 0);
  EXPECT_EQ(clock.extend_durable_prefix(), 0u);
  EXPECT_EQ(value_of_new_snapshot(), 0);
  EXPECT_EQ(make_durable(writer), 1u);
  EXPECT_EQ(value_of_new_snapshot(), 7);
  EXPECT_EQ(world.log.observed, 0u) << "a reader waits for nothing";
}

TEST_F(SnapshotRules, ADurableCommitIsSeenOnlyAfterTheCommitsWithSmallerStamps) {
  follow(SnapshotRule::kDurable);
  Actor first(world), second(world);
  EXPECT_EQ(first.set(notes, 1, 7), Status::kOk);
  ASSERT_TRUE(first.commit());
  ASSERT_TRUE(put(second, 7));
  EXPECT_EQ(make_durable(second), 0u);
  EXPECT_EQ(value_of_new_snapshot(), 0);
  EXPECT_EQ(make_durable(first), 2u);
  EXPECT_EQ(value_of_new_snapshot(), 7);
}

TEST_F(SnapshotRules, ARowBeyondTheDurablePrefixCannotBeWritten) {
  follow(SnapshotRule::kDurable);
  Actor writer(world), other(world);
  ASSERT_TRUE(put(writer, 7));
  EXPECT_FALSE(put(other, 8));
  make_durable(writer);
  EXPECT_TRUE(put(other, 8));
}

// The announcement of a stamp may be smaller than a prefix that another worker has computed.
TEST_F(SnapshotRules, TheDurablePrefixNeverShrinks) {
  follow(SnapshotRule::kDurable);
  Actor writer(world);
  ASSERT_TRUE(put(writer, 7));
  EXPECT_EQ(make_durable(writer), 1u);
  clock.note_oldest(3, 1);  // as if worker 3 had loaded the clock before the commit
  EXPECT_EQ(clock.extend_durable_prefix(), 1u);
}

// New snapshots need the newest old version of a row, but no older one, while the durable prefix
// does not contain the last commit of the row.
TEST_F(SnapshotRules, SnapshotsOfTheDurablePrefixFindTheirVersionsWhileOthersAreReclaimed) {
  follow(SnapshotRule::kDurable);
  Epochs epochs(1);
  Actor writer(world);
  Reclaimer reclaimer(epochs, 1, *writer.context.arena, true);
  writer.context.reclaimer = &reclaimer;
  uint64_t bytes = 0;
  for (int value = 1; value <= 100; ++value) {
    ASSERT_TRUE(put(writer, value));
    for (int i = 0; i < 40; ++i) {
      epochs.note_quiescent(0);
      reclaimer.work();
    }
    ASSERT_EQ(value_of_new_snapshot(), value - 1);
    make_durable(writer);
    ASSERT_EQ(value_of_new_snapshot(), value);
    if (value == 50) bytes = writer.arena_bytes();
  }
  EXPECT_EQ(writer.arena_bytes(), bytes) << "old versions were used again";
}

}  // namespace
}  // namespace logjam
