#include "engine/storage/free_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "engine/storage/arena.h"
#include "platform/atomic.h"
#include "platform/spin.h"
#include "platform/thread.h"

namespace logjam {
namespace {

constexpr size_t kBlockBytes = 64;
// 65,536 calls look at the parts of all arenas several times.
constexpr int kCalls = 1 << 16;

void* new_block(Arena& arena) { return arena.allocate(kBlockBytes, alignof(uint64_t)); }

TEST(FreeListTest, TheBlockThatAThreadFreedIsTheNextThatItGets) {
  FreeList list(kBlockBytes);
  Arena arena;
  EXPECT_EQ(list.allocate(arena), nullptr);
  void* const a = new_block(arena);
  void* const b = new_block(arena);
  list.free(a, arena);
  list.free(b, arena);
  EXPECT_EQ(list.count(), 2u);
  EXPECT_EQ(list.allocate(arena), b);
  EXPECT_EQ(list.allocate(arena), a);
  EXPECT_EQ(list.allocate(arena), nullptr);
  EXPECT_EQ(list.count(), 0u);
}

TEST(FreeListTest, AFewBlocksAreLeftToTheirThread) {
  FreeList list(kBlockBytes);
  std::deque<Arena> arenas(32);
  for (Arena& arena : arenas) {
    for (uint64_t i = 1; i < FreeList::kMany; ++i) list.free(new_block(arena), arena);
  }
  Arena other;
  for (int call = 0; call < kCalls; ++call) ASSERT_EQ(list.allocate(other), nullptr);
  EXPECT_EQ(list.count(), 32 * (FreeList::kMany - 1));
}

TEST(FreeListTest, ManyBlocksGoToAThreadThatNeedsThem) {
  constexpr uint64_t kBlocks = 3 * FreeList::kMany;
  FreeList list(kBlockBytes);
  Arena frees, needs;
  std::set<void*> freed;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    void* const block = new_block(frees);
    freed.insert(block);
    list.free(block, frees);
  }
  std::set<void*> got;
  for (int call = 0; call < kCalls && got.size() < kBlocks; ++call) {
    if (void* block = list.allocate(needs)) got.insert(block);
  }
  EXPECT_EQ(got, freed);
  EXPECT_EQ(list.count(), 0u);
  EXPECT_EQ(list.allocate(frees), nullptr);
}

// One arena frees all blocks that others have allocated, which is the worst case. There are never
// many more blocks than are in use. One thread plays all arenas, because the schedule of several
// threads decides how often each finds blocks.
TEST(FreeListTest, BlocksThatOtherArenasFreeAreUsedAgain) {
  constexpr int kArenas = 3, kRounds = 300;
  constexpr uint64_t kInUse = 200;
  const std::deque<Arena> others(300);  // so each of the list's parts belongs to an arena
  FreeList list(kBlockBytes);
  std::deque<Arena> arenas(kArenas);
  Arena frees;
  uint64_t made = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Arena& arena : arenas) {
      std::vector<void*> blocks;
      for (uint64_t i = 0; i < kInUse; ++i) {
        blocks.push_back(list.allocate(arena));
        if (blocks.back() != nullptr) continue;
        blocks.back() = new_block(arena);
        ++made;
      }
      for (void* block : blocks) list.free(block, frees);
    }
  }
  EXPECT_EQ(list.count(), made);
  EXPECT_LT(made, kArenas * kRounds * kInUse / 10) << "nine of ten blocks are used again";
}

// No block has two owners.
TEST(FreeListTest, ThreadsThatUseWhatAnotherFreesAtTheSameTimeShareNoBlock) {
  constexpr int kThreads = 3, kRounds = 200;
  constexpr uint64_t kInUse = 200;
  FreeList list(kBlockBytes);
  std::vector<std::vector<uint64_t*>> handed(kThreads);
  std::vector<platform::Padded<platform::atomic<int>>> turns(kThreads);
  platform::atomic<uint64_t> made{0}, wrong{0};
  std::vector<platform::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto mine = static_cast<uint64_t>(t + 1);
      Arena arena;
      for (int round = 0; round < kRounds; ++round) {
        platform::SpinWait wait;
        while (turns[t]->load() != 2 * round) wait.once();
        for (uint64_t i = 0; i < kInUse; ++i) {
          void* block = list.allocate(arena);
          if (block == nullptr) {
            block = new_block(arena);
            made.fetch_add(1);
          }
          handed[t].push_back(new (block) uint64_t(mine));
        }
        for (const uint64_t* block : handed[t]) wrong.fetch_add(*block != mine);
        turns[t]->store(2 * round + 1);
      }
    });
  }
  Arena arena;
  for (int round = 0; round < kRounds; ++round) {
    for (int t = 0; t < kThreads; ++t) {
      platform::SpinWait wait;
      while (turns[t]->load() != 2 * round + 1) wait.once();
      for (uint64_t* block : handed[t]) list.free(block, arena);
      handed[t].clear();
      turns[t]->store(2 * round + 2);
    }
  }
  for (platform::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(list.count(), made.load());
}

}  // namespace
}  // namespace logjam
