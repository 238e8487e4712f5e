// The caches that cores share: one a socket, or one a complex; and what loading leaves in them.
#include <gtest/gtest.h>

#include <utility>

#include "sim/machine/charge.h"
#include "tests/sim/test_caches.h"

namespace logjam::sim {
namespace {

// Two complexes a socket: cores 0 and 1, 2 and 3, and those of the other sockets.
Profile profile_of_complexes() {
  Profile profile = small_profile();
  profile.complexes = 2;
  return profile;
}

TEST(SharedCaches, BetweenTheComplexesOfASocketALineHasPricesOfItsOwn) {
  TestCaches caches(profile_of_complexes());
  const uint32_t line = line_of_new_page();
  for (const bool write : {false, true}) {
    caches.store(0, line);
    EXPECT_EQ(caches.access(1, line, write), 110U);
    caches.store(0, line);
    EXPECT_EQ(caches.access(2, line, write), 160U);
    caches.store(0, line);
    EXPECT_EQ(caches.access(kNextSocket, line, write), 280U);
  }
  EXPECT_EQ(caches->counts().other_complex, 3U) << "core 2, twice, and what core 0 takes back";
}

TEST(SharedCaches, EachComplexHasASharedCache) {
  TestCaches caches(profile_of_complexes());
  const uint32_t line = line_of_new_page();
  EXPECT_EQ(caches.load(0, line), 220U);
  EXPECT_EQ(caches.load(1, line), 110U) << "core 0 may write it";
  EXPECT_EQ(caches.load(2, line), 130U);
  EXPECT_EQ(caches.load(3, line), 45U);
  EXPECT_EQ(caches.load(kNextSocket, line), 200U);
  EXPECT_EQ(caches->line(line).shared_caches, 0b111U) << "complexes 0 to 2";
  EXPECT_EQ(caches.store(1, line), 250U) << "the farthest sharer is one hop away";
  caches.load(3, line);
  EXPECT_EQ(caches.store(1, line), 125U);
}

TEST(SharedCaches, MemoryIsAsFarForAllComplexesOfItsSocket) {
  TestCaches caches(profile_of_complexes());
  EXPECT_EQ(caches.load(0, line_of_new_page(0)), 220U);
  EXPECT_EQ(caches.load(3, line_of_new_page(0)), 220U);
  EXPECT_EQ(caches.load(3, line_of_new_page(1)), 330U);
  EXPECT_EQ(caches.load(3, line_of_new_page(3)), 420U);
}

TEST(SharedCaches, AFarAtomicFetchesTheLineFromTheSocketThatHasIt) {
  Profile profile = small_profile();
  profile.far_atomic_cycles = 24;
  TestCaches caches(profile);
  const uint32_t line = line_of_new_page();
  Picoseconds now = 5'000'000'000;
  const auto atomic = [&](uint32_t core) {
    const auto [begins, latency] = caches->far_atomic(caches->core(core), line, now);
    return std::pair((begins - now) / kCycle, latency / kCycle);
  };
  EXPECT_EQ(atomic(kHere), (std::pair<Picoseconds, Picoseconds>(0, 220)));
  now += 1'000'000'000;
  EXPECT_EQ(atomic(kHere), (std::pair<Picoseconds, Picoseconds>(0, 45)));
  EXPECT_EQ(atomic(kNeighbour), (std::pair<Picoseconds, Picoseconds>(24, 45)));
  now += 1'000'000'000;
  EXPECT_EQ(atomic(kNextSocket), (std::pair<Picoseconds, Picoseconds>(0, 250)));
  EXPECT_EQ(atomic(kHere), (std::pair<Picoseconds, Picoseconds>(125, 250))) << "it was on its way";
  EXPECT_EQ(caches->line(line).sharers[0], 0U) << "no core keeps it";
}

TEST(SharedCaches, LoadedLinesAreInTheSharedCachesOfTheirHome) {
  TestCaches complexes(profile_of_complexes());
  const uint32_t page = line_of_new_page();
  for (uint32_t line = page; line < page + 4; ++line) {
    complexes->warm(line);
    EXPECT_EQ(complexes.load(0, line), line % 2 == 0 ? 45U : 130U);
  }
}

TEST(SharedCaches, ALoadedLineIsInASharedCacheAndInNoCore) {
  TestCaches caches(small_profile());
  for (const uint32_t home : {0U, 1U}) {
    const uint32_t line = line_of_new_page(home);
    caches->warm(line);
    EXPECT_EQ(caches.load(kHere, line), home == 0 ? 45U : 200U);
    EXPECT_EQ(caches->line(line).sharers[0], 1U) << "no core had it";
  }
}

TEST(SharedCaches, WhatWasLoadedFirstLeavesTheSharedCacheFirst) {
  Profile profile = small_profile();
  profile.l3_mib = 1 / 64.0;  // 16 sets of 16 ways
  TestCaches caches(profile);
  const uint32_t page = line_of_new_page();
  for (int i = 0; i < 4; ++i) line_of_new_page();
  for (uint32_t way = 0; way < 16; ++way) caches->warm(page + 16 * way);
  caches->warm(page);
  caches->warm(page + 16 * 16);
  EXPECT_EQ(caches.load(kHere, page), 45U) << "it was touched again";
  EXPECT_EQ(caches.load(kHere, page + 16), 220U);
}

// The filter of warm() lets no line grow old that is touched all the time.
TEST(SharedCaches, ALineThatIsTouchedAllTheTimeStaysWhileOthersPass) {
  Profile profile = small_profile();
  profile.l3_mib = 1;
  TestCaches caches(profile);
  constexpr uint32_t kCapacity = 1 << 14;  // lines
  const uint32_t hot = line_of_new_page();
  uint32_t touched_once = 0;
  for (uint32_t passed = 0; passed < 2 * kCapacity; passed += kPageBytes / kLineBytes) {
    const uint32_t page = line_of_new_page();
    if (passed == 0) touched_once = page;
    for (uint32_t line = page; line < page + kPageBytes / kLineBytes; ++line) {
      caches->warm(hot);
      caches->warm(line);
    }
  }
  EXPECT_EQ(caches.load(kHere, hot), 45U);
  EXPECT_EQ(caches.load(kHere, touched_once), 220U);
}

TEST(SharedCaches, TheObserverPutsBackWhatCoresHaveDrivenOut) {
  Profile profile = small_profile();
  profile.l3_mib = 1 / 64.0;  // 256 lines
  RunningMachine machine(profile, 1);
  const void* hot = address_of(line_of_new_page());
  const uint32_t page = line_of_new_page();
  constexpr uint32_t kPages = 64;
  for (uint32_t i = 1; i < kPages; ++i) line_of_new_page();
  const auto shared = [&] { return machine->caches().line(line_of(hot)).shared_caches != 0; };
  access(nullptr, hot, 1, Access::kLoad);
  EXPECT_TRUE(shared());
  machine.run_pinned({[&] {
    for (uint32_t line = page; line < page + kPages * (kPageBytes / kLineBytes); ++line) {
      access(nullptr, address_of(line), 1, Access::kLoad);
    }
  }});
  EXPECT_FALSE(shared());
  access(nullptr, hot, 1, Access::kLoad);
  EXPECT_TRUE(shared());
}

}  // namespace
}  // namespace logjam::sim
