// All schedules of a small program with at most a number of preemptions, one after the other: a
// depth-first search through the decisions of an order. Between any two steps another fiber may go
// on, and any number of the stores may be late then. (Bounded preemptions: Musuvathi and Qadeer,
// "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007)
//
// One host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/explore/order.h"

namespace logjam::sim {

class Search {
 public:
  // Searches schedules in which at most `preemptions` turns end although the fiber could go on.
  explicit Search(uint32_t preemptions) : preemptions_(preemptions) {}

  // Returns the order of the next schedule. The search outlives it.
  std::unique_ptr<Order> order();
  // Goes on to the next schedule, after one has ended. Returns false if there is none.
  bool next();
  // Returns how many schedules have ended.
  uint64_t schedules() const { return schedules_; }

 private:
  class SearchedOrder;
  struct Decision {
    uint64_t chosen, options;
  };
  // Returns a number below `options`.
  uint64_t decide(uint64_t options);

  const uint32_t preemptions_;
  std::vector<Decision> decisions_;  // of this schedule, so far or as planned
  size_t made_ = 0;                  // how many of them this schedule has made
  uint64_t schedules_ = 0;
};

}  // namespace logjam::sim
