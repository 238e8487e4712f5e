// What several workloads need around their transactions.
#pragma once

#include <cstdint>
#include <string>

#include "engine/workload.h"
#include "platform/atomic.h"
#include "platform/fatal.h"

namespace logjam {

// For rows that exist as long as the database does: false if the transaction must give up.
inline bool there(Status status, const char* what) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(what) + " is missing, which was loaded and never deleted",
                    platform::kExitViolation);
  }
  return true;
}

// For keys that nobody else inserts: false if the transaction must give up.
inline bool inserted(Status status, const char* what) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(what) + " is there already, under a key of this worker's own",
                    platform::kExitViolation);
  }
  return true;
}

// What the clients of a run were acknowledged, for verify() to compare with what the tables hold.
// Clients add theirs when they are destroyed, at the end of a run, and verify() looks then.
class Tally {
 public:
  // What was taken away counts as negative, modulo 2^64.
  void add(uint64_t acknowledged) {
    acknowledged_.fetch_add(acknowledged, platform::memory_order_relaxed);
    clients_.fetch_add(1, platform::memory_order_relaxed);
  }

  // The check that `found` things are there, `loaded` and what was acknowledged. After a recovery
  // nobody knows how many there should be, and there is nothing to check.
  void check(const std::string& name, uint64_t found, std::vector<Check>* checks,
             uint64_t loaded = 0) const {
    if (clients_.load(platform::memory_order_relaxed) == 0) return;
    const uint64_t expected = loaded + acknowledged_.load(platform::memory_order_relaxed);
    checks->push_back({name, found == expected,
                       std::to_string(found) + " found, " + std::to_string(expected) +
                           " loaded and acknowledged"});
  }

 private:
  platform::atomic<uint64_t> acknowledged_{0};
  platform::atomic<uint32_t> clients_{0};
};

}  // namespace logjam
