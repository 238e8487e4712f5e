// The states that a scheme keeps, one for each worker. No two states share a cache line.
//
// Protocol. Only the state's worker uses the plain fields of a state. A field that other threads
// read is an atomic or a platform::Counter, and the scheme says which ordering makes it visible.
#pragma once

#include <vector>

#include "platform/counter.h"

namespace logjam {

template <class State>
class WorkerStates {
 public:
  explicit WorkerStates(uint32_t workers) : states_(workers) {}

  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  State& operator[](uint32_t worker) { return *states_[worker]; }
  const State& operator[](uint32_t worker) const { return *states_[worker]; }

  // Returns the sum of a counter over all workers. Any thread may call it.
  template <class Owner = State>
  double total(platform::Counter Owner::*counter) const {
    uint64_t total = 0;
    for (const auto& state : states_) total += ((*state).*counter).value();
    return static_cast<double>(total);
  }

 private:
  std::vector<platform::Padded<State>> states_;
};

}  // namespace logjam
