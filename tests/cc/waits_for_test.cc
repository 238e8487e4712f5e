// The waits-for graph of 2pl-detect: which waits close a cycle.
#include "cc/waits_for.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace logjam {
namespace {

// A lock that several workers share, and a lock that one worker holds exclusively.
LockState shared_by(std::initializer_list<uint32_t> workers) {
  uint64_t slots = 0;
  for (const uint32_t worker : workers) slots |= WaitsFor::slot_of(worker);
  return LockState(slots);
}
LockState held_by(uint32_t worker) { return LockState(LockState::kExclusive | (worker + 1)); }

TEST(WaitsForTest, FindsCyclesOfAnyLength) {
  WaitsFor graph;
  EXPECT_FALSE(graph.closes_cycle(0, 46, shared_by({1, 2})));
  EXPECT_FALSE(graph.closes_cycle(1, 46, held_by(3)));
  EXPECT_FALSE(graph.closes_cycle(3, 46, shared_by({4, 44})));
  EXPECT_FALSE(graph.closes_cycle(2, 46, held_by(44)));
  EXPECT_TRUE(graph.closes_cycle(44, 46, shared_by({20, 0})));
  graph.stop_waiting(44);
  EXPECT_TRUE(graph.closes_cycle(4, 46, held_by(0)));
  graph.stop_waiting(4);
  graph.stop_waiting(1);
  EXPECT_FALSE(graph.closes_cycle(4, 46, held_by(0)));
  EXPECT_TRUE(graph.closes_cycle(44, 46, held_by(0))) << "by 2 now";
}

TEST(WaitsForTest, AWorkerDoesNotWaitForItsOwnLock) {
  WaitsFor graph;
  EXPECT_FALSE(graph.closes_cycle(7, 46, shared_by({7, 8})));
  EXPECT_FALSE(graph.closes_cycle(7, 46, held_by(7)));
  EXPECT_FALSE(graph.closes_cycle(8, 46, shared_by({7, 8})));
  EXPECT_TRUE(graph.closes_cycle(7, 46, held_by(8)));
}

TEST(WaitsForTest, FindsCyclesOfMoreWorkersThanThereAreSlots) {
  WaitsFor graph;
  EXPECT_FALSE(graph.closes_cycle(500, 1024, held_by(1023)));
  EXPECT_FALSE(graph.closes_cycle(601, 1024, held_by(500)));
  EXPECT_TRUE(graph.closes_cycle(1023, 1024, held_by(601)));
  EXPECT_TRUE(graph.closes_cycle(1023, 1024, shared_by({601, 3}))) << "one of them is 601";
}

// With 100 workers 7, 53 and 99 have one slot, and 8 and 54 another one.
TEST(WaitsForTest, ASlotOfSeveralWorkersLeadsToAllOfThem) {
  WaitsFor graph;
  EXPECT_FALSE(graph.closes_cycle(99, 100, held_by(3)));
  EXPECT_TRUE(graph.closes_cycle(3, 100, shared_by({7})));
  graph.stop_waiting(3);
  EXPECT_FALSE(graph.closes_cycle(3, 100, shared_by({8})));
  EXPECT_FALSE(graph.closes_cycle(7, 100, shared_by({53}))) << "3 does not wait for 7";
  EXPECT_TRUE(WaitsFor::shares_its_slot(53, 54));
  EXPECT_TRUE(WaitsFor::shares_its_slot(7, 54));
  EXPECT_FALSE(WaitsFor::shares_its_slot(8, 54));
}

}  // namespace
}  // namespace logjam
