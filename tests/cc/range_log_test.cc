// With --log_records=txn,range or op,range, transactions log the changed bytes of a row that they
// have read, and the version that they change: with every protocol, and numbers drawn before and
// after validation.
#include <gtest/gtest.h>

#include <tuple>

#include "logging/format/range_image.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

class RangeLogTest
    : public testing::TestWithParam<std::tuple<std::string, LogRecords, NumberDrawn>> {
 protected:
  RangeLogTest()
      : world(std::get<0>(GetParam()), {.number_drawn = std::get<2>(GetParam())},
              std::get<1>(GetParam())) {
    world.load_tens(*world.ordered, 20);
    world.ranges = true;
  }

  bool per_operation() const { return std::get<1>(GetParam()) == LogRecords::kOperation; }

  // Returns the logged writes by key.
  std::map<Key, LoggedWrite> logged() {
    std::map<Key, LoggedWrite> all;
    for (const FakeLog::Entry& entry : world.log.entries) {
      if (entry.header().kind == RecordKind::kVoid) continue;
      for (const LoggedWrite& write : entry.writes()) all[write.header.key] = write;
    }
    return all;
  }

  World world;
};

TEST_P(RangeLogTest, RangesNameTheVersionThatTheyChange) {
  Actor first(world), second(world);
  first.add(*world.ordered, 10, 4);
  first.erase(*world.ordered, 20);
  first.insert(*world.ordered, 20, 99);
  ASSERT_TRUE(first.commit());
  const uint64_t version = world.log.entries.back().reservation.sequence;
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
  auto writes = logged();
  expect(writes.at(10), 0, World::row_of(10, 1), 5);
  expect(writes.at(20), 0, World::row_of(20, 1), 99);
  for (const FakeLog::Entry& entry : world.log.entries)
    EXPECT_EQ(entry.header().flags & kWriteOnly, 0);

  world.log.entries.clear();
  second.add(*world.ordered, 10, 7);
  ASSERT_TRUE(second.commit());
  expect(logged().at(10), version, World::row_of(10, 5), 12);
}

// A blind write may survive where the version that it overwrites is lost.
TEST_P(RangeLogTest, BlindWritesAndInsertsAndErasesAreLoggedAsWithoutRanges) {
  Actor t(world);
  t.set(*world.ordered, 10, 5);
  t.add(*world.ordered, 10, 1);
  t.read(*world.ordered, 20);
  t.set(*world.ordered, 20, 5);
  t.insert(*world.ordered, 35, 8);
  t.erase(*world.ordered, 40);
  ASSERT_TRUE(t.commit());
  const auto writes = logged();
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

// Under OCC the row may change between the read and the lock. Then the record is void, or missing.
TEST_P(OccRangeLogTest, WhatHasReadAnOverwrittenVersionLogsNoRange) {
  Actor slow(world), fast(world);
  slow.add(*world.ordered, 10, 4);
  fast.add(*world.ordered, 10, 7);
  ASSERT_TRUE(fast.commit());
  world.log.entries.clear();
  EXPECT_FALSE(slow.commit());
  for (const FakeLog::Entry& entry : world.log.entries) {
    if (entry.role == RecordRole::kPart) continue;  // of a transaction without a commit record
    EXPECT_EQ(entry.header().kind, RecordKind::kVoid);
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, RangeLogTest, log_variants(protocol_names()),
                         name_of_log_variant);
INSTANTIATE_TEST_SUITE_P(Protocols, OccRangeLogTest, log_variants({"occ"}), name_of_log_variant);

}  // namespace
}  // namespace logjam
