// The consolidation array alone: its slots are joined, closed, left and reused (Aether, A.5).
#include "logging/schemes/aether/consolidation_array.h"

#include <gtest/gtest.h>

#include <set>

namespace logjam {
namespace {

TEST(ConsolidationArray, AGroupIsJoinedClosedNotifiedAndLeft) {
  ConsolidationArray array(1, 3, 1 << 20);
  const auto leader = array.join(48, 0);
  const auto second = array.join(264, 1);
  const auto third = array.join(8, 2);
  EXPECT_EQ(leader.offset, 0u);
  EXPECT_EQ(second.offset, 48u);
  EXPECT_EQ(third.offset, 312u);
  EXPECT_EQ(second.slot, leader.slot);
  EXPECT_EQ(third.slot, leader.slot);

  EXPECT_EQ(array.close(*leader.slot), 320u);
  const auto late = array.join(16, 3);
  EXPECT_NE(late.slot, leader.slot) << "a closed slot stayed in the array";
  EXPECT_EQ(late.offset, 0u) << "the first member of the new slot leads";

  array.notify(*leader.slot, {.begin = 1000, .end = 1320, .node = 7});
  const Region region = array.wait(*second.slot);
  EXPECT_EQ(region.begin, 1000u);
  EXPECT_EQ(region.end, 1320u);
  EXPECT_EQ(region.node, 7u);
  EXPECT_FALSE(array.leave(*leader.slot, 48));
  EXPECT_FALSE(array.leave(*third.slot, 8));
  EXPECT_TRUE(array.leave(*second.slot, 264)) << "no member releases the group's region";
  array.free(*second.slot);
}

TEST(ConsolidationArray, ASlotIsNotReusedBeforeItsLastMemberLeaves) {
  ConsolidationArray array(1, 2, 1 << 20);
  const auto leader = array.join(8, 0);
  array.join(8, 0);
  array.notify(*leader.slot, {.begin = 0, .end = array.close(*leader.slot), .node = 0});
  EXPECT_FALSE(array.leave(*leader.slot, 8));
  std::set<ConsolidationArray::Slot*> seen;
  const auto go_alone = [&] {
    const auto alone = array.join(8, 0);
    EXPECT_EQ(alone.offset, 0u);
    array.notify(*alone.slot, {.begin = 0, .end = array.close(*alone.slot), .node = 0});
    EXPECT_TRUE(array.leave(*alone.slot, 8));
    array.free(*alone.slot);
    seen.insert(alone.slot);
  };
  for (int i = 0; i < 50; ++i) go_alone();
  EXPECT_EQ(seen.count(leader.slot), 0u) << "reused while a member was still filling";
  EXPECT_TRUE(array.leave(*leader.slot, 8));
  array.free(*leader.slot);
  for (int i = 0; i < 50; ++i) go_alone();
  EXPECT_EQ(seen.count(leader.slot), 1u) << "the slot did not return to the pool";
}

TEST(ConsolidationArray, OnlyASingleMemberMayExceedTheSizeOfAGroup) {
  ConsolidationArray array(2, 4, 100);
  const auto large = array.join(200, 0);
  EXPECT_EQ(large.offset, 0u);
  const auto other = array.join(64, 0);
  EXPECT_NE(other.slot, large.slot) << "joined a group that is full";
  EXPECT_EQ(array.join(32, 0).offset, 64u);
  array.close(*other.slot);
  EXPECT_EQ(array.join(8, 0).offset, 0u);
}

}  // namespace
}  // namespace logjam
