// The records that transactions write to the log, and the dependencies that they report. The tests
// run with every protocol and both record granularities, with numbers drawn before validation and
// after it.
#include <gtest/gtest.h>

#include <tuple>

#include "logging/format/range_image.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

using Entries = std::vector<FakeLog::Entry>;

class CommitLogTest
    : public testing::TestWithParam<std::tuple<std::string, LogRecords, NumberDrawn>> {
 protected:
  CommitLogTest() : world(std::get<0>(GetParam()), options(), std::get<1>(GetParam())) {
    world.load_tens(*world.ordered, 20);
  }

  bool per_operation() const { return std::get<1>(GetParam()) == LogRecords::kOperation; }
  static NumberDrawn number_drawn() { return std::get<2>(GetParam()); }
  static FakeLog::Options options() { return {.number_drawn = number_drawn()}; }
  Table& ordered() { return *world.ordered; }
  Entries& entries() { return world.log.entries; }

  // Checks every record's checksum and size. Returns the logged writes by key.
  std::map<Key, LoggedWrite> check_records() {
    std::map<Key, LoggedWrite> writes;
    for (const FakeLog::Entry& entry : entries()) {
      const RecordHeader& header = entry.header();
      EXPECT_EQ(header.checksum,
                record_checksum(header, FakeLog::kRun, entry.reservation.position));
      EXPECT_EQ(header.sequence, entry.reservation.sequence);
      EXPECT_EQ(header.bytes, entry.reservation.bytes);
      EXPECT_EQ(header.txn, entries().back().header().txn);
      if (header.kind == RecordKind::kVoid) continue;
      for (const LoggedWrite& write : entry.writes()) writes[write.header.key] = write;
    }
    return writes;
  }

  World world;
};

TEST_P(CommitLogTest, RecordsHoldTheTransactionsWrites) {
  Actor first(world), t(world);
  t.add(ordered(), 10, 4);
  t.set(ordered(), 20, 77);
  t.erase(ordered(), 30);
  t.insert(ordered(), 35, 8);
  t.insert(ordered(), 45, 8);
  t.erase(ordered(), 45);
  t.erase(ordered(), 40);
  t.insert(ordered(), 40, 99);
  ASSERT_TRUE(t.commit());

  const auto writes = check_records();
  ASSERT_EQ(writes.size(), 5u) << "an insert erased again is not logged";
  const auto expect = [&](Key key, WriteOp op, std::optional<int64_t> before,
                          std::optional<int64_t> after) {
    const LoggedWrite& write = writes.at(key);
    EXPECT_EQ(write.header.op, op);
    EXPECT_EQ(write.header.table, ordered().id());
    EXPECT_EQ(write.header.image_bytes, sizeof(Row));
    ASSERT_EQ(write.after != nullptr, after.has_value());
    if (after) {
      EXPECT_EQ(World::value_of(write.after), *after);
    }
    ASSERT_EQ(write.before != nullptr, before.has_value() && per_operation());
    if (write.before != nullptr) {
      EXPECT_EQ(World::value_of(write.before), *before);
    }
  };
  expect(10, WriteOp::kUpdate, 1, 5);
  expect(20, WriteOp::kUpdate, 1, 77);
  expect(30, WriteOp::kErase, 1, std::nullopt);
  expect(35, WriteOp::kInsert, std::nullopt, 8);
  expect(40, WriteOp::kUpdate, 1, 99);

  const FakeLog::Entry& last = entries().back();
  EXPECT_EQ(last.header().txn, uint64_t{1} << 48 | 1) << "worker 1's first";
  EXPECT_EQ(t.txn->commit_point().sequence, last.reservation.sequence);
  EXPECT_EQ(t.context.log_records_written, entries().size());
  uint64_t bytes = 0;
  for (const FakeLog::Entry& entry : entries()) bytes += entry.reservation.bytes;
  EXPECT_EQ(t.context.log_bytes, bytes);
  for (const Key key : {10, 20, 30, 35, 40}) {
    auto* tuple = Table::tuple_of(ordered().primary().find(key, nullptr));
    EXPECT_EQ(tuple->load_version(), Version(last.reservation.sequence, key == 30));
  }
}

TEST_P(CommitLogTest, OneRecordPerTransactionOrPerOperation) {
  Actor t(world);
  t.add(ordered(), 10, 4);
  t.add(ordered(), 20, 4);
  ASSERT_TRUE(t.commit());
  std::vector<std::pair<RecordKind, RecordRole>> records;
  for (const FakeLog::Entry& entry : entries()) {
    records.emplace_back(entry.header().kind, entry.role);
  }
  const std::pair operation(RecordKind::kOperation, RecordRole::kPart);
  const std::vector expected =
      per_operation() ? std::vector{std::pair(RecordKind::kBegin, RecordRole::kPart), operation,
                                    operation, std::pair(RecordKind::kCommit, RecordRole::kCommit)}
                      : std::vector{std::pair(RecordKind::kTransaction, RecordRole::kCommit)};
  EXPECT_EQ(records, expected);
}

TEST_P(CommitLogTest, DependenciesNameTheReadAndOverwrittenSequences) {
  std::vector<uint64_t> sequences;
  for (const Key key : {10, 20, 30}) {
    Actor t(world);
    t.set(ordered(), key, 5);
    ASSERT_TRUE(t.commit());
    sequences.push_back(t.txn->commit_point().sequence);
  }
  const auto deps_of = [&](const std::function<void(Actor&)>& run) {
    entries().clear();
    Actor t(world);
    run(t);
    EXPECT_TRUE(t.commit());
    for (const FakeLog::Entry& entry : entries()) {
      EXPECT_EQ(entry.deps.max_read, entries().back().deps.max_read);
      EXPECT_EQ(entry.deps.reads, entries().back().deps.reads);
      EXPECT_EQ(entry.header().flags & kWriteOnly, entry.deps.reads ? 0 : kWriteOnly);
    }
    return entries().back().deps;
  };
  Dependencies deps = deps_of([&](Actor& t) { t.set(ordered(), 10, 6); });
  EXPECT_FALSE(deps.reads) << "a blind write of a row that is there reads nothing";
  EXPECT_EQ(deps.max_read, 0u);
  EXPECT_EQ(deps.max_overwritten, sequences[0]);

  deps = deps_of([&](Actor& t) {
    t.set(ordered(), 80, 1);
    t.read(ordered(), 80);
  });
  EXPECT_FALSE(deps.reads) << "reading an own write";

  Actor eraser(world);
  eraser.erase(ordered(), 40);
  ASSERT_TRUE(eraser.commit());
  const uint64_t erased = eraser.txn->commit_point().sequence;
  deps = deps_of([&](Actor& t) { t.set(ordered(), 90, 6); });
  EXPECT_TRUE(deps.reads) << "where rows come and go, that one is there is something read";

  deps = deps_of([&](Actor& t) { t.add(ordered(), 20, 6); });
  EXPECT_TRUE(deps.reads);
  EXPECT_EQ(deps.max_read, sequences[1]);
  EXPECT_EQ(deps.max_overwritten, sequences[1]);

  deps = deps_of([&](Actor& t) {
    t.read(ordered(), 30);
    t.set(ordered(), 50, 1);
  });
  EXPECT_TRUE(deps.reads);
  EXPECT_EQ(deps.max_read, sequences[2]);
  EXPECT_EQ(deps.max_overwritten, 0u);

  deps = deps_of([&](Actor& t) {
    t.scan(ordered(), 30, 40);
    t.set(ordered(), 60, 1);
  });
  EXPECT_EQ(deps.max_read, erased) << "a scan reads absent rows too";

  deps = deps_of([&](Actor& t) {
    EXPECT_FALSE(t.read(ordered(), 5).has_value());
    t.set(ordered(), 70, 1);
  });
  EXPECT_TRUE(deps.reads) << "a miss is something read";
  EXPECT_EQ(deps.max_read, 0u);

  deps = deps_of([&](Actor& t) { EXPECT_EQ(t.insert(ordered(), 40, 1), Status::kOk); });
  EXPECT_TRUE(deps.reads) << "the insert knows of the erase";
  EXPECT_EQ(deps.max_read, erased);
  EXPECT_EQ(deps.max_overwritten, erased);
}

TEST_P(CommitLogTest, AReadOnlyTransactionCallsCommitReadOnly) {
  Actor writer(world);
  writer.add(ordered(), 10, 1);
  ASSERT_TRUE(writer.commit());
  entries().clear();
  Actor reader(world);
  reader.read(ordered(), 10);
  ASSERT_TRUE(reader.commit());
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(world.log.observed, 1u);
  EXPECT_EQ(reader.txn->commit_point().sequence, writer.txn->commit_point().sequence);
}

// The observer is called at the serialization point. At this point the record is not published, and
// no other transaction can write the rows or read their new contents.
struct Listener final : CommitObserver {
  void serialized() override {
    ++calls;
    check();
  }
  int calls = 0;
  std::function<void()> check = [] {};
};

TEST_P(CommitLogTest, TheObserverHearsOfACommitBeforeTheLogDoes) {
  Listener listener;
  Actor t(world);
  t.context.observer = &listener;
  t.set(ordered(), 10, 5);
  listener.check = [&] {
    for (const FakeLog::Entry& entry : entries()) {
      EXPECT_NE(entry.role, RecordRole::kCommit);
    }
    Actor other(world);
    EXPECT_FALSE(other.read(ordered(), 10).has_value()) << "it is locked";
    EXPECT_EQ(world.content(ordered()).at(10), 1) << "nothing is installed";
  };
  ASSERT_TRUE(t.commit());
  EXPECT_EQ(listener.calls, 1);

  listener.check = [] {};
  t.begin();
  t.read(ordered(), 10);
  ASSERT_TRUE(t.commit());
  t.begin();
  t.set(ordered(), 10, 6);
  t.abort();
  EXPECT_EQ(listener.calls, 1) << "nothing was committed that writes";
}

// Tests only OCC, because a 2PL transaction that has all its locks never fails to commit.
using OccLogTest = CommitLogTest;

TEST_P(OccLogTest, AFailedValidationVoidsTheSpaceThatCameWithTheNumber) {
  Actor t1(world), t2(world);
  t1.read(ordered(), 10);
  t1.add(ordered(), 20, 1);
  t2.add(ordered(), 10, 1);
  ASSERT_TRUE(t2.commit());
  entries().clear();
  Listener listener;
  t1.context.observer = &listener;
  EXPECT_FALSE(t1.commit());
  EXPECT_EQ(listener.calls, 0);
  EXPECT_EQ(t1.txn->abort_reason(), AbortReason::kValidation);
  EXPECT_EQ(world.log.abandoned, number_drawn() == NumberDrawn::kBeforeWithoutHole ? 1 : 0);
  if (number_drawn() != NumberDrawn::kBefore) {
    EXPECT_TRUE(entries().empty());
    EXPECT_EQ(t1.context.log_bytes, 0u);
    return;
  }
  ASSERT_EQ(entries().size(), per_operation() ? 3u : 1u);
  EXPECT_EQ(entries().back().role, RecordRole::kVoid);
  EXPECT_EQ(entries().back().header().kind, RecordKind::kVoid);
  check_records();
  t1.begin(true);
  EXPECT_EQ(t1.add(ordered(), 20, 1), Status::kOk) << "nothing is left locked";
  EXPECT_TRUE(t1.commit());
}

// A transaction inserts a row, but does not commit yet. Meanwhile a second transaction inserts the
// same row and commits, and a third transaction erases it. The first insert then follows the erase,
// so its record must depend on the erase and must not be labelled write-only.
TEST_P(OccLogTest, AnInsertDependsOnAnEraseThatCameBeforeItsCommit) {
  Actor first(world), second(world), eraser(world);
  EXPECT_EQ(first.insert(*world.hash, 45, 1), Status::kOk);
  EXPECT_EQ(second.insert(*world.hash, 45, 2), Status::kOk);
  ASSERT_TRUE(second.commit());
  EXPECT_EQ(eraser.erase(*world.hash, 45), Status::kOk);
  ASSERT_TRUE(eraser.commit());
  const uint64_t erased = eraser.txn->commit_point().sequence;
  entries().clear();
  ASSERT_TRUE(first.commit());
  for (const FakeLog::Entry& entry : entries()) {
    EXPECT_TRUE(entry.deps.reads);
    EXPECT_EQ(entry.deps.max_read, erased);
    EXPECT_EQ(entry.deps.max_overwritten, erased);
    EXPECT_EQ(entry.header().flags & kWriteOnly, 0) << "labelled write-only";
  }
  Actor alone(world);
  EXPECT_EQ(alone.insert(*world.hash, 55, 1), Status::kOk);
  ASSERT_TRUE(alone.commit());
  EXPECT_FALSE(entries().back().deps.reads);
  EXPECT_EQ(entries().back().header().flags & kWriteOnly, kWriteOnly);
}

TEST_P(CommitLogTest, ASchemeWithoutLogsStillAssignsSequenceNumbers) {
  FakeLog::Options without_logs = options();
  without_logs.logs = false;
  World quiet(std::get<0>(GetParam()), without_logs, std::get<1>(GetParam()));
  quiet.load_tens(*quiet.ordered, 20);
  Actor t(quiet);
  t.add(*quiet.ordered, 10, 4);
  t.add(*quiet.ordered, 20, 4);
  ASSERT_TRUE(t.commit());
  EXPECT_EQ(quiet.log.entries.size(), 1u);
  EXPECT_EQ(t.txn->commit_point().sequence, 1u);
  EXPECT_EQ(t.context.log_bytes, 0u);
  EXPECT_EQ(t.context.log_records_written, 0u);
}

// --- ranges ---

// With --log_records=txn,range or op,range: if a transaction has read a row that it changes, it
// logs only the changed bytes and the version that it changes.
class RangeLogTest : public CommitLogTest {
 protected:
  RangeLogTest() { world.ranges = true; }
};

TEST_P(RangeLogTest, RangesNameTheVersionThatTheyChange) {
  Actor first(world), second(world);
  first.add(ordered(), 10, 4);
  first.erase(ordered(), 20);
  first.insert(ordered(), 20, 99);
  ASSERT_TRUE(first.commit());
  const uint64_t version = entries().back().reservation.sequence;
  const auto expect = [&](const LoggedWrite& write, uint64_t changes, Row row, int64_t after) {
    EXPECT_EQ(write.header.op, WriteOp::kUpdate);
    ASSERT_TRUE(write.has_ranges());
    EXPECT_LT(write.header.image_bytes, sizeof(Row));
    EXPECT_EQ(write.before, nullptr);
    EXPECT_EQ(RangeImage(write.image()).version(), changes);
    ASSERT_TRUE(
        apply_ranges(RangeImage(write.image()), reinterpret_cast<std::byte*>(&row), sizeof row));
    EXPECT_EQ(row.value, after);
  };
  auto writes = check_records();
  expect(writes.at(10), 0, World::row_of(10, 1), 5);
  expect(writes.at(20), 0, World::row_of(20, 1), 99);
  for (const FakeLog::Entry& entry : entries()) EXPECT_EQ(entry.header().flags & kWriteOnly, 0);

  entries().clear();
  second.begin();
  second.add(ordered(), 10, 7);
  ASSERT_TRUE(second.commit());
  expect(check_records().at(10), version, World::row_of(10, 5), 12);
}

// A blind write logs the whole row, because recovery may apply the write when the overwritten
// version is lost.
TEST_P(RangeLogTest, BlindWritesAndInsertsAndErasesAreLoggedAsWithoutRanges) {
  Actor t(world);
  t.set(ordered(), 10, 5);
  t.add(ordered(), 10, 1);
  t.read(ordered(), 20);
  t.set(ordered(), 20, 5);
  t.insert(ordered(), 35, 8);
  t.erase(ordered(), 40);
  ASSERT_TRUE(t.commit());
  const auto writes = check_records();
  EXPECT_EQ(writes.size(), 4u);
  for (const auto& [key, write] : writes) {
    EXPECT_FALSE(write.has_ranges()) << key;
    EXPECT_EQ(write.header.image_bytes, sizeof(Row));
    EXPECT_EQ(write.before != nullptr, per_operation() && key != 35);
  }
  EXPECT_EQ(World::value_of(writes.at(10).after), 6);
  EXPECT_EQ(World::value_of(writes.at(20).after), 5);
}

using OccRangeLogTest = RangeLogTest;

// Under OCC a row may change after a transaction has read the row and before the transaction locks
// the row. Then the transaction must have a void record or no record.
TEST_P(OccRangeLogTest, WhatHasReadAnOverwrittenVersionLogsNoRange) {
  Actor slow(world), fast(world);
  slow.add(ordered(), 10, 4);
  fast.add(ordered(), 10, 7);
  ASSERT_TRUE(fast.commit());
  entries().clear();
  EXPECT_FALSE(slow.commit());
  for (const FakeLog::Entry& entry : entries()) {
    if (entry.role == RecordRole::kPart) continue;  // its transaction has no commit record
    EXPECT_EQ(entry.header().kind, RecordKind::kVoid);
  }
}

// --- waits, and records that are too large ---

// T1 changes a row and waits for the holder of the row's lock. If `changes` is true, the holder
// gives the row a newer version before it unlocks the row. Returns whether T1 commits.
bool commits_after_a_wait(World& world, bool changes) {
  world.load_tens(*world.hash, 20);
  Actor t1(world);
  t1.add(*world.hash, 10, 1);
  Tuple& tuple = *world.hash->find_or_create(10, world.arena);
  const Version before = tuple.load_version();
  tuple.version.store(before.word() | Version::kLocked);
  t1.context.acknowledge_durable = [&] {
    tuple.version.store(Version(before.sequence() + changes, false).word());
  };
  const bool committed = t1.commit();
  EXPECT_FALSE(tuple.load_version().locked());
  return committed;
}

// A transaction that is sure to abort must write no void record: with the record, other
// transactions would wait longer for its locks than without it.
TEST(DoomedCommit, LeavesNoVoidRecordAndAWaitAloneDoomsNoCommit) {
  for (const NumberDrawn drawn :
       {NumberDrawn::kAfterValidation, NumberDrawn::kBefore, NumberDrawn::kBeforeWithoutHole}) {
    for (const bool changes : {false, true}) {
      World world("occ", {.number_drawn = drawn});
      EXPECT_EQ(commits_after_a_wait(world, changes), !changes);
      EXPECT_EQ(world.log.entries.size(), changes ? 0u : 1u) << static_cast<int>(drawn);
    }
  }
}

TEST(SpaceWaitTest, ATransactionChargesWhatItsReservationHasWaited) {
  World world("occ", {.waited_ticks = 500 * Breakdown::kSampleEvery});
  world.load_tens(*world.ordered, 20);
  Breakdown breakdown(true);
  Actor actor(world);
  actor.context.breakdown = &breakdown;
  actor.set(*world.ordered, 10, 4);
  ASSERT_TRUE(actor.commit());
  EXPECT_EQ(breakdown.sampled_ticks()[static_cast<size_t>(Activity::kSpaceWait)], 500);
}

using CommitLogDeathTest = CommitLogTest;

TEST_P(CommitLogDeathTest, ARecordLargerThanTheBufferEndsTheRun) {
  const auto oversize = [&] {
    World big(std::get<0>(GetParam()), {}, std::get<1>(GetParam()));
    TableSchema schema = World::plain("big");
    schema.row_bytes = 2 << 20;
    Table& table = big.database.create_table(std::move(schema));
    Actor t(big);
    const std::vector<std::byte> row(2 << 20);
    t.step([&] { return t.txn->insert(table, 1, row.data()); });
    t.commit();
  };
  EXPECT_DEATH(oversize(), "raise --log_buffer_mb");
}

INSTANTIATE_TEST_SUITE_P(Protocols, CommitLogTest, log_variants(protocol_names()),
                         name_of_log_variant);
INSTANTIATE_TEST_SUITE_P(Protocols, OccLogTest, log_variants({"occ"}), name_of_log_variant);
INSTANTIATE_TEST_SUITE_P(Protocols, RangeLogTest, log_variants(protocol_names()),
                         name_of_log_variant);
INSTANTIATE_TEST_SUITE_P(Protocols, OccRangeLogTest, log_variants({"occ"}), name_of_log_variant);
INSTANTIATE_TEST_SUITE_P(Protocols, CommitLogDeathTest,
                         testing::Values(std::tuple("occ", LogRecords::kTransaction,
                                                    NumberDrawn::kAfterValidation)),
                         name_of_log_variant);

}  // namespace
}  // namespace logjam
