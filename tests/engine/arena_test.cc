#include "engine/storage/arena.h"

#include <gtest/gtest.h>

#include <cstring>

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

}  // namespace
}  // namespace logjam
