// Checks of row operations, and the count of acknowledged changes, as several workloads need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/workload.h"
#include "platform/atomic.h"
#include "platform/fatal.h"
#include "platform/parallel.h"
#include "platform/thread.h"

namespace logjam {

// For the status of a read, update or erase of a row that the load created and no transaction
// deletes for good. Returns true for kOk, and false for kAbort: the transaction must return at
// once. Any other status means that the engine lost the row `what`, and ends the process with
// kExitViolation.
inline bool there(Status status, const char* what) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(what) + " is missing, which was loaded and never deleted",
                    platform::kExitViolation);
  }
  return true;
}

// For the status of an insert under a key that belongs to this worker alone. Returns true for kOk,
// and false for kAbort: the transaction must return at once. Any other status means that a row
// `what` has appeared under the key, and ends the process with kExitViolation.
inline bool inserted(Status status, const char* what) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(what) + " is there already, under a key of this worker's own",
                    platform::kExitViolation);
  }
  return true;
}

// Counts something on all cores, for verify(): count_part(part, parts, &sum) counts part `part` of
// `parts`, into a Sum of its own that is `nothing` at first. Sum::add joins the parts in their
// order, so the result is what one thread would find. Parts run at the same time, unless there are
// so few things to count (`items`) that forking would cost more than counting.
template <class Sum, class CountPart>
Sum sum_of_parts(const Sum& nothing, const CountPart& count_part, uint64_t items = ~uint64_t{0}) {
  constexpr uint32_t kPartsPerCore = 4;  // so that a slow part does not hold up the rest
  constexpr uint64_t kFewItems = 1000;
  if (items < kFewItems) {
    Sum sum = nothing;
    count_part(0, 1, &sum);
    return sum;
  }
  const auto cores = static_cast<uint32_t>(platform::core_count());
  std::vector<Sum> sums(size_t{cores} * kPartsPerCore, nothing);
  const auto parts = static_cast<uint32_t>(sums.size());
  platform::parallel_for_parts(parts, cores, [&](uint32_t part) {
    Sum sum = nothing;
    count_part(part, parts, &sum);
    sums[part] = std::move(sum);
  });
  Sum all = nothing;
  for (const Sum& sum : sums) all.add(sum);
  return all;
}

// The sum, modulo 2^64, of what number_of(key, row) says of each present row. On all cores, while
// no transaction runs.
template <class NumberOf>
uint64_t sum_of_rows(Table& table, const NumberOf& number_of) {
  struct Sum {
    uint64_t value = 0;
    void add(const Sum& other) { value += other.value; }
  };
  const auto add_part = [&](uint32_t part, uint32_t parts, Sum* sum) {
    table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
      sum->value += static_cast<uint64_t>(number_of(key, row));
    });
  };
  return sum_of_parts(Sum{}, add_part).value;
}
inline uint64_t count_rows(Table& table) {
  return sum_of_rows(table, [](Key, const std::byte*) { return 1; });
}

// Rows that are not as they should be, and which was the first.
struct BrokenRows {
  uint64_t count = 0;
  std::string first;

  // `what` makes the text for the first one.
  template <class What>
  void note(const What& what) {
    if (count++ == 0) first = what();
  }
  void add(const BrokenRows& later) {
    if (count == 0) first = later.first;
    count += later.count;
  }
};

// Counts the acknowledged changes of a run, so that Workload::verify() can compare the sum with the
// contents of the tables.
//
// Each client counts for itself, and adds its count once, in its destructor at the end of the run.
// verify() reads the sum after that. add() may be called from any thread. Relaxed atomics are
// enough, since the run's threads are joined before verify() reads.
class AckCounter {
 public:
  // Adds one client's count. A client whose deletes exceed its inserts adds a negative number,
  // modulo 2^64.
  void add(uint64_t acknowledged) {
    acknowledged_.fetch_add(acknowledged, platform::memory_order_relaxed);
    clients_.fetch_add(1, platform::memory_order_relaxed);
  }

  // For Workload::resume(): the tables hold `there` things. They count in place of the loaded ones
  // and of what clients that replayed commands have added.
  void resume(uint64_t there) {
    recovered_ = there;
    acknowledged_.store(0, platform::memory_order_relaxed);
    clients_.store(0, platform::memory_order_relaxed);
  }

  // Appends the check `name`: that the tables hold `found` things, the sum of the `loaded` and the
  // acknowledged ones. `mask`: the low bits that `found` has. Appends nothing if no client has run:
  // after a recovery the expected number is not known.
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
