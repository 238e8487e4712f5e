#include "sim/charge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

constexpr Picoseconds kCycle = 1000;  // of small_profile()

// Spends time until `cycles`, because fibers begin one after the other.
void wait_until(RunningMachine& machine, Picoseconds cycles) {
  machine->spend(cycles * kCycle - machine->now());
}

// Returns the cycles that an access costs its core.
Picoseconds cycles_of(RunningMachine& machine, const void* address, Access kind) {
  const Picoseconds before = machine->now();
  access(nullptr, address, 1, kind);
  return (machine->now() - before) / kCycle;
}

// A transfer takes 110 cycles, and the owner hears of the request after 22 of them; an addition
// takes 20.
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
    const Picoseconds before = machine->now();
    before_read_modify_write(nullptr, address_of(atomic));
    EXPECT_EQ((machine->now() - before) / kCycle, 240U);
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
    // The first load takes the whole latency, the second one overlaps with it, and then each takes
    // the prefetcher's time for a line.
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
    before_read_modify_write(nullptr, own);  // waits for all of them
    // The second one waits for memory's bandwidth, too.
    EXPECT_EQ((machine->now() - before) / kCycle, 73U + 76 + 5 * 30 + 20);
  }});
}

}  // namespace
}  // namespace logjam::sim
