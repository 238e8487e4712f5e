// A depth-first search through all schedules of a small program with a bounded number of
// preemptions. Between any two steps another fiber may go on. Any number of the interrupted fiber's
// stores may then be late. (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic
// Testing of Multithreaded Programs", PLDI 2007) Only one host thread may use a Search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/explore/order.h"

namespace logjam::sim {

class Search {
 public:
  // Searches schedules in which at most `preemptions` turns end before the fiber waits.
  explicit Search(uint32_t preemptions) : preemptions_(preemptions) {}

  // Returns the order of the next schedule. The search must outlive the order.
  std::unique_ptr<Order> order();
  // Plans the next schedule. Call it when a schedule has ended. Returns false if none is left.
  bool next();
  uint64_t schedules() const { return schedules_; }

 private:
  class SearchedOrder;
  struct Decision {
    uint64_t chosen, options;
  };
  // Returns the schedule's next choice, a number below `options`.
  uint64_t decide(uint64_t options);

  const uint32_t preemptions_;
  std::vector<Decision> decisions_;  // of the present schedule, made or planned
  size_t made_ = 0;                  // the number of decisions that the schedule has made
  uint64_t schedules_ = 0;
};

}  // namespace logjam::sim
