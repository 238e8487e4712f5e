// Who goes on: the orders in which the explorer lets fibers run, drawn from a seed.
//
//   random  at each step the fiber loses its turn with the same probability, and each fiber that
//           can go on is as likely to be next
//   pct     fibers have priorities, drawn at random, and the first one that can go on runs; at a
//           few steps, drawn beforehand, the running fiber falls to the lowest priority. A bug that
//           needs d - 1 such steps in a program of n threads and k steps is met with a probability
//           of at least 1 / (n k^(d-1)). (Burckhardt et al., "A Randomized Scheduler with
//           Probabilistic Guarantees of Finding Bugs", ASPLOS 2010)
//   turns   a fiber goes on for a number of steps, or until it waits; then the next one does
//
// Only the explorer uses these objects, on the one host thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "platform/random.h"

namespace logjam::sim {

class Order {
 public:
  virtual ~Order() = default;

  // Returns the order in words: "pct, 3 changes".
  virtual std::string name() const = 0;

  // Returns the step up to which the fiber, which goes on at `step`, does so. Then, or when it
  // waits before, choose() is asked again.
  virtual uint64_t turn_end(uint32_t fiber, uint64_t step) = 0;
  // Returns which of the fibers goes on at `step`: an index. They can all go on, and `enabled` has
  // at least one. `current` is the fiber that ran.
  virtual size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t step) = 0;
  // Notes that the fiber waits actively for something, so that others should run first.
  virtual void gives_way(uint32_t) {}
};

// Returns an order that `random` draws, of those that `kind` names; empty: of all. Null if there is
// none of that name. `random` outlives it.
std::unique_ptr<Order> make_order(const std::string& kind, platform::SplitMix64& random);

}  // namespace logjam::sim
