// Programs of a few steps, for the tests of the explorer.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/explore/explorer.h"
#include "sim/explore/search.h"
#include "sim/machine/charge.h"
#include "sim/region.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {

using Body = std::function<void()>;

// The compiler does not instrument the tests, so the tests report each access to the explorer here.
inline uint64_t load(const uint64_t& at) {
  before_atomic_load(nullptr, &at);
  return at;
}
inline void store(uint64_t& at, uint64_t value) {
  before_atomic_store(nullptr, &at, sizeof at, false);
  at = value;
}
inline uint64_t exchange(uint64_t& at, uint64_t value) {
  before_read_modify_write(nullptr, &at);
  return std::exchange(at, value);
}
inline void increment(uint64_t& at) {
  before_read_modify_write(nullptr, &at);
  ++at;
}

// Words that threads share. Each word is in a separate cache line.
struct Shared {
  alignas(kLineBytes) uint64_t x = 0;
  alignas(kLineBytes) uint64_t y = 0;
  alignas(kLineBytes) uint64_t z = 0;
};

// Runs programs under the explorer, one after another.
class Explored {
 public:
  // Runs the bodies in concurrent threads. Returns a description of the executed schedule.
  static platform::Explored run(platform::Schedule schedule, const std::vector<Body>& bodies,
                                std::unique_ptr<Order> order = nullptr) {
    if (!schedule.ended) {
      schedule.ended = [](const platform::Explored& explored) {
        std::fprintf(stderr, "found: %s\n", explored.what.c_str());
        _exit(7);
      };
    }
    Explorer explorer(schedule, std::move(order));
    put_kernel(&explorer);
    explorer.begin();
    std::vector<Fiber*> fibers;
    for (const Body& body : bodies) fibers.push_back(explorer.spawn(body));
    for (Fiber* fiber : fibers) explorer.join(fiber);
    explorer.end();
    put_kernel(nullptr);
    return explorer.result();
  }

  static platform::Schedule seeded(uint64_t seed) {
    platform::Schedule schedule;
    schedule.seed = seed;
    return schedule;
  }
};

class ExplorerTest : public testing::Test {
 protected:
  ExplorerTest() : shared_(*new (page()) Shared) {}

  static void* page() {
    line_of_new_page();  // maps the region
    return take(kPageBytes, kPageBytes, 0);
  }

  using Outcome = std::array<uint64_t, 4>;
  // Runs the program under many seeds. Returns the set of the registers' final values.
  std::set<Outcome> outcomes(const std::vector<Body>& bodies, Outcome& registers,
                             bool late_stores = true) {
    constexpr uint64_t kSeeds = 4000;
    std::set<Outcome> all;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      shared_ = {};
      registers = {};
      platform::Schedule schedule = Explored::seeded(seed);
      schedule.late_stores = late_stores;
      Explored::run(schedule, bodies);
      all.insert(registers);
    }
    return all;
  }

  Shared& shared_;
  Outcome r_{};
};

// Runs the bodies that `begin` makes in all schedules with at most `preemptions` preemptions. Calls
// `check` after each schedule. Returns the number of schedules.
inline uint64_t search(uint32_t preemptions, const std::function<std::vector<Body>()>& begin,
                       const std::function<void()>& check) {
  Search all(preemptions);
  do {
    const std::vector<Body> bodies = begin();
    Explored::run({}, bodies, all.order());
    check();
  } while (all.next());
  return all.schedules();
}

}  // namespace logjam::sim
