// The caches of small_machine.h's machine, without fibers. Tests of prices and states use them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "sim/machine/caches.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {

inline constexpr Picoseconds kCycle = 1000;
// Cores of small_profile(), a square of four sockets with four cores each.
inline constexpr uint32_t kHere = 0, kNeighbour = 1, kOtherNeighbour = 2;
inline constexpr uint32_t kNextSocket = 4, kNextSocketToo = 5, kAcross = 12, kAcrossToo = 13;

// The caches of a machine. Each access begins long after the previous access has ended.
class TestCaches {
 public:
  explicit TestCaches(const Profile& profile)
      : machine_(make_machine(profile, 0, 1)), caches_(machine_) {}

  Caches* operator->() { return &caches_; }
  // Returns the cycles of an access at a time when no line is on its way.
  Picoseconds load(uint32_t core, uint32_t line) { return access(core, line, false); }
  Picoseconds store(uint32_t core, uint32_t line) { return access(core, line, true); }
  Picoseconds access(uint32_t core, uint32_t line, bool write) {
    return access_at(core, line, write, now_ += 1'000'000'000);
  }
  Picoseconds access_at(uint32_t number, uint32_t line, bool write, Picoseconds now) {
    Core& core = caches_.core(number);
    if (core.l1.touch(line, write)) return 0;
    Picoseconds cost = 0;
    if (!caches_.in_private_cache(core, line, write, &cost)) {
      cost = caches_.fetch(core, line, write, {now, 0}).cost;
    }
    return cost / kCycle;
  }
  // Returns whether the line is in the core's L1. Looks in a copy, so the caches stay unchanged.
  bool in_l1(uint32_t core, uint32_t line, bool write = false) {
    return TagStore(caches_.core(core).l1).touch(line, write);
  }
  bool in_l2(uint32_t core, uint32_t line, bool write = false) {
    TagStore l2 = caches_.core(core).l2;
    return !l2.holds_nothing() && l2.touch(line, write);
  }
  // Stores to other lines, so that the core's caches evict the line.
  void evict(uint32_t core, uint32_t line) {
    const uint32_t others = line_of_new_page() + line % 64;
    line_of_new_page(), line_of_new_page();
    for (uint32_t way = 0; way < 8; ++way) store(core, others + 16 * way);
    ASSERT_FALSE(in_l1(core, line));
    ASSERT_FALSE(in_l2(core, line));
  }

 private:
  const Machine machine_;
  Caches caches_;
  Picoseconds now_ = 0;
};

}  // namespace logjam::sim
