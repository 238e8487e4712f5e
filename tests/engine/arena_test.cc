#include "engine/storage/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "platform/clock.h"
#include "platform/memory.h"

namespace logjam {
namespace {

TEST(Arena, AllocationsAreAlignedZeroedAndDisjoint) {
  Arena arena;
  std::byte* previous_end = nullptr;
  std::byte* first = nullptr;
  for (int i = 0; i < 3000; ++i) {
    const size_t align = size_t{1} << (i % 7);
    const size_t bytes = 1 + static_cast<size_t>(i) % 97;
    auto* p = static_cast<std::byte*>(arena.allocate(bytes, align));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0u);
    if (first == nullptr) first = p;
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(p[b], std::byte{0}) << "fresh memory is zero";
    std::memset(p, 0xAB, bytes);
    previous_end = p + bytes;
  }
  EXPECT_NE(first, previous_end);
  EXPECT_GE(arena.allocated_bytes(), 3000u * 49);
}

TEST(Arena, AllocatesMoreThanAChunk) {
  Arena arena;
  constexpr size_t kBig = size_t{20} << 20;
  auto* p = static_cast<std::byte*>(arena.allocate(kBig, 64));
  p[0] = p[kBig - 1] = std::byte{1};
  auto* q = static_cast<std::byte*>(arena.allocate(8));
  q[0] = std::byte{2};
  EXPECT_EQ(p[kBig - 1], std::byte{1});
}

TEST(Arena, FreesOnlyTheLatestAllocation) {
  Arena arena;
  void* a = arena.allocate(64);
  void* b = arena.allocate(64);
  arena.free(a, 64);
  EXPECT_NE(arena.allocate(8), a);
  void* c = arena.allocate(64);
  arena.free(c, 64);
  EXPECT_EQ(arena.allocate(64), c);
  EXPECT_NE(b, c);
}

// Returns how many pages of [start, start + bytes) are in memory.
size_t pages_in_memory(void* start, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(start, bytes, pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

TEST(Arena, AllocatesWhatItPrefaultedFirst) {
  constexpr size_t kPiece = size_t{8} << 20;
  Arena arena;
  arena.prefault(2 * kPiece, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(arena.allocated_bytes(), 0u);
  std::set<void*> pieces;
  for (int i = 0; i < 2; ++i) {
    void* piece = arena.allocate(kPiece, 64);
    EXPECT_TRUE(pieces.insert(piece).second);
    EXPECT_EQ(pages_in_memory(piece, kPiece), kPiece / 4096) << "before it is touched";
  }
  EXPECT_EQ(pages_in_memory(arena.allocate(kPiece, 64), kPiece), 0u) << "no more was asked for";
}

TEST(Arena, KeepsWhatItPrefaultedForAllocationsThatFit) {
  constexpr size_t kBig = size_t{20} << 20;
  Arena arena;
  arena.prefault(1, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(pages_in_memory(arena.allocate(kBig, 64), kBig), 0u) << "it fits in no chunk";
  void* small = arena.allocate(4096, 64);
  EXPECT_EQ(pages_in_memory(small, 4096), 1u);
}

TEST(Arena, PrefaultsWholeHugePagesAndNoMore) {
  constexpr size_t kHugePage = size_t{2} << 20;
  Arena arena;
  arena.prefault(kHugePage + 1, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(pages_in_memory(arena.allocate(4 * kHugePage, 64), 4 * kHugePage),
            2 * kHugePage / 4096);
}

TEST(Arena, StopsPrefaultingInTime) {
  Arena arena;
  arena.prefault(size_t{1} << 40, platform::now_ns());
  EXPECT_EQ(pages_in_memory(arena.allocate(1 << 20, 64), 1 << 20), 0u);
  // The time may also be over in the middle of a chunk.
  constexpr size_t kPiece = size_t{8} << 20;
  void* piece = platform::map_prefaulted(kPiece, kPiece, platform::kFirstTouch, platform::now_ns());
  EXPECT_EQ(pages_in_memory(piece, kPiece), 0u);
  platform::unmap_huge(piece, kPiece);
}

}  // namespace
}  // namespace logjam
