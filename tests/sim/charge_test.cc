#include "sim/machine/charge.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/sim/test_caches.h"

namespace logjam::sim {
namespace {

// Spends time until the context's clock is at `cycles`, so that fibers act at chosen times.
void wait_until(RunningMachine& machine, Picoseconds cycles) {
  machine->spend(cycles * kCycle - machine->now());
}

Picoseconds cycles_of(RunningMachine& machine, const void* address, Access kind) {
  const Picoseconds before = machine->now();
  kind == Access::kAtomic ? before_read_modify_write(nullptr, address)
                          : access(nullptr, address, 1, kind);
  return (machine->now() - before) / kCycle;
}

TEST(Charge, WhatTheObserverTouchesIsInASharedCache) {
  RunningMachine machine(small_profile(), 1);
  const auto* page = static_cast<const char*>(address_of(line_of_new_page()));
  const auto line = [&](size_t number) { return page + kLineBytes * number; };
  access(nullptr, line(0) + 60, 8, Access::kStore);  // lines 0 and 1
  before_atomic_load(nullptr, line(4));
  before_atomic_store(nullptr, line(8), 8, false);
  before_read_modify_write(nullptr, line(12));
  machine.run_pinned({[&] {
    for (const size_t touched : {12, 8, 4, 1}) {
      EXPECT_EQ(cycles_of(machine, line(touched), Access::kLoad), 45U) << touched;
      EXPECT_EQ(cycles_of(machine, line(touched + 20), Access::kLoad), 220U) << touched;
    }
    EXPECT_EQ(cycles_of(machine, line(0), Access::kLoad), 45U);
  }});
  const Picoseconds before = machine->now();
  access(nullptr, line(50), 8, Access::kLoad);
  EXPECT_EQ(machine->now(), before) << "loading takes no time";
}

// After a measurement the observer verifies what many transactions have written. The threads that
// still end need the caches as before.
TEST(Charge, AfterTheMeasuredTimeTheObserverWarmsNothingWhenTheLastThreadHasEnded) {
  RunningMachine machine(free_kernel(), 1);
  const void* early = address_of(line_of_new_page());
  const void* late = address_of(line_of_new_page());
  measured = true;
  Fiber* last = machine->spawn([&] {
    machine->sleep(kMicrosecond * 100);
    EXPECT_EQ(cycles_of(machine, early, Access::kLoad), 45U);
  });
  machine->sleep(kMicrosecond * 10);
  access(nullptr, early, 8, Access::kLoad);
  machine->join(last);
  access(nullptr, late, 8, Access::kLoad);
  measured = false;
  machine.run_pinned({[&] { EXPECT_EQ(cycles_of(machine, late, Access::kLoad), 220U); }});
  EXPECT_EQ(warmed, &machine->caches()) << "the next measurement's load";
}

// So a bound may tell lines that a core waits for from those that follow each other.
TEST(Charge, ALineOfMemoryCountsOnceAndAsFetchedAheadOnlyIfItFollowsTwoOthers) {
  RunningMachine machine(small_profile(), 1);
  const auto* page = static_cast<const char*>(address_of(line_of_new_page()));
  const uint64_t ahead = fetched_ahead, of_memory = machine->caches().counts().memory;
  const auto expect = [&](uint64_t lines, uint64_t of_them_ahead) {
    EXPECT_EQ(machine->caches().counts().memory - of_memory, lines);
    EXPECT_EQ(fetched_ahead - ahead, of_them_ahead);
  };
  machine.run_pinned({[&] {
    for (const size_t alone : {40, 50, 60})
      access(nullptr, page + kLineBytes * alone, 8, Access::kLoad);
    expect(3, 0);
    for (size_t line = 0; line < 9; ++line)
      access(nullptr, page + kLineBytes * line, 8, Access::kLoad);
    expect(12, 7);
    access(nullptr, page + kLineBytes * 8, 8, Access::kStore);
    expect(12, 7);
  }});
}

TEST(Charge, InstructionsAreCountedOnceAndOnlyThoseThatAreCharged) {
  RunningMachine machine(small_profile(), 2);
  const uint64_t before = executed;
  instructions(7);
  EXPECT_EQ(executed, before) << "the observer's are free";
  machine.run_pinned({[] { instructions(30); }, [] { instructions(4); }});
  EXPECT_EQ(executed, before + 34);
}

// Returns a profile of one socket of two cores with two contexts each. The shared cache executes
// atomic operations, and one operation on a line takes 24 cycles.
Profile profile_of_far_atomics() {
  Profile profile = free_kernel();
  profile.cores = profile.contexts = 2;
  profile.far_atomic_cycles = 24;
  return profile;
}

TEST(Charge, AFarAtomicCostsTheSharedCacheAlsoIfTheCoreHasTheLine) {
  RunningMachine machine(profile_of_far_atomics(), 4);
  const void* word = address_of(line_of_new_page());
  const auto add = [&] { return cycles_of(machine, word, Access::kAtomic); };
  machine.run_pinned({[&] {
    EXPECT_EQ(add(), 220U + 20U);
    EXPECT_EQ(add(), 45U + 20U);
    EXPECT_EQ(cycles_of(machine, word, Access::kLoad), 45U) << "no core keeps the line";
    EXPECT_EQ(cycles_of(machine, word, Access::kLoad), 0U);
    EXPECT_EQ(add(), 45U + 20U);
    EXPECT_EQ(cycles_of(machine, word, Access::kLoad), 45U) << "not even the one that asked";
  }});
}

TEST(Charge, FarAtomicsOfALineComeOneAfterTheOtherAlsoInACore) {
  for (const uint32_t other : {1U, 2U}) {  // another core, and the same core's other context
    RunningMachine machine(profile_of_far_atomics(), 4);
    const void* word = address_of(line_of_new_page());
    const Picoseconds start = machine->now() / kCycle + 10000;
    std::vector<Picoseconds> done(4);
    const auto add_at = [&](Picoseconds when, uint32_t context) {
      wait_until(machine, when);
      before_read_modify_write(nullptr, word);
      done[context] = machine->now() / kCycle - start;
    };
    std::vector<std::function<void()>> bodies(4, [] {});
    bodies[0] = [&] {
      before_read_modify_write(nullptr, word);
      add_at(start, 0);
    };
    bodies[other] = [&] { add_at(start + 10, other); };
    machine.run_pinned(bodies);
    EXPECT_EQ(done[0], 45U + 20U);
    EXPECT_EQ(done[other], 24U + 45U + 20U);
  }
}

// A far compare-and-swap waits for its turn, and sees the stores of other cores during this wait.
TEST(Charge, AFarAtomicIsDoneWhenItsTurnComes) {
  RunningMachine machine(profile_of_far_atomics(), 3);
  const void* word = address_of(line_of_new_page());
  const Picoseconds start = machine->now() / kCycle + 10000;
  std::string order;
  const auto add_at = [&](Picoseconds when, char name) {
    wait_until(machine, start + when);
    before_read_modify_write(nullptr, word);
    order += name;
  };
  machine.run_pinned({[&] { add_at(0, 'a'); }, [&] { add_at(10, 'c'); },
                      [&] {
                        wait_until(machine, start + 20);
                        machine->visible();
                        order += 'b';
                      }});
  EXPECT_EQ(order, "abc");
}

TEST(Charge, WhatAFiberTouchesIsNotWarmed) {
  RunningMachine machine(small_profile(), 1);
  const void* word = address_of(line_of_new_page());
  machine.run_pinned({[&] {
    const Uncharged free;
    access(nullptr, word, 8, Access::kLoad);
  }});
  machine.run_pinned({[&] { EXPECT_EQ(cycles_of(machine, word, Access::kLoad), 220U); }});
}

// A transfer takes 110 cycles, and the request for the line reaches the line's owner after the
// first 22 cycles. An addition takes 20 cycles, so the owner makes two additions before the line
// goes.
TEST(Charge, AnOwnerAddsOnUntilItHearsOfTheNextRequest) {
  RunningMachine machine(small_profile(), 2);
  const void* word = address_of(line_of_new_page());
  std::string order;
  const auto adder = [&](char name) {
    return [&, name] {
      for (int i = 0; i < 400; ++i) {
        before_read_modify_write(nullptr, word);
        order += name;
      }
    };
  };
  machine.run_pinned({adder('a'), adder('b')});
  size_t turns = 0;
  for (size_t i = 100; i < 500; ++i) turns += order[i] != order[i - 1];
  EXPECT_NEAR(400.0 / static_cast<double>(turns), 2, 0.3) << order.substr(100, 50);
}

TEST(Charge, ARequestWaitsUntilItsOwnerHasTheLineItself) {
  RunningMachine machine(small_profile(), 3);
  const void* word = address_of(line_of_new_page());
  Picoseconds owned = 0, taken = 0;
  const Picoseconds start = machine->now() / kCycle + 10000;
  machine.run_pinned({[&] { before_read_modify_write(nullptr, word); },
                      [&] {
                        wait_until(machine, start);
                        before_read_modify_write(nullptr, word);
                        owned = machine->now();
                      },
                      [&] {
                        wait_until(machine, start + 30);  // the line is on its way to core 1
                        before_read_modify_write(nullptr, word);
                        taken = machine->now();
                      }});
  EXPECT_EQ(taken - owned, 110 * kCycle);
}

TEST(Charge, APrefetchHidesOnlyTheTimeThatPassesAfterIt) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t soon = line_of_new_page(), late = line_of_new_page(), atomic = line_of_new_page();
  machine.run_pinned({[&] {
    EXPECT_EQ(cycles_of(machine, address_of(soon), Access::kPrefetch), 0U);
    EXPECT_EQ(cycles_of(machine, address_of(soon), Access::kLoad), 220U);
    EXPECT_EQ(cycles_of(machine, address_of(soon), Access::kLoad), 0U);
    EXPECT_EQ(cycles_of(machine, address_of(late), Access::kPrefetch), 0U);
    machine->spend(200 * kCycle);
    EXPECT_EQ(cycles_of(machine, address_of(late), Access::kLoad), 20U);
    EXPECT_EQ(cycles_of(machine, address_of(atomic), Access::kPrefetch), 0U);
    EXPECT_EQ(cycles_of(machine, address_of(atomic), Access::kAtomic), 240U);
  }});
}

TEST(Charge, ALineWithTwoNamesHasOnePrefetch) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t first = line_of_new_page(), second = line_of_new_page();
  alias(address_of(first), address_of(second), kPageBytes);
  machine.run_pinned({[&] {
    EXPECT_EQ(cycles_of(machine, address_of(first), Access::kPrefetch), 0U);
    EXPECT_EQ(cycles_of(machine, address_of(second), Access::kLoad), 220U);
  }});
}

// Loads the lines of a page in order, and returns the cycles of each load.
std::vector<Picoseconds> loads_in_order(RunningMachine& machine, uint32_t line, uint32_t lines) {
  std::vector<Picoseconds> cycles;
  for (uint32_t at = 0; at < lines; ++at) {
    cycles.push_back(cycles_of(machine, address_of(line + at), Access::kLoad));
  }
  return cycles;
}

TEST(Charge, APrefetcherRunsAheadOfACoreThatReadsInOrder) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t line = line_of_new_page();
  machine.run_pinned({[&] {
    // The first load takes the whole latency. The second load overlaps with the first load. Each
    // further load takes the prefetcher's time for a line.
    EXPECT_EQ(loads_in_order(machine, line, 5), (std::vector<Picoseconds>{220, 73, 21, 21, 21}));
    machine->spend(1000 * kCycle);
    EXPECT_EQ(loads_in_order(machine, line + 5, 4), (std::vector<Picoseconds>{0, 0, 21, 21}));
  }});
}

TEST(Charge, WithoutAPrefetcherAPauseDoesNotBringTheNextLine) {
  Profile profile = small_profile();
  profile.lines_ahead = 0;
  RunningMachine machine(profile, 1);
  const uint32_t line = line_of_new_page();
  machine.run_pinned({[&] {
    loads_in_order(machine, line, 5);
    machine->spend(1000 * kCycle);
    EXPECT_EQ(loads_in_order(machine, line + 5, 2), (std::vector<Picoseconds>{21, 21}));
  }});
}

TEST(Charge, LinesInOrderComeFasterFromTheSharedCacheThanFromMemory) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t line = line_of_new_page(), other = line_of_new_page();
  machine.run_pinned({[&] {
    loads_in_order(machine, line, 64);
    loads_in_order(machine, other, 64);  // the private caches have no more than 64 lines
    EXPECT_EQ(loads_in_order(machine, line, 5), (std::vector<Picoseconds>{45, 15, 9, 9, 9}));
  }});
}

TEST(Charge, StoresInOrderTakeWhatTheirLinesNeedToComeAndGo) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t line = line_of_new_page();
  const void* own = address_of(line_of_new_page());
  machine.run_pinned({[&] {
    before_read_modify_write(nullptr, own);
    const Picoseconds before = machine->now();
    for (uint32_t at = 0; at < 7; ++at) access(nullptr, address_of(line + at), 1, Access::kStore);
    before_read_modify_write(nullptr, own);  // waits for all the stores
    // The second store also waits for memory's bandwidth.
    EXPECT_EQ((machine->now() - before) / kCycle, 73U + 83 + 5 * 30 + 20);
  }});
}

// Lets context 1 store `lines` lines. Returns the cycles of each later load by context 0.
std::vector<Picoseconds> loads_of_anothers(const Profile& profile, uint32_t lines) {
  RunningMachine machine(profile, 2);
  const uint32_t line = line_of_new_page();
  std::vector<Picoseconds> cycles;
  const Picoseconds start = machine->now() / kCycle + 100'000;
  machine.run_pinned({[&] {
                        wait_until(machine, start);
                        cycles = loads_in_order(machine, line, lines);
                      },
                      [&] {
                        for (uint32_t at = 0; at < lines; ++at) {
                          access(nullptr, address_of(line + at), 1, Access::kStore);
                        }
                      }});
  return cycles;
}

// The prefetcher does not fetch lines that another core owns.
TEST(Charge, LinesInOrderThatAnotherCoreOwnsOverlapAndNothingMore) {
  Profile profile = small_profile();
  profile.l1_kib = profile.l2_kib = 64;  // the owner's caches keep all lines
  const std::vector<Picoseconds> cycles = loads_of_anothers(profile, 64);
  EXPECT_EQ(cycles[0], 110U);
  for (size_t at = 1; at < cycles.size(); ++at) EXPECT_EQ(cycles[at], 36U) << at;
}

TEST(Charge, ALineStillOnItsWayToItsOwnerIsNotReadBeforeItArrives) {
  RunningMachine machine(small_profile(), 2);
  const uint32_t line = line_of_new_page();
  const Picoseconds start = machine->now() / kCycle + 100'000;
  Picoseconds owned = 0;
  machine.run_pinned({[&] {
                        loads_in_order(machine, line, 3);
                        wait_until(machine, start + 10);
                        cycles_of(machine, address_of(line + 3), Access::kLoad);
                        EXPECT_GE(machine->now(), owned);
                      },
                      [&] {
                        wait_until(machine, start);
                        before_read_modify_write(nullptr, address_of(line + 3));
                        owned = machine->now() - 20 * kCycle;
                      }});
}

TEST(Charge, StreamsFromAnotherSocketsMemoryAreSlower) {
  RunningMachine machine(small_profile(), 1);
  const uint32_t line = line_of_new_page(1);
  machine.run_pinned({[&] {
    EXPECT_EQ(loads_in_order(machine, line, 5),
              (std::vector<Picoseconds>{330, 110, 31, 31, 31}));  // 21 x 330 / 220
  }});
}

// Four cores read 64 lines each. Memory needs 40 cycles for a line, so 10,240 cycles for all lines.
TEST(Charge, StreamsWaitForMemorysBandwidth) {
  Profile profile = small_profile();
  profile.memory_gb_s = 1.6;
  RunningMachine machine(profile, 4);
  std::vector<uint32_t> lines;
  for (int core = 0; core < 4; ++core) lines.push_back(line_of_new_page());
  const Picoseconds start = machine->now() / kCycle + 100'000;
  Picoseconds last = 0;
  const auto reader = [&](uint32_t line) {
    return [&, line] {
      wait_until(machine, start);
      loads_in_order(machine, line, 64);
      last = std::max(last, machine->now() / kCycle - start);
    };
  };
  machine.run_pinned({reader(lines[0]), reader(lines[1]), reader(lines[2]), reader(lines[3])});
  EXPECT_NEAR(static_cast<double>(last), 64 * 4 * 40, 500);
}

// While a fiber's load waits for its turn, another fiber of the same context may run. Even then the
// context's clock never goes back: RunningMachine's scheduler checks the clock at each switch.
TEST(Charge, AFiberThatRunsMeanwhileTakesItsTime) {
  Profile profile = small_profile();
  profile.time_slice_us = 10;
  profile.l1_kib = profile.l2_kib = 64;
  RunningMachine machine(profile, 2);
  const uint32_t line = line_of_new_page();
  Picoseconds begin = 0, worked = 0;
  const auto on_context_0 = [&](const std::function<void()>& body) {
    return [&machine, body] {
      machine->pin(0);
      body();
    };
  };
  bool done = false;
  Picoseconds last = 0;
  const auto never_back = [&] {
    EXPECT_GE(machine->now(), last);
    last = machine->now();
  };
  machine.run({on_context_0([&] {
                 begin = machine->now();
                 for (int round = 0; round < 2000; ++round) {
                   cycles_of(machine, address_of(line + round % 64), Access::kLoad);
                   never_back();
                 }
                 done = true;
               }),
               on_context_0([&] {
                 while (!done) {
                   const Picoseconds before = machine->now();
                   machine->spend(100 * kCycle);
                   worked += machine->now() - before;
                   never_back();
                 }
               }),
               [&] {
                 machine->pin(1);
                 for (int round = 0; !done; ++round) {
                   access(nullptr, address_of(line + round % 64), 1, Access::kStore);
                   machine->spend(50 * kCycle);
                 }
               }});
  EXPECT_GE(last - begin, worked / 2);
}

// Core 0 stores a record's line, which takes 220 cycles, and then unlocks. Another core that loads
// the lock during the 220 cycles finds that the lock is held.
TEST(Charge, AnUnlockIsSeenAfterTheStoresBeforeIt) {
  Profile profile = small_profile();
  profile.overlap = 1;
  for (const bool read_modify_write : {false, true}) {
    for (const Picoseconds looks : {20, 60, 100, 150, 250, 400}) {
      RunningMachine machine(profile, 2);
      const uint32_t record = line_of_new_page();
      const void* lock = address_of(line_of_new_page());
      bool released = false;
      const Picoseconds start = machine->now() / kCycle + 100'000;
      machine.run_pinned({[&] {
                            before_read_modify_write(nullptr, lock);
                            wait_until(machine, start);
                            access(nullptr, address_of(record), 1, Access::kStore);
                            read_modify_write
                                ? before_read_modify_write(nullptr, lock)
                                : before_atomic_store(nullptr, lock, sizeof(uint32_t), false);
                            released = true;
                          },
                          [&] {
                            wait_until(machine, start + looks);
                            before_read_modify_write(nullptr, lock);
                            EXPECT_TRUE(!released || machine->now() / kCycle >= start + 220)
                                << looks;
                          }});
    }
  }
}

// Core 0 requests a line. Then other cores of core 0's socket and of the next socket request this
// line. Returns the order in which the cores get the line.
std::string served(double nearest_first) {
  Profile profile = small_profile();
  profile.nearest_first = nearest_first;
  RunningMachine machine(profile, 9);
  const void* word = address_of(line_of_new_page());
  std::string order;
  const Picoseconds start = machine->now() / kCycle + 100'000;
  const auto asks = [&](char name, Picoseconds after) {
    return [&, name, after] {
      wait_until(machine, start + after);
      before_read_modify_write(nullptr, word);
      order += name;
    };
  };
  const auto idle = [] {};
  machine.run_pinned({asks('a', 0), asks('d', 50), asks('e', 60), idle, asks('b', 30), idle, idle,
                      idle, asks('c', 40)});
  return order;
}

TEST(Charge, WhoWaitsForALineIsServedInTheOrderOfAsking) {
  EXPECT_EQ(served(0), "abcde");
  EXPECT_EQ(served(1), "adebc");
}

}  // namespace
}  // namespace logjam::sim
