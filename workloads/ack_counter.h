// AckCounter: the count with which Workload::verify() compares the tables.
#pragma once

#include "engine/workload.h"
#include "platform/atomic.h"

namespace logjam {

// The number of changes by transactions that a run has acknowledged.
//
// Protocol. Each client counts its own changes, and adds its count in its destructor, at the end of
// the run (relaxed). verify() reads the sum after the run's threads are joined.
class AckCounter {
 public:
  // Adds the count of one client. The count is negative (modulo 2^64) if it counts more deletes.
  void add(uint64_t acknowledged) {
    acknowledged_.fetch_add(acknowledged, platform::memory_order_relaxed);
    clients_.fetch_add(1, platform::memory_order_relaxed);
  }

  // Sets the number of changes before the run to `recovered`, which Workload::resume() has counted
  // in the recovered tables. Drops the changes that clients counted while they replayed commands.
  void resume(uint64_t recovered) {
    recovered_ = recovered;
    acknowledged_.store(0, platform::memory_order_relaxed);
    clients_.store(0, platform::memory_order_relaxed);
  }

  // Appends a check that passes if `found`, the number of changes that the tables show, is the
  // number before the run plus the acknowledged changes. The number before the run is the argument
  // of resume(), or else `loaded`. Compares only the bits in `mask`. If no client has run, as after
  // a recovery, appends nothing, because the expected number is unknown.
  void check(const std::string& name, uint64_t found, std::vector<Check>* checks,
             uint64_t loaded = 0, uint64_t mask = ~uint64_t{0}) const {
    if (clients_.load(platform::memory_order_relaxed) == 0) return;
    const uint64_t before = recovered_.value_or(loaded);
    const uint64_t expected = (before + acknowledged_.load(platform::memory_order_relaxed)) & mask;
    checks->push_back({name, found == expected,
                       std::to_string(found) + " found, " + std::to_string(expected) +
                           (recovered_ ? " recovered" : " loaded") + " and acknowledged"});
  }

 private:
  platform::atomic<uint64_t> acknowledged_{0};
  platform::atomic<uint32_t> clients_{0};
  std::optional<uint64_t> recovered_;
};

}  // namespace logjam
