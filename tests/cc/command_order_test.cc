// Where logs hold commands, sequence numbers are a serialization order: if T1 read a row and T2
// overwrites it later, T1 has the smaller number. Each script runs T2 at the worst moment, right
// before T1 draws its number.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "tests/cc/script.h"

namespace logjam {
namespace {

class CommandOrder : public testing::TestWithParam<std::string> {
 protected:
  // T1 reads (`looks`) and writes a note. When T1 is about to draw its number, T2 changes the rows
  // that T1 has read (`changes`), and commits.
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

  void expect_order(const std::function<void(World&, Actor&)>& looks,
                    const std::function<void(World&, Actor&)>& changes) {
    size_t schemes = 0;
    for (const SchemeInfo& scheme : all_schemes()) {
      if (!scheme.traits.commands) continue;
      SCOPED_TRACE(scheme.name);
      ++schemes;
      expect_order(scheme, looks, changes);
    }
    EXPECT_GT(schemes, 0u);
  }
};

TEST_P(CommandOrder, AReaderPrecedesTheOverwriter) {
  expect_order([](World& world, Actor& t1) { t1.read(*world.hash, 10); },
               [](World& world, Actor& t2) { t2.set(*world.hash, 10, 5); });
}

TEST_P(CommandOrder, AReaderPrecedesTheEraser) {
  expect_order([](World& world, Actor& t1) { t1.read(*world.hash, 10); },
               [](World& world, Actor& t2) { t2.erase(*world.hash, 10); });
}

TEST_P(CommandOrder, AMissPrecedesTheInserter) {
  expect_order([](World& world, Actor& t1) { t1.read(*world.hash, 15); },
               [](World& world, Actor& t2) { t2.insert(*world.hash, 15, 5); });
}

TEST_P(CommandOrder, AScanPrecedesTheInserterOfAPhantom) {
  expect_order([](World& world, Actor& t1) { t1.scan(*world.ordered, 10, 40); },
               [](World& world, Actor& t2) { t2.insert(*world.ordered, 25, 5); });
}

INSTANTIATE_TEST_SUITE_P(Protocols, CommandOrder, testing::ValuesIn(protocol_names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace logjam
