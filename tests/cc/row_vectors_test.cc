// The LSN vectors that transactions gather and leave behind, under every protocol. The log of the
// tests has two streams. Worker w writes to stream w % 2, and all positions are those of one list
// of records.
#include <gtest/gtest.h>

#include "tests/cc/script.h"

namespace logjam {
namespace {

using Vector = std::vector<uint64_t>;

class RowVectorsTest : public testing::TestWithParam<std::tuple<std::string, LogRecords>> {
 protected:
  RowVectorsTest()
      : world(std::get<0>(GetParam()), {.vectors = true, .at_publish = [this] { look(); }}) {
    world.records = std::get<1>(GetParam());
    world.load_tens(*world.ordered, 20);
  }
  // Commits the transaction of `actor`, and returns where its record ends.
  uint64_t commit(Actor& actor) {
    EXPECT_TRUE(actor.commit());
    const LogReservation& last = world.log.entries.back().reservation;
    return last.position + last.bytes;
  }
  const Vector& gathered() const { return world.log.last_vector; }
  std::function<void()> look = [] {};
  World world;
};

TEST_P(RowVectorsTest, ATransactionGathersWhatItReadsAndOverwrites) {
  Actor even(world), odd(world), reader(world);
  even.set(*world.ordered, 10, 1);
  const uint64_t of_even = commit(even);
  EXPECT_EQ(gathered(), (Vector{0, 0})) << "nobody had written the row";
  odd.add(*world.ordered, 20, 1);
  const uint64_t of_odd = commit(odd);
  EXPECT_EQ(gathered(), (Vector{0, 0}));

  reader.read(*world.ordered, 10);
  reader.set(*world.ordered, 20, 2);  // blindly
  reader.read(*world.ordered, 30);
  commit(reader);
  EXPECT_EQ(gathered(), (Vector{of_even, of_odd}));
}

TEST_P(RowVectorsTest, TheRowsThatItChangesGetItsVectorAndTheRowsThatItReadsDoNot) {
  Actor first(world), second(world), third(world), fourth(world);
  first.set(*world.ordered, 10, 1);
  const uint64_t of_first = commit(first);
  second.read(*world.ordered, 10);
  second.set(*world.ordered, 20, 1);
  second.set(*world.ordered, 30, 1);
  const uint64_t of_second = commit(second);
  third.read(*world.ordered, 30);
  third.set(*world.ordered, 40, 1);
  commit(third);
  EXPECT_EQ(gathered(), (Vector{of_first, of_second})) << "through others, too";
  fourth.add(*world.ordered, 10, 1);
  commit(fourth);
  EXPECT_EQ(gathered(), (Vector{of_first, 0})) << "a reader leaves no vector";
}

// A record is published before the rows get their versions and the locks are released.
TEST_P(RowVectorsTest, ARowHasItsVectorBeforeItsVersion) {
  const Keyed* tuple = world.ordered->primary().find(10, nullptr);
  Vector seen;
  look = [&] {
    seen.assign(2, 0);
    world.log.parts().row_vectors->gather(tuple, seen);
  };
  Actor writer(world);
  writer.set(*world.ordered, 10, 1);
  const uint64_t end = commit(writer);
  EXPECT_EQ(seen, (Vector{end, 0}));
}

TEST_P(RowVectorsTest, AnInsertAndAnEraseLeaveVectorsToo) {
  Actor inserts(world), erases(world), again(world), misses(world);
  inserts.insert(*world.ordered, 11, 1);
  const uint64_t of_insert = commit(inserts);
  erases.erase(*world.ordered, 11);
  const uint64_t of_erase = commit(erases);
  EXPECT_EQ(gathered(), (Vector{of_insert, 0}));
  misses.read(*world.ordered, 11);
  misses.set(*world.ordered, 40, 1);
  commit(misses);
  EXPECT_EQ(gathered(), (Vector{of_insert, of_erase})) << "the row's absence was read";
  again.insert(*world.ordered, 11, 2);
  commit(again);
  EXPECT_EQ(gathered(), (Vector{of_insert, of_erase}));
}

TEST_P(RowVectorsTest, ATransactionThatWroteNothingGathersToo) {
  Actor writer(world), reader(world);
  writer.set(*world.ordered, 10, 1);
  const uint64_t end = commit(writer);
  reader.read(*world.ordered, 10);
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(world.log.observed, 1u);
  EXPECT_EQ(gathered(), (Vector{end, 0}));
}

TEST_P(RowVectorsTest, ATransactionForgetsWhatTheOneBeforeHasGathered) {
  Actor writer(world), reader(world);
  writer.set(*world.ordered, 10, 1);
  commit(writer);
  reader.read(*world.ordered, 10);
  reader.txn->abort();
  reader.begin();
  reader.set(*world.ordered, 30, 1);
  commit(reader);
  EXPECT_EQ(gathered(), (Vector{0, 0}));
}

INSTANTIATE_TEST_SUITE_P(All, RowVectorsTest,
                         testing::Combine(testing::ValuesIn(protocol_names()),
                                          testing::Values(LogRecords::kTransaction,
                                                          LogRecords::kOperation)),
                         [](const auto& info) {
                           return test_name(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) == LogRecords::kOperation ? "_op"
                                                                                     : "_txn");
                         });

}  // namespace
}  // namespace logjam
