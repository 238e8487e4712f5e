// The orders in which the explorer lets fibers run. A seed makes their random choices.
//
//   random  Each turn has a random length. Each fiber that can go on has the same probability to be
//           next.
//   pct     Fibers have random priorities. Of the fibers that can go on, the one with the highest
//           priority runs. At a few steps, chosen at random beforehand, the running fiber falls to
//           the lowest priority. A bug that needs d - 1 such steps in a program of n threads and k
//           steps is met with a probability of at least 1 / (n k^(d-1)). (Burckhardt et al., "A
//           Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010)
//   turns   Fibers go on in a circle, each for the same number of steps or until it waits.
//
// In these orders a seed also chooses which stores are late, and which timers end early. The fourth
// order, `recorded`, repeats all or some turns of an earlier schedule. In a turn that it does not
// repeat, a fiber goes on until it waits, no store is late, and no timer ends early. Only the
// explorer uses these objects, on the one host thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "platform/exploration.h"
#include "platform/random.h"

namespace logjam::sim {

class Order {
 public:
  virtual ~Order() = default;

  // Returns a description of the order, such as "pct, 3 changes".
  virtual std::string name() const = 0;

  // Returns the step at which the fiber's turn that begins at `step` ends. At that step, or earlier
  // if the fiber waits, the explorer calls choose() again.
  virtual uint64_t turn_end(uint32_t fiber, uint64_t step) = 0;
  // Notes that the fiber's turn is over at `step`: the fiber waits if `waits`, otherwise its
  // turn_end() has come. `others` says whether another fiber is ready or spins. The explorer then
  // calls the next three functions.
  virtual void turn_over(uint32_t /*fiber*/, uint64_t /*step*/, bool /*waits*/, bool /*others*/) {}
  // Returns how many of the fiber's `stores` become visible to other fibers, the oldest first.
  virtual uint64_t visible(uint64_t stores) = 0;
  // Returns whether the next timer ends now, although other fibers can go on. The explorer repeats
  // the call until the result is false.
  virtual bool ends_a_timer() = 0;
  // Returns whether the turn that is over ended at the same step as in the recorded schedule.
  virtual bool follows_record() const { return false; }
  // Returns the index in `enabled` (fibers that can go on) of the fiber that runs after `current`.
  virtual size_t choose(std::span<const uint32_t> enabled, uint32_t current, uint64_t step) = 0;
  // Notes that the fiber spins, so that all fibers that do not spin should run first.
  virtual void gives_way(uint32_t) {}
};

// Returns the order with the name `kind`; null if there is none. If `kind` is empty, `random`
// chooses the order. `random` must outlive the order.
std::unique_ptr<Order> make_order(const std::string& kind, platform::SplitMix64& random);
std::unique_ptr<Order> make_recorded_order(const std::vector<platform::Turn>& turns);

}  // namespace logjam::sim
