// RocksDB's write groups with real threads: who leads, how large a group is, and many workers.
#include "logging/schemes/rocksdb/write_groups.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

void ignore(uint64_t, const std::byte*, uint32_t) {}

TEST(WriteGroups, AWriterAloneLeadsAndCopiesItself) {
  WriteGroups groups(2);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(groups.link(1, 64), 64 * i);
    int copied = 0;
    groups.hand_over(
        1,
        [&](uint64_t begin, const std::byte*, uint32_t bytes) {
          EXPECT_EQ(begin, 64 * i);
          EXPECT_EQ(bytes, 64u);
          ++copied;
        },
        [] { ADD_FAILURE() << "waits for itself"; });
    EXPECT_EQ(copied, 1);
  }
}

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

// The group of a small leader has at most 128 KiB more. The next writer leads the next group.
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

TEST(WriteGroups, ManyWorkersCopyEachRecordOnceInOrder) {
  const Watchdog watchdog("a writer is forgotten");
  constexpr uint32_t kWorkers = 8;
  constexpr uint64_t kEach = 3'000;
  WriteGroups groups(kWorkers);
  std::atomic<uint64_t> end{0}, wrong{0}, copied{0};
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      std::mt19937_64 random(worker);
      for (uint64_t i = 0; i < kEach; ++i) {
        const auto bytes = static_cast<uint32_t>(8 * (1 + random() % 8));
        const uint64_t begin = groups.link(worker, bytes);
        std::memcpy(groups.memory(worker), &begin, sizeof(begin));
        if (random() % 64 == 0) std::this_thread::yield();
        groups.hand_over(
            worker,
            [&](uint64_t at, const std::byte* record, uint32_t length) {
              if (end != at || std::memcmp(record, &at, sizeof(at)) != 0) ++wrong;
              end = at + length;
              ++copied;
            },
            [] {});
        if (end < begin + bytes) ++wrong;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(copied, kWorkers * kEach);
}

}  // namespace
}  // namespace logjam
