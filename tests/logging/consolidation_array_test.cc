// The consolidation array alone: its slots are joined, closed, left and reused (Aether, A.5).
#include "logging/schemes/aether/consolidation_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "logging/schemes/common/handoff_lock.h"

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

// Threads insert into a log that has positions but no bytes. Each region must begin where the
// previous region ends, each of its bytes must belong to one thread, and only the last member
// releases it.
TEST(ConsolidationArray, EveryByteBelongsToOneOfManyThreads) {
  constexpr uint32_t kThreads = 8, kInserts = 800;
  ConsolidationArray array(2, kThreads, 2000);
  HandoffLock lock(kThreads);
  uint64_t next = 0;
  std::atomic<uint64_t> released{0}, followers{0};
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> owned(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      // On a loaded machine the threads may run one after the other. Then they continue until one
      // of them has joined another's group.
      const auto more = [&](uint32_t i) {
        return i < kInserts || (followers.load() == 0 && i < 1000 * kInserts);
      };
      for (uint32_t i = 0; more(i); ++i) {
        const uint64_t bytes = random() % 64 == 0 ? 1600 : 48;
        const auto [slot, offset] = array.join(bytes, random());
        Region region;
        if (offset == 0) {
          lock.lock();
          if (random() % 8 == 0) std::this_thread::yield();
          const uint64_t begin = next;
          next += array.close(*slot);
          region = {.begin = begin, .end = next, .node = 0};
          lock.unlock();
          array.notify(*slot, region);
        } else {
          followers.fetch_add(1);
          region = array.wait(*slot);
        }
        owned[t].emplace_back(region.begin + offset, bytes);
        if (random() % 16 == 0) std::this_thread::yield();
        if (array.leave(*slot, bytes)) {
          array.free(*slot);
          released.fetch_add(region.end - region.begin);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::pair<uint64_t, uint64_t>> all;
  for (const auto& one : owned) all.insert(all.end(), one.begin(), one.end());
  std::sort(all.begin(), all.end());
  uint64_t end = 0;
  for (const auto& [begin, bytes] : all) {
    ASSERT_EQ(begin, end) << "bytes belong to two threads, or to none";
    end = begin + bytes;
  }
  EXPECT_EQ(end, next);
  EXPECT_EQ(released.load(), next) << "regions were released twice, or not at all";
  EXPECT_GT(followers.load(), 0u) << "no group ever formed";
}

}  // namespace
}  // namespace logjam
