// The order of sequence numbers, and read stamps and LSN vectors of rows, under every protocol.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/cc/script.h"

namespace logjam {
namespace {

// --- logs of commands ---

// In a log of commands, sequence numbers must give a serialization order. If T1 reads a row that T2
// overwrites later, T1 must have the smaller number. Each script runs T2 right before T1 draws its
// number, because then T2 is most likely to get the smaller number.
class CommandOrder : public testing::TestWithParam<std::string> {
 protected:
  // T1 reads rows in the function `looks`, and then writes a note. Before T1 draws its number, T2
  // changes these rows in the function `changes`, and commits.
  void expect_order(const SchemeInfo& scheme, const std::function<void(World&, Actor&)>& looks,
                    const std::function<void(World&, Actor&)>& changes) {
    FakeLog::Options options;
    options.number_drawn = scheme.traits.number_drawn;
    std::function<void()> between;
    options.before_draw = [&between] {
      if (between) std::exchange(between, nullptr)();
    };
    World world(GetParam(), options);
    world.load_tens(*world.ordered, 20);
    world.load_tens(*world.hash, 20);
    Actor t1(world), t2(world);
    between = [&] {
      changes(world, t2);
      t2.commit();
    };
    looks(world, t1);
    t1.set(*world.notes, 0, 1);
    t1.commit();
    EXPECT_FALSE(between) << "T1 has drawn no number";
    EXPECT_TRUE(t1.committed || t2.committed) << "one of them could have committed";
    if (!t1.committed || !t2.committed) return;
    uint64_t number[2] = {};
    for (const FakeLog::Entry& entry : world.log.entries) {
      number[entry.worker] = entry.reservation.sequence;
    }
    EXPECT_LT(number[0], number[1]) << "T2 overwrote what T1 had read, and comes before it";
  }
};

TEST_P(CommandOrder, WhoHasReadARowOrItsAbsencePrecedesTheOverwriter) {
  size_t schemes = 0;
  for (const SchemeInfo& scheme : all_schemes()) {
    if (!scheme.traits.commands) continue;
    SCOPED_TRACE(scheme.name);
    ++schemes;
    expect_order(
        scheme, [](World& world, Actor& t1) { t1.read(*world.hash, 10); },
        [](World& world, Actor& t2) { t2.set(*world.hash, 10, 5); });
    expect_order(
        scheme, [](World& world, Actor& t1) { t1.read(*world.hash, 10); },
        [](World& world, Actor& t2) { t2.erase(*world.hash, 10); });
    expect_order(
        scheme, [](World& world, Actor& t1) { t1.read(*world.hash, 15); },
        [](World& world, Actor& t2) { t2.insert(*world.hash, 15, 5); });
    expect_order(
        scheme, [](World& world, Actor& t1) { t1.scan(*world.ordered, 10, 40); },
        [](World& world, Actor& t2) { t2.insert(*world.ordered, 25, 5); });
  }
  EXPECT_GT(schemes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Protocols, CommandOrder,
                         testing::ValuesIn(names_of_protocols_serial_in_commit_order()),
                         protocol_name);

// --- read stamps ---

// NVM-D: if T1 reads a row that T2 overwrites later, T2 has the larger number.
class ReadStampsTest : public testing::TestWithParam<std::string> {
 protected:
  ReadStampsTest() : world(GetParam(), {.number_drawn = NumberDrawn::kBefore, .stamps = true}) {
    world.load_tens(*world.ordered, 20);
  }
  // Commits the transaction of `actor`, and returns its number.
  uint64_t commit(Actor& actor) {
    EXPECT_TRUE(actor.commit());
    return world.log.entries.back().reservation.sequence;
  }
  const Dependencies& last() const { return world.log.entries.back().deps; }
  World world;
};

TEST_P(ReadStampsTest, AWriterFollowsTheReadersOfTheRowItOverwrites) {
  Actor first(world), reader(world), other(world), writer(world);
  first.add(*world.ordered, 50, 1);
  commit(first);
  reader.read(*world.ordered, 10);
  reader.add(*world.ordered, 20, 1);
  const uint64_t read_at = commit(reader);
  other.set(*world.ordered, 30, 1);
  commit(other);
  EXPECT_EQ(last().max_war, 0u);
  writer.set(*world.ordered, 10, 1);
  commit(writer);
  EXPECT_EQ(last().max_war, read_at);
  EXPECT_LT(last().max_read, read_at) << "a read raised the row's version";
}

TEST_P(ReadStampsTest, ARowThatIsReadAndChangedIsNotStamped) {
  Actor first(world), second(world);
  first.add(*world.ordered, 10, 1);
  const uint64_t written_at = commit(first);
  second.add(*world.ordered, 10, 1);
  commit(second);
  EXPECT_EQ(last().max_war, 0u);
  EXPECT_EQ(last().max_overwritten, written_at);
}

TEST_P(ReadStampsTest, ReadersOfOneRowBothCommit) {
  Actor one(world), two(world);
  one.read(*world.ordered, 10);
  two.read(*world.ordered, 10);
  one.add(*world.ordered, 20, 1);
  two.add(*world.ordered, 30, 1);
  EXPECT_TRUE(one.commit());
  EXPECT_TRUE(two.commit());
}

INSTANTIATE_TEST_SUITE_P(Protocols, ReadStampsTest,
                         testing::ValuesIn(names_of_protocols_serial_in_commit_order()),
                         protocol_name);

// --- LSN vectors ---

// The log of these tests has two streams, and worker w writes to stream w % 2. Both streams share
// one list of records. A position in either stream counts the bytes of this list. Each transaction
// begins after the commits that it must see, because protocol si reads from a snapshot.
using Vector = std::vector<uint64_t>;

class RowVectorsTest : public testing::TestWithParam<std::tuple<std::string, LogRecords>> {
 protected:
  RowVectorsTest()
      : world(std::get<0>(GetParam()), {.vectors = true, .at_publish = [this] { look(); }}) {
    world.records = std::get<1>(GetParam());
    world.load_tens(*world.ordered, 20);
  }
  // Commits the transaction of `actor`, and returns the end of its record.
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

  reader.begin();
  reader.read(*world.ordered, 10);
  reader.set(*world.ordered, 20, 2);  // a blind write
  reader.read(*world.ordered, 30);
  commit(reader);
  EXPECT_EQ(gathered(), (Vector{of_even, of_odd}));
}

TEST_P(RowVectorsTest, TheRowsThatItChangesGetItsVectorAndTheRowsThatItReadsDoNot) {
  Actor first(world), second(world), third(world), fourth(world);
  first.set(*world.ordered, 10, 1);
  const uint64_t of_first = commit(first);
  second.begin();
  second.read(*world.ordered, 10);
  second.set(*world.ordered, 20, 1);
  second.set(*world.ordered, 30, 1);
  const uint64_t of_second = commit(second);
  third.begin();
  third.read(*world.ordered, 30);
  third.set(*world.ordered, 40, 1);
  commit(third);
  EXPECT_EQ(gathered(), (Vector{of_first, of_second})) << "through others, too";
  fourth.begin();
  fourth.add(*world.ordered, 10, 1);
  commit(fourth);
  EXPECT_EQ(gathered(), (Vector{of_first, 0})) << "a reader leaves no vector";
}

// A commit first publishes its record. Later it sets the rows' versions and releases their locks.
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
  erases.begin();
  erases.erase(*world.ordered, 11);
  const uint64_t of_erase = commit(erases);
  EXPECT_EQ(gathered(), (Vector{of_insert, 0}));
  misses.begin();
  misses.read(*world.ordered, 11);
  misses.set(*world.ordered, 40, 1);
  commit(misses);
  EXPECT_EQ(gathered(), (Vector{of_insert, of_erase})) << "the row's absence was read";
  again.begin();
  again.insert(*world.ordered, 11, 2);
  commit(again);
  EXPECT_EQ(gathered(), (Vector{of_insert, of_erase}));
}

TEST_P(RowVectorsTest, ATransactionThatWroteNothingGathersToo) {
  Actor writer(world), reader(world);
  writer.set(*world.ordered, 10, 1);
  const uint64_t end = commit(writer);
  reader.begin();
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
