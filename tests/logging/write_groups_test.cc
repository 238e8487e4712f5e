// RocksDB's write groups: the records that a leader waits for, and the length of a group.
#include "logging/schemes/rocksdb/write_groups.h"

#include <gtest/gtest.h>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

void ignore(uint64_t, const std::byte*, uint32_t) {}

TEST(WriteGroups, ALeaderSaysThatItWaitsForAMember) {
  const Watchdog watchdog("a leader and a member wait for each other");
  WriteGroups groups(2);
  groups.link(0, 64);
  groups.link(1, 64);
  std::thread member;
  int waits = 0;
  std::vector<uint64_t> copied;
  groups.hand_over(
      0, [&](uint64_t begin, const std::byte*, uint32_t) { copied.push_back(begin); },
      [&] {
        ++waits;
        member = std::thread([&] { groups.hand_over(1, ignore, [] {}); });
      });
  member.join();
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(copied, (std::vector<uint64_t>{0, 64}));
}

TEST(WriteGroups, MembersReturnWhenTheWholeGroupIsCopied) {
  const Watchdog watchdog("a member is forgotten");
  WriteGroups groups(3);
  for (uint32_t worker = 0; worker < 3; ++worker) groups.link(worker, 64);
  std::atomic<bool> back{false};
  std::thread first([&] {
    groups.hand_over(1, ignore, [] {});
    back = true;
  });
  std::thread last([&] { groups.hand_over(2, ignore, [] {}); });
  groups.hand_over(
      0,
      [&](uint64_t begin, const std::byte*, uint32_t) {
        for (int i = 0; begin == 128 && i < 1000; ++i) {
          EXPECT_FALSE(back) << "the last record of the group is not copied";
          std::this_thread::yield();
        }
      },
      [] {});
  first.join();
  last.join();
}

// A leader with a small record takes at most 128 KiB of others' records into its group.
TEST(WriteGroups, AGroupIsBounded) {
  const Watchdog watchdog("the lead is lost");
  constexpr uint32_t kLarge = 100 << 10;
  WriteGroups groups(3);
  groups.link(0, 64);
  groups.link(1, kLarge);
  groups.link(2, kLarge);
  std::atomic<int> of_leader{0}, of_next{0};
  std::thread second([&] {
    groups.hand_over(
        1, [&](uint64_t, const std::byte*, uint32_t) { ++of_next; }, [] {});
  });
  std::thread third([&] {
    groups.hand_over(
        2, [&](uint64_t, const std::byte*, uint32_t) { ++of_next; }, [] {});
  });
  groups.hand_over(
      0, [&](uint64_t, const std::byte*, uint32_t) { ++of_leader; }, [] {});
  second.join();
  third.join();
  EXPECT_EQ(of_leader, 2);
  EXPECT_EQ(of_next, 1);
}

}  // namespace
}  // namespace logjam
