#include "sim/machine/caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "sim/machine/charge.h"
#include "tests/sim/test_caches.h"

namespace logjam::sim {
namespace {

TEST(Caches, AnOwnLineCostsNothingInTheFirstAndItsPriceInTheSecondLevel) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(kHere, line);
  EXPECT_EQ(caches.load(kHere, line), 0U);
  EXPECT_EQ(caches.store(kHere, line), 0U);
  // These two lines share a set with `line` in the L1, but not in the L2.
  caches.load(kHere, line + 8), caches.load(kHere, line + 24);
  ASSERT_FALSE(caches.in_l1(kHere, line));
  EXPECT_EQ(caches.store(kHere, line), 12U);
  EXPECT_EQ(caches.store(kHere, line), 0U);
}

TEST(Caches, ALineThatNobodyHasComesFromTheMemoryOfItsHome) {
  TestCaches caches(small_profile());
  for (const bool write : {false, true}) {
    EXPECT_EQ(caches.access(kHere, line_of_new_page(0), write), 220U);
    EXPECT_EQ(caches.access(kHere, line_of_new_page(1), write), 330U);
    EXPECT_EQ(caches.access(kHere, line_of_new_page(3), write), 420U);
    EXPECT_EQ(caches.access(kAcross, line_of_new_page(0), write), 420U);
  }
}

TEST(Caches, AModifiedLineOfAnotherCoreCostsByItsDistance) {
  TestCaches caches(small_profile());
  const uint32_t page = line_of_new_page();
  for (uint32_t line = page; line < page + 2; ++line) {
    const bool write = line != page;
    caches.store(kHere, line);
    EXPECT_EQ(caches.access(kNeighbour, line, write), 110U);
    caches.store(kHere, line);
    EXPECT_EQ(caches.access(kNextSocket, line, write), 280U);
    caches.store(kHere, line);
    EXPECT_EQ(caches.access(kAcross, line, write), 400U);
  }
}

TEST(Caches, ACleanLineOfOtherCoresCostsByTheNearestOne) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(kHere, line), caches.load(kNeighbour, line);
  EXPECT_EQ(caches.load(kOtherNeighbour, line), 45U);
  EXPECT_EQ(caches.load(kAcross, line), 300U);
  EXPECT_EQ(caches.load(kAcrossToo, line), 45U);
  EXPECT_EQ(caches.load(kNextSocket, line), 200U);
  EXPECT_EQ(caches.load(kNextSocketToo, line), 45U);
}

TEST(Caches, AStoreToASharedLineCostsByTheFarthestSharer) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  const auto share = [&](uint32_t with) {
    caches.store(kHere, line), caches.load(kNeighbour, line), caches.load(with, line);
  };
  share(kOtherNeighbour);
  EXPECT_EQ(caches.store(kHere, line), 80U);
  share(kNextSocket);
  EXPECT_EQ(caches.store(kHere, line), 250U);
  share(kAcross);
  EXPECT_EQ(caches.store(kHere, line), 350U);
  // A core that stores to a line that it does not have waits for two things at the same time: the
  // transfer of the line, and the invalidation of the other copies. The longer time counts.
  share(kAcross);
  EXPECT_EQ(caches.store(kAcrossToo, line), 350U);
  share(kNeighbour);
  EXPECT_EQ(caches.store(kOtherNeighbour, line), 80U);
}

TEST(Caches, AnEvictedLineIsInTheSharedCacheOfItsSocket) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page(3);
  caches.store(kHere, line);
  caches.evict(kHere, line);
  EXPECT_EQ(caches.load(kHere, line), 45U);
  caches.store(kHere, line);
  caches.evict(kHere, line);
  EXPECT_EQ(caches.load(kAcross, line), 300U);
  EXPECT_EQ(caches->line(line).sharers[0], uint64_t{1} << kAcross);
}

TEST(Caches, MemoryAnswersForACleanLineIfItIsNearer) {
  TestCaches caches(small_profile());
  const uint32_t near = line_of_new_page(3), far = line_of_new_page(0);
  for (const uint32_t line : {near, far}) {
    caches.load(kHere, line);
    caches.load(kHere + 1, line);  // now no core owns the line exclusively
  }
  EXPECT_EQ(caches.load(kAcross, near), 220U) << "its own memory";
  EXPECT_EQ(caches.load(kAcross, far), 300U) << "memory takes 420 from there";
}

TEST(Caches, ACoreThatAloneHasALineAsksAllTheSame) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.load(kHere, line);
  caches.load(kHere + 1, line);
  caches.evict(kHere + 1, line);
  EXPECT_EQ(caches.store(kHere, line), 80U);
  EXPECT_EQ(caches.store(kHere, line), 0U);
}

TEST(Caches, ManySharersTakeLongerToInvalidate) {
  Profile profile = small_profile();
  profile.sharer_cycles = 7;
  TestCaches caches(profile);
  const uint32_t line = line_of_new_page();
  for (uint32_t core = 0; core < 4; ++core) caches.load(core, line);
  EXPECT_EQ(caches.store(0, line), 80U + 2 * 7);
}

TEST(Caches, ReadersOfACleanLineAreServedOneAfterTheOther) {
  Profile profile = small_profile();
  profile.read_occupancy_cycles = 10;
  TestCaches caches(profile);
  const uint32_t line = line_of_new_page();
  caches.load(0, line);
  caches.load(1, line);
  const Picoseconds later = 50'000'000'000'000;
  EXPECT_EQ(caches.access_at(2, line, false, later), 45U);
  EXPECT_EQ(caches.access_at(3, line, false, later), 55U);
}

TEST(Caches, WithoutASharedCacheAnEvictedLineIsInMemory) {
  Profile profile = small_profile();
  profile.l3_mib = 0;
  TestCaches caches(profile);
  const uint32_t line = line_of_new_page(3);
  caches.store(kHere, line);
  caches.evict(kHere, line);
  EXPECT_EQ(caches.load(kHere, line), 420U);
  EXPECT_EQ(caches.store(kNeighbour, line), 110U);
  caches.load(kHere, line);
  EXPECT_EQ(caches.load(kOtherNeighbour, line), 45U) << "from a core that has it clean";
  caches.load(kNextSocket, line);
  EXPECT_EQ(caches.store(kAcross, line), 350U) << "the farthest sharer is not the last one";
}

// The shared cache of this machine has one set of two ways, and each private cache has one line.
Profile tiny_caches() {
  Profile profile = small_profile();
  profile.l1_kib = 1 / 16.0;
  profile.l1_ways = 1;
  profile.l2_kib = 0;
  profile.l3_mib = 1 / 8192.0;
  profile.l3_ways = 2;
  return profile;
}

TEST(Caches, AnInvalidatedLineMakesRoomInTheSharedCache) {
  TestCaches caches(tiny_caches());
  const uint32_t line = line_of_new_page();
  caches.load(kNextSocket, line), caches.load(kNextSocket, line + 1);
  caches.store(kHere, line + 1);
  caches.load(kNextSocket, line + 2);
  EXPECT_EQ(caches.load(kNextSocketToo, line), 45U);
}

TEST(Caches, TheLeastRecentlyUsedLineLeavesTheSharedCache) {
  TestCaches caches(tiny_caches());
  const uint32_t line = line_of_new_page();
  caches.load(0, line), caches.load(1, line);
  caches.load(0, line + 1), caches.load(3, line + 1);
  EXPECT_EQ(caches.load(2, line), 45U);
  for (const uint32_t core : {0, 1, 2}) caches.load(core, line + 2);
  EXPECT_EQ(caches.load(3, line), 45U);
}

TEST(Caches, ALineThatAnotherSocketsCacheHasIsNotExclusive) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(kNextSocket, line);
  caches.evict(kNextSocket, line);
  EXPECT_EQ(caches.load(kHere, line), 200U);
  EXPECT_EQ(caches.store(kHere, line), 250U) << "the other socket's copy is invalidated";
  caches.evict(kHere, line);
  EXPECT_EQ(caches.load(kNextSocket, line), 200U) << "the other socket's old copy answers";
}

TEST(Caches, MemorySendsOneLineAfterTheOther) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page(0), elsewhere = line_of_new_page(1);
  constexpr Picoseconds kNow = 5'000'000;
  EXPECT_EQ(caches.access_at(0, line, false, kNow), 220U);
  EXPECT_EQ(caches.access_at(1, line + 1, false, kNow), 230U);
  EXPECT_EQ(caches.access_at(2, line + 2, false, kNow), 240U);
  EXPECT_EQ(caches.access_at(3, elsewhere, false, kNow), 330U);
}

TEST(Caches, CoresThatAddToOneLineAtOneTimeFinishOneAfterTheOther) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(3, line);
  constexpr Picoseconds kNow = 5'000'000'000;
  EXPECT_EQ(caches.access_at(0, line, true, kNow), 110U);
  EXPECT_EQ(caches.access_at(1, line, true, kNow), 110U + 55U);
  EXPECT_EQ(caches.access_at(2, line, true, kNow), 110U + 2 * 55U);
  EXPECT_EQ(caches.access_at(3, line, true, kNow), 110U + 3 * 55U);
  EXPECT_EQ(caches.access_at(kAcross, line, true, kNow), 110U + 3 * 55U + 400U);
  EXPECT_EQ(caches->line(line).transfers, 5U);
  EXPECT_EQ(caches->counts().waits_for_line, 4U);
}

TEST(Caches, BetweenSocketsALineWaitsForItsHomesTurn) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(kHere, line);
  constexpr Picoseconds kNow = 5'000'000'000;
  constexpr Picoseconds kHop = 280, kTwoHops = 400, kWayOfAHop = (280 - 160) / 2;
  Picoseconds expected = kHop;
  EXPECT_EQ(caches.access_at(kNextSocket, line, true, kNow), expected);
  EXPECT_EQ(caches.access_at(kHere, line, true, kNow), expected += kHop);
  EXPECT_EQ(caches.access_at(kAcross, line, true, kNow), expected += kTwoHops);
  // The home is two hops from the owner and one hop from the core that asks, which are neighbours.
  expected += kHop + 2 * kWayOfAHop;
  EXPECT_EQ(caches.access_at(kNextSocket, line, true, kNow), expected);
  EXPECT_EQ(caches.access_at(kNextSocketToo, line, true, kNow), expected += 55U) << "no home asked";
  EXPECT_EQ(caches.access_at(kHere, line, false, kNow), expected += kHop);
  EXPECT_EQ(caches.access_at(kHere, line, true, kNow), expected += 250) << "an upgrade";
}

TEST(Caches, AHubAsksTheOwnerWithoutADetourByTheHome) {
  for (const auto& [interconnect, detour] : {std::pair("full", 60U), std::pair("hub", 0U)}) {
    Profile profile = small_profile();
    profile.interconnect = interconnect;
    TestCaches caches(profile);
    const uint32_t line = line_of_new_page();
    caches.store(kNextSocket, line);
    constexpr Picoseconds kNow = 5'000'000'000;
    EXPECT_EQ(caches.access_at(kAcross, line, true, kNow), 280U);
    EXPECT_EQ(caches.access_at(kNextSocket, line, true, kNow), 280U + 280U + detour);
  }
}

TEST(Caches, ALineComesToNoCoreBeforeItHasComeToTheLastOne) {
  TestCaches caches(small_profile());
  const uint32_t cold = line_of_new_page(3), warm = line_of_new_page();
  constexpr Picoseconds kNow = 5'000'000'000;
  EXPECT_EQ(caches.access_at(0, cold, true, kNow), 420U);
  EXPECT_EQ(caches.access_at(1, cold, true, kNow), 420U + 55U);
  EXPECT_EQ(caches.access_at(2, cold, false, kNow), 420U + 2 * 55U);
  caches.access_at(kAcross, warm, true, kNow);
  EXPECT_EQ(caches.access_at(0, warm, true, 2 * kNow), 400U);
  EXPECT_EQ(caches.access_at(1, warm, true, 2 * kNow), 400U + 55U);
}

TEST(Caches, ManyReadACleanLineAtOnce) {
  TestCaches caches(small_profile());
  const uint32_t line = line_of_new_page();
  caches.store(0, line), caches.load(1, line);
  constexpr Picoseconds kNow = 5'000'000'000;
  EXPECT_EQ(caches.access_at(kAcross, line, false, kNow), 300U);
  EXPECT_EQ(caches.access_at(2, line, false, kNow), 45U);
  EXPECT_EQ(caches.access_at(3, line, false, kNow), 45U);
}

TEST(Caches, AStreamIsNoticedByItsLines) {
  TestCaches caches(small_profile());
  Core& core = caches->core(0);
  for (uint32_t at = 0; at < 4; ++at) {
    EXPECT_EQ(Caches::stream_of(core, 1000 + at).lines, at);
    EXPECT_EQ(Caches::stream_of(core, 2000 + at).lines, at);
    EXPECT_EQ(Caches::stream_of(core, 3000 + 2 * at).lines, 0U);
  }
}

// Eight cores on two sockets access random lines. There are more lines than the caches can hold.
class CachesProperty : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint32_t kCores = 8, kLinesUsed = 500;

  static Profile profile() {
    Profile profile = small_profile();
    profile.sockets = 2;
    profile.l2_kib = GetParam() ? 2 : 0;
    profile.l3_mib = 1 / 128.0;
    return profile;
  }
  void check(uint32_t number) {
    const Line& line = caches_->line(number);
    const uint32_t owner = line.owner_plus_1;
    if (owner != 0) {
      ASSERT_EQ(line.sharers[0], uint64_t{1} << (owner - 1)) << "an owner is the only sharer";
      ASSERT_EQ(line.shared_caches & (owner <= kCores / 2 ? 2 : 1), 0) << "another socket has it";
    }
    for (uint32_t core = 0; core < kCores; ++core) {
      const bool sharer = (line.sharers[0] >> core & 1) != 0;
      const bool first = caches_.in_l1(core, number), second = caches_.in_l2(core, number);
      if (GetParam()) {
        ASSERT_EQ(second, sharer) << "core " << core;
        ASSERT_TRUE(second || !first) << "core " << core;
        ASSERT_EQ(caches_.in_l2(core, number, true), owner == core + 1) << "core " << core;
      } else {
        ASSERT_EQ(first, sharer) << "core " << core;
      }
      ASSERT_EQ(caches_.in_l1(core, number, true), first && owner == core + 1) << "core " << core;
    }
  }

  TestCaches caches_{profile()};
};

TEST_P(CachesProperty, ACoreHasTheTagIfAndOnlyIfTheLineNamesIt) {
  std::vector<uint32_t> lines;
  while (lines.size() < kLinesUsed) {
    const uint32_t page = line_of_new_page(lines.size() % 2);
    for (uint32_t line = 0; line < 50; ++line) lines.push_back(page + line);
  }
  std::mt19937 random(3);
  for (uint32_t step = 0; step < 100'000; ++step) {
    // Lines with small indexes are chosen more often.
    const uint32_t line = lines[std::min(random() % kLinesUsed, random() % kLinesUsed)];
    caches_.access(random() % kCores, line, random() % 3 == 0);
    if (step % 8 == 0) check(line);
    if (step % 2000 == 0) {
      for (const uint32_t other : lines) check(other);
    }
    ASSERT_FALSE(HasFatalFailure()) << "step " << step;
  }
  const AccessCounts& counts = caches_->counts();
  for (const uint64_t count : {counts.shared_cache, counts.other_core, counts.other_socket,
                               counts.memory, counts.remote_memory, counts.upgrades}) {
    EXPECT_GT(count, 1000U) << "the accesses are of every kind";
  }
}
INSTANTIATE_TEST_SUITE_P(, CachesProperty, testing::Bool(),
                         [](const auto& info) { return info.param ? "TwoLevels" : "OneLevel"; });

// Returns a profile of complexes of two cores. Each complex has a shared cache.
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

TEST(SharedCaches, BetweenTheComplexesOfASocketALineWaitsForItsHomesTurn) {
  TestCaches caches(profile_of_complexes());
  constexpr Picoseconds kNow = 5'000'000'000, kWayOfAHop = (280 - 160) / 2;
  for (const uint32_t home : {0, 1}) {
    const uint32_t line = line_of_new_page(home);
    caches.store(0, line);
    EXPECT_EQ(caches.access_at(2, line, true, kNow), 160U);
    EXPECT_EQ(caches.access_at(0, line, true, kNow), 160U + 160U + home * 2 * kWayOfAHop);
  }
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
  EXPECT_EQ(atomic(kHere), (std::pair<Picoseconds, Picoseconds>(250, 250))) << "it was on its way";
  EXPECT_EQ(caches->line(line).sharers[0], 0U) << "no core keeps it";
}

TEST(SharedCaches, ALoadedLineIsInASharedCacheOfItsHomeAndInNoCore) {
  TestCaches caches(profile_of_complexes());
  const uint32_t page = line_of_new_page(), elsewhere = line_of_new_page(1);
  uint32_t expected = 0;
  for (uint32_t line = page; line < page + 4; ++line) {
    caches->warm(line);
    caches->fill_shared_caches();
    const uint32_t cache = caches->line(line).shared_caches;
    EXPECT_EQ(cache, line == page ? cache : expected) << "the complexes take lines in turn";
    expected = cache == 1 ? 2 : 1;
    EXPECT_EQ(caches.load(kHere, line), cache == 1 ? 45U : 130U);
    EXPECT_EQ(caches->line(line).sharers[0], 1U) << "no core had it";
  }
  caches->warm(elsewhere);
  caches->fill_shared_caches();
  EXPECT_EQ(caches.load(kHere, elsewhere), 200U);
}

TEST(SharedCaches, LoadedLinesFillAllSetsOfAllComplexes) {
  Profile profile = profile_of_complexes();
  profile.l3_mib = 1 / 64.0;  // 256 lines in each of two complexes
  TestCaches caches(profile);
  const uint32_t page = line_of_new_page();
  for (uint32_t lines = kPageBytes / kLineBytes; lines < 512; lines += kPageBytes / kLineBytes) {
    line_of_new_page();
  }
  for (uint32_t line = page; line < page + 512; ++line) caches->warm(line);
  caches->fill_shared_caches();
  for (uint32_t line = page; line < page + 512; ++line) {
    EXPECT_NE(caches->line(line).shared_caches, 0U);
  }
}

TEST(SharedCaches, WhatWasLoadedFirstLeavesTheSharedCacheFirst) {
  Profile profile = small_profile();
  profile.l3_mib = 1 / 64.0;  // 16 sets of 16 ways
  RunningMachine machine(profile, 1);
  const uint32_t page = line_of_new_page();
  for (int i = 0; i < 4; ++i) line_of_new_page();
  const auto touch = [](uint32_t line) { access(nullptr, address_of(line), 1, Access::kLoad); };
  for (uint32_t way = 0; way < 16; ++way) touch(page + 16 * way);
  touch(page);
  touch(page + 16 * 16);
  machine.run_pinned({[&] {
    EXPECT_NE(machine->caches().line(page).shared_caches, 0U) << "it was touched again";
    EXPECT_EQ(machine->caches().line(page + 16).shared_caches, 0U);
  }});
}

// Only the last touch of a line counts. So a line that is touched often is not evicted.
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
  caches->fill_shared_caches();
  EXPECT_EQ(caches.load(kHere, hot), 45U);
  EXPECT_EQ(caches.load(kHere, touched_once), 220U);
}

TEST(SharedCaches, AfterManyTouchesTheLoadFillsTheSharedCaches) {
  TestCaches caches(small_profile());
  constexpr uint32_t kMostTouches = 1 << 24;
  const uint32_t line = line_of_new_page();
  for (uint32_t touch = 0; touch < kMostTouches; ++touch) caches->warm(line + touch % 2);
  EXPECT_EQ(caches->line(line).shared_caches, 0U);
  caches->warm(line + 2);
  EXPECT_NE(caches->line(line).shared_caches, 0U);
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
  machine.run_pinned({[&] {
    EXPECT_TRUE(shared());
    for (uint32_t line = page; line < page + kPages * (kPageBytes / kLineBytes); ++line) {
      access(nullptr, address_of(line), 1, Access::kLoad);
    }
  }});
  EXPECT_FALSE(shared());
  access(nullptr, hot, 1, Access::kLoad);
  machine.run_pinned({[&] { EXPECT_TRUE(shared()); }});
}

}  // namespace
}  // namespace logjam::sim
