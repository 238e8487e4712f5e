#include "sim/region.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

constexpr size_t kPages = 4;
constexpr size_t kBytes = kPages * kPageBytes;
constexpr uint32_t kLinesOfPage = kPageBytes / kLineBytes;

class Region : public testing::Test {
 protected:
  // Returns pages that no other test uses.
  char* take_pages(size_t pages, uint32_t socket) {
    line_of_new_page();  // maps the region
    return static_cast<char*>(take(pages * kPageBytes, kPageBytes, socket));
  }
};

TEST_F(Region, TheSecondHalfOfARingHasTheLinesOfTheFirst) {
  char* ring = take_pages(2 * kPages, 0);
  char* next = take_pages(1, 0);
  alias(ring, ring + kBytes, kBytes);
  for (size_t at = 0; at < kBytes; at += kLineBytes) {
    EXPECT_EQ(resolve_alias(line_of(ring + at)), line_of(ring + at));
    EXPECT_EQ(resolve_alias(line_of(ring + kBytes + at)), line_of(ring + at));
  }
  EXPECT_EQ(resolve_alias(line_of(next)), line_of(next));
}

TEST_F(Region, MemoryIsAtHomeOnTheSocketItWasTakenFor) {
  char* before = take_pages(1, 2);
  char* pages = take_pages(kPages, 3);
  char* after = take_pages(1, 1);
  EXPECT_EQ(home_of(line_of(before)), 2U);
  EXPECT_EQ(home_of(line_of(pages)), 3U);
  EXPECT_EQ(home_of(line_of(pages + kBytes - 1)), 3U);
  EXPECT_EQ(home_of(line_of(after)), 1U);
  set_home(pages + kPageBytes, kPageBytes, 0);
  EXPECT_EQ(home_of(line_of(pages)), 3U);
  EXPECT_EQ(home_of(line_of(pages + kPageBytes)), 0U);
  EXPECT_EQ(home_of(line_of(pages + 2 * kPageBytes)), 3U);
}

TEST_F(Region, InterleavedPagesAreAtHomeOnOneSocketAfterTheOther) {
  char* pages = take_pages(kPages, 0);
  interleave_homes(pages, kBytes, std::array{1, 3});
  for (size_t page = 0; page + 2 < kPages; ++page) {
    const uint32_t line = line_of(pages + page * kPageBytes);
    EXPECT_EQ(home_of(line) + home_of(line + kLinesOfPage), 4U);
    EXPECT_EQ(home_of(line), home_of(line + 2 * kLinesOfPage));
    EXPECT_EQ(home_of(line), home_of(line + kLinesOfPage - 1));
  }
}

TEST_F(Region, ALineAndItsAddressNameEachOther) {
  const char* page = take_pages(1, 0);
  EXPECT_EQ(address_of(line_of(page + 100)), page + kLineBytes);
  const void* variable = reinterpret_cast<const void*>(uintptr_t{0x400040});
  EXPECT_EQ(address_of(line_of(variable)), variable);
  EXPECT_EQ(home_of(line_of(variable)), 0U);
  EXPECT_EQ(resolve_alias(line_of(variable)), line_of(variable));
  int of_the_host = 0;
  EXPECT_EQ(line_of(&of_the_host), kNoLine);
}

TEST_F(Region, WhatIsTakenIsAlignedZeroedAndNobodyElses) {
  char* first = take_pages(1, 0);
  const uint64_t before = taken_bytes();
  char* second = static_cast<char*>(take(100, 64 * kPageBytes, 0));
  EXPECT_GE(second, first + kPageBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % (64 * kPageBytes), 0U);
  EXPECT_TRUE(in_region(second));
  for (size_t at = 0; at < kPageBytes; ++at) EXPECT_EQ(second[at], 0);
  EXPECT_GE(taken_bytes(), before + kPageBytes);
  EXPECT_GE(take(1, kPageBytes, 0), second + kPageBytes);
}

}  // namespace
}  // namespace logjam::sim
