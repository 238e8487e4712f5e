// Parallel loops: each part runs exactly once, and any thread sees the part's effects after the
// join. Some counters are not atomic, so that ThreadSanitizer checks the join.
#include "platform/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "platform/thread.h"
#include "tests/allowed_now.h"

namespace logjam::platform {
namespace {

using Counts = std::vector<uint32_t>;

TEST(ParallelParts, EachPartRunsOnceForAnyNumberOfThreads) {
  for (const uint32_t parts : {0u, 1u, 2u, 7u, 1000u}) {
    for (const uint32_t threads : {1u, 2u, 5u, 64u}) {
      Counts ran(parts);
      parallel_for_parts(parts, threads, [&](uint32_t part) { ++ran[part]; });
      EXPECT_EQ(ran, Counts(parts, 1)) << parts << " parts, " << threads << " threads";
    }
  }
}

TEST(ParallelParts, EachPartRunsOnceForAnyNumberOfNodes) {
  for (const int nodes : {1, 3}) {
    for (const uint32_t parts : {0u, 1u, 2u, 16u}) {
      Counts ran(parts);
      parallel_for_parts_by_node(
          parts, [&](uint32_t part) { return static_cast<int>(part) % nodes; },
          [&](uint32_t part) { ++ran[part]; });
      EXPECT_EQ(ran, Counts(parts, 1)) << parts << " parts, " << nodes << " nodes";
    }
  }
}

TEST(ParallelParts, NoMorePartsRunAtOnceThanThreadsAreGiven) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  parallel_for_parts(64, 3, [&](uint32_t) {
    const int now = ++running;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    sleep_ns(200'000);
    --running;
  });
  EXPECT_LE(most, 3);
}

TEST(ParallelParts, PartsSeeEarlierWritesAndTheCallerSeesTheirs) {
  constexpr uint32_t kParts = 32;
  std::vector<std::string> words(kParts);
  for (uint32_t round = 0; round < 200; ++round) {
    for (std::string& word : words) word = std::to_string(round);
    parallel_for_parts(kParts, 4, [&](uint32_t part) {
      words[part] += "." + words[part] + "." + std::to_string(part);
    });
    const std::string number = std::to_string(round);
    for (uint32_t part = 0; part < kParts; ++part) {
      EXPECT_EQ(words[part], number + "." + number + "." + std::to_string(part));
    }
  }
}

TEST(ParallelParts, APartMayRunAParallelLoop) {
  constexpr uint32_t kOuter = 6, kInner = 9;
  std::vector<Counts> ran(kOuter, Counts(kInner));
  parallel_for_parts(kOuter, 3, [&](uint32_t outer) {
    parallel_for_parts(kInner, 2, [&](uint32_t inner) { ++ran[outer][inner]; });
    EXPECT_EQ(ran[outer], Counts(kInner, 1)) << "the loop returned before all its parts had run";
  });
  EXPECT_EQ(ran, std::vector<Counts>(kOuter, Counts(kInner, 1)));
}

TEST(ParallelParts, SeveralThreadsMayRunLoopsAtOnce) {
  constexpr uint32_t kCallers = 4, kParts = 50;
  std::vector<Counts> ran(kCallers, Counts(kParts));
  std::vector<thread> callers;
  for (Counts& counts : ran) {
    callers.emplace_back(
        [&counts] { parallel_for_parts(kParts, 3, [&counts](uint32_t part) { ++counts[part]; }); });
  }
  for (thread& caller : callers) caller.join();
  EXPECT_EQ(ran, std::vector<Counts>(kCallers, Counts(kParts, 1)));
}

// As in recovery, the parts sleep until a thread outside the loop has done its work.
TEST(ParallelParts, PartsMayWaitForThreadsOutsideTheLoop) {
  std::atomic<bool> read{false};
  thread reader([&] {
    sleep_ns(5'000'000);
    read = true;
  });
  std::atomic<uint32_t> applied{0};
  parallel_for_parts(16, 8, [&](uint32_t) {
    while (!read) sleep_ns(100'000);
    ++applied;
  });
  EXPECT_EQ(applied, 16u);
  reader.join();
}

TEST(ParallelParts, TheCallersAffinityIsRestored) {
  const auto before = static_cast<size_t>(core_count());
  parallel_for_parts_by_node(
      4, [](uint32_t part) { return node_of_core(static_cast<int>(part)); }, [](uint32_t) {});
  EXPECT_EQ(allowed_now().size(), before);
}

TEST(ParallelSort, EqualsASerialSort) {
  std::mt19937_64 random(1);
  for (const size_t size : {0u, 1u, 2u, 1000u, 100'000u}) {
    std::vector<uint64_t> words(size);
    for (uint64_t& word : words) word = random() % (size + 1);
    std::vector<uint64_t> expected = words;
    std::ranges::sort(expected);
    parallel_sort(words, 4);
    EXPECT_EQ(words, expected);
  }
}

}  // namespace
}  // namespace logjam::platform
