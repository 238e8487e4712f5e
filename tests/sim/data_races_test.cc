// The accesses that race, and the memory orders that prevent races.
#include "sim/explore/data_races.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/region.h"
#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

// Two threads, 1 and 2, access words of the simulated memory. The accesses have null sites.
class DataRacesTest : public ExplorerTest {
 protected:
  using Kind = DataRaces::Kind;
  bool races(uint32_t thread, const uint64_t& at, Kind kind) {
    return all_.access(thread, nullptr, &at, sizeof at, kind).has_value();
  }
  bool stores(uint32_t thread, const uint64_t& at) { return races(thread, at, Kind::kStore); }
  bool loads(uint32_t thread, const uint64_t& at) { return races(thread, at, Kind::kLoad); }
  void store(uint32_t thread, int order) { all_.stored(thread, nullptr, &flag_, order); }
  void load(uint32_t thread, int order) { all_.loaded(thread, nullptr, &flag_, order); }
  void modify(uint32_t thread, int order) { all_.modified(thread, nullptr, &flag_, order); }

  DataRaces all_;
  const uint64_t &data_ = shared_.x, &flag_ = shared_.y;
};

TEST_F(DataRacesTest, AReleaseAndAnAcquireOrderWhatLiesAroundThem) {
  EXPECT_FALSE(stores(1, data_));
  store(1, __ATOMIC_RELEASE);
  load(2, __ATOMIC_ACQUIRE);
  EXPECT_FALSE(loads(2, data_));
  EXPECT_FALSE(stores(2, data_));
  EXPECT_TRUE(loads(1, data_)) << "the second thread's store is not ordered before it";
}

TEST_F(DataRacesTest, OneOfTheTwoIsNotEnough) {
  for (const auto& [stored, loaded] : {std::pair{__ATOMIC_RELAXED, __ATOMIC_ACQUIRE},
                                       std::pair{__ATOMIC_RELEASE, __ATOMIC_RELAXED}}) {
    all_ = DataRaces();
    EXPECT_FALSE(stores(1, data_));
    store(1, stored);
    load(2, loaded);
    EXPECT_TRUE(loads(2, data_));
  }
}

TEST_F(DataRacesTest, WhatComesAfterTheReleaseIsNotOrdered) {
  store(1, __ATOMIC_RELEASE);
  EXPECT_FALSE(stores(1, data_));
  load(2, __ATOMIC_ACQUIRE);
  EXPECT_TRUE(loads(2, data_));
}

TEST_F(DataRacesTest, TwoLoadsDoNotRaceAndAStoreRacesWithEach) {
  EXPECT_FALSE(loads(1, data_));
  EXPECT_FALSE(loads(2, data_));
  EXPECT_TRUE(stores(3, data_));
  store(1, __ATOMIC_RELEASE);
  load(3, __ATOMIC_ACQUIRE);
  EXPECT_TRUE(stores(3, data_)) << "the second thread's load is not ordered";
}

TEST_F(DataRacesTest, FencesOrderTheRelaxedOperationsBesideThem) {
  EXPECT_FALSE(stores(1, data_));
  all_.fenced(1, __ATOMIC_RELEASE);
  store(1, __ATOMIC_RELAXED);
  load(2, __ATOMIC_RELAXED);
  EXPECT_TRUE(loads(2, data_)) << "the load is not followed by a fence";
  all_.fenced(2, __ATOMIC_ACQUIRE);
  EXPECT_FALSE(loads(2, data_));
}

TEST_F(DataRacesTest, AReadModifyWriteContinuesAReleaseAndAStoreEndsIt) {
  for (const bool modifies : {true, false}) {
    all_ = DataRaces();
    EXPECT_FALSE(stores(1, data_));
    store(1, __ATOMIC_RELEASE);
    modifies ? modify(3, __ATOMIC_RELAXED) : store(3, __ATOMIC_RELAXED);
    load(2, __ATOMIC_ACQUIRE);
    EXPECT_EQ(loads(2, data_), !modifies);
  }
}

TEST_F(DataRacesTest, AReadModifyWriteAcquires) {
  EXPECT_FALSE(stores(1, data_));
  store(1, __ATOMIC_RELEASE);
  modify(2, __ATOMIC_RELEASE);
  EXPECT_TRUE(loads(2, data_));
  modify(2, __ATOMIC_ACQUIRE);
  EXPECT_FALSE(loads(2, data_));
}

// The detector may replace an earlier access by a later one only if every access that races with
// the earlier access also races with the later access.
TEST_F(DataRacesTest, NoAccessIsForgottenForOneThatRacesWithLess) {
  EXPECT_FALSE(stores(1, data_));
  store(1, __ATOMIC_RELEASE);
  load(2, __ATOMIC_ACQUIRE);
  EXPECT_FALSE(loads(2, data_));
  EXPECT_TRUE(loads(3, data_)) << "the second thread's load forgot the first one's store";

  all_ = DataRaces();
  EXPECT_FALSE(stores(1, data_));
  EXPECT_FALSE(all_.access(1, nullptr, &data_, 1, Kind::kStore));
  EXPECT_TRUE(
      all_.access(2, nullptr, reinterpret_cast<const std::byte*>(&data_) + 7, 1, Kind::kLoad))
      << "a store of one byte forgot that of the word";

  all_ = DataRaces();
  EXPECT_FALSE(stores(1, data_));
  EXPECT_FALSE(races(1, data_, Kind::kAtomicStore));
  EXPECT_TRUE(races(2, data_, Kind::kAtomicLoad)) << "an atomic store forgot the plain one";
}

TEST_F(DataRacesTest, BytesOfOneWordAreApart) {
  const auto* byte = reinterpret_cast<const std::byte*>(&data_);
  const auto races = [&](uint32_t thread, size_t at, size_t bytes) {
    return all_.access(thread, nullptr, byte + at, bytes, Kind::kStore).has_value();
  };
  EXPECT_FALSE(races(1, 0, 4));
  EXPECT_FALSE(races(2, 4, 8)) << "it ends in the next word";
  EXPECT_TRUE(races(3, 11, 1));
  EXPECT_TRUE(races(2, 3, 1));
}

TEST_F(DataRacesTest, AtomicOperationsDoNotRaceWithEachOtherButWithPlainOnes) {
  EXPECT_FALSE(races(1, data_, Kind::kAtomicStore));
  EXPECT_FALSE(races(2, data_, Kind::kAtomicStore));
  EXPECT_TRUE(loads(3, data_));
}

TEST_F(DataRacesTest, AThreadKnowsWhatWasDoneBeforeItsStartAndItsJoinerWhatItDid) {
  EXPECT_FALSE(stores(1, data_));
  all_.started(1, 2);
  EXPECT_FALSE(stores(2, data_));
  EXPECT_TRUE(loads(1, data_));
  all_.joined(1, 2);
  EXPECT_FALSE(loads(1, data_));

  all_ = DataRaces();
  all_.started(1, 2);
  EXPECT_FALSE(stores(1, data_));
  EXPECT_TRUE(loads(2, data_)) << "it was stored after the start";
}

TEST_F(DataRacesTest, IgnoredAccessesRaceWithNothing) {
  EXPECT_FALSE(stores(1, data_));
  all_.ignore(2, true);
  EXPECT_FALSE(stores(2, data_));
  all_.ignore(2, false);
  EXPECT_TRUE(stores(2, data_));
}

TEST_F(DataRacesTest, ACheckedLoadComesAfterStoresAndLaterStoresNeedNotComeAfterIt) {
  EXPECT_FALSE(races(2, data_, Kind::kChecked));
  EXPECT_FALSE(stores(1, data_));
  EXPECT_TRUE(races(2, data_, Kind::kChecked));
}

TEST_F(DataRacesTest, TheTwoNamesOfAMirroredByteAreOne) {
  auto* ring = static_cast<uint64_t*>(take(2 * kPageBytes, kPageBytes, 0));
  uint64_t* second = ring + kPageBytes / sizeof *ring;
  alias(ring, second, kPageBytes);
  EXPECT_FALSE(stores(1, ring[3]));
  EXPECT_TRUE(loads(2, second[3]));
}

TEST_F(DataRacesTest, WeakenedOperationsCountAsRelaxed) {
  const DataRaces::Site site = &data_;
  DataRaces weakened({reinterpret_cast<uintptr_t>(site)});
  weakened.access(1, nullptr, &data_, sizeof data_, Kind::kStore);
  weakened.stored(1, site, &flag_, __ATOMIC_RELEASE);
  weakened.loaded(2, nullptr, &flag_, __ATOMIC_ACQUIRE);
  EXPECT_TRUE(weakened.access(2, nullptr, &data_, sizeof data_, Kind::kLoad));
  EXPECT_EQ(weakened.weakened_operations(), 1u);
}

using ExplorerDeathTest = ExplorerTest;

// A thread stores a word and then a flag. Another thread waits for the flag and loads the word.
TEST_F(ExplorerDeathTest, ARaceIsFoundOnAnyScheduleInWhichTheDataIsUsed) {
  uint64_t &data = shared_.x, &flag = shared_.y;
  const auto program = [&](int order) {
    platform::Schedule schedule = Explored::seeded(1);
    schedule.late_stores = false;
    schedule.watches_races = true;
    const auto done = [&](Explorer::Operation operation, int asked) {
      Explorer::now_exploring()->done(nullptr, &flag, sizeof flag, operation, asked);
    };
    Explored::run(schedule, {[&] {
                               access(nullptr, &data, sizeof data, Access::kStore);
                               store(flag, 1);
                               done(Explorer::Operation::kStore, order);
                             },
                             [&] {
                               while (load(flag) == 0) kernel().pause();
                               done(Explorer::Operation::kLoad, __ATOMIC_ACQUIRE);
                               access(nullptr, &data, sizeof data, Access::kLoad);
                             }});
  };
  program(__ATOMIC_RELEASE);
  EXPECT_EXIT(program(__ATOMIC_RELAXED), testing::ExitedWithCode(7),
              "a data race: nothing orders thread 2 loads in .*, after thread 1 stores in");
}

// While one thread calls a disk, the other thread makes more steps if the disk is late.
TEST_F(ExplorerTest, ALateDiskLetsOthersGoOnDuringACall) {
  const auto steps_during_calls = [&](bool late) {
    uint64_t all = 0, begun = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      platform::Schedule schedule = Explored::seeded(seed);
      schedule.late_disk = late;
      r_ = {};
      Explored::run(schedule, {[&] {
                                 begun = r_[0];
                                 Explorer::now_exploring()->file_call(false);
                                 Explorer::now_exploring()->file_call(true);
                                 all += r_[0] - begun;
                               },
                               [&] {
                                 for (r_[0] = 0; r_[0] < 1000; ++r_[0]) load(shared_.y);
                               }});
    }
    return all;
  };
  EXPECT_GT(steps_during_calls(true), 3 * steps_during_calls(false));
}

// Two threads call a late disk. A crash may drop the disk's steps of the last call only if no
// caller relies on these steps. If a caller does, `judge` returns 1, which ends the process.
TEST_F(ExplorerTest, ACrashDuringALateCallKeepsWhatALaterCallHasReturned) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    platform::Schedule schedule = Explored::seeded(seed);
    schedule.late_disk = true;
    schedule.mean_crash_steps = 20;
    schedule.most_crashes = 100;
    uint64_t steps = 0, before_last = 0, relied_on = 0;
    const auto call = [&] {
      for (int i = 0; i < 10; ++i) {
        Explorer::now_exploring()->file_call(false);
        before_last = steps++;
        const uint64_t mine = steps;
        Explorer::now_exploring()->file_call(true);
        relied_on = std::max(relied_on, mine);
        load(shared_.y);
      }
    };
    schedule.judge = [&](uint32_t, bool in_a_file_call) {
      return in_a_file_call && relied_on > before_last ? 1 : 0;
    };
    Explored::run(schedule, {call, call});
  }
}

}  // namespace
}  // namespace logjam::sim
