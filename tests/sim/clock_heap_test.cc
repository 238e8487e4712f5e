#include "sim/machine/clock_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sim/machine/scheduler.h"

namespace logjam::sim {
namespace {

constexpr uint32_t kContexts = 64;

// Contexts come and go at random, with clocks that are often equal. The context that leaves is
// always the first of an ordered set of (clock, number).
TEST(ClockHeap, TheContextThatGoesFirstLeavesFirst) {
  std::vector<std::unique_ptr<Cpu>> cpus;
  for (uint32_t number = 0; number < kContexts; ++number) {
    cpus.push_back(std::make_unique<Cpu>(number, nullptr));
  }
  ClockHeap heap(kContexts);
  std::set<std::pair<Picoseconds, uint32_t>> inside;
  std::vector<uint32_t> outside;
  for (uint32_t number = 0; number < kContexts; ++number) outside.push_back(number);
  std::mt19937 random(7);
  const auto some_outside = [&] {
    std::swap(outside[random() % outside.size()], outside.back());
    const uint32_t number = outside.back();
    outside.pop_back();
    return ClockHeap::Entry{random() % 50, number, cpus[number].get()};
  };
  const auto expect_first = [&](const Cpu* left) {
    ASSERT_EQ(left->number, inside.begin()->second);
    inside.erase(inside.begin());
    outside.push_back(left->number);
  };
  for (int step = 0; step < 20000; ++step) {
    ASSERT_EQ(heap.empty(), inside.empty());
    const uint32_t what = random() % 3;
    if (inside.empty() || (what == 0 && !outside.empty())) {
      const ClockHeap::Entry entry = some_outside();
      inside.emplace(entry.now, entry.number);
      heap.push(entry);
    } else if (what == 1 || outside.empty()) {
      expect_first(heap.pop());
    } else {
      const ClockHeap::Entry entry = some_outside();
      expect_first(heap.replace_first(entry));
      inside.emplace(entry.now, entry.number);
    }
    if (!inside.empty()) {
      ASSERT_EQ(heap.first().now, inside.begin()->first);
      ASSERT_EQ(heap.first().number, inside.begin()->second);
    }
  }
}

}  // namespace
}  // namespace logjam::sim
