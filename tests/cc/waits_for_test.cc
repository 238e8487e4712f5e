// The waits-for graph of 2pl-detect: which waits close a cycle.
#include "cc/waits_for.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace logjam {
namespace {

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

TEST_F(WaitsForTest, AWorkerThatHasGivenItsLocksBackIsNoHolder) {
  graph.add_held(1, locks[1]);
  graph.add_held(2, locks[2]);
  EXPECT_FALSE(graph.closes_cycle(1, locks[2], held_by(2)));
  // 2 commits, and begins another transaction before 1 has woken.
  graph.hold_nothing(2);
  EXPECT_FALSE(graph.closes_cycle(2, locks[1], held_by(1)));
  graph.add_held(2, locks[2]);
  EXPECT_TRUE(graph.closes_cycle(2, locks[1], held_by(1)));
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

}  // namespace
}  // namespace logjam
