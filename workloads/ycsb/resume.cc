// A row's key may be a hash of its number, so numbers cannot be read from keys. Instead the rows
// that workers may have inserted are looked up, until all inserted rows are found.
#include "workloads/ycsb/resume.h"

#include <string>
#include <utility>
#include <vector>

#include "platform/fatal.h"
#include "workloads/parallel_sum.h"
#include "workloads/table_checks.h"
#include "workloads/ycsb/fields.h"

namespace logjam::ycsb {
namespace {

// The inserts of one worker: how many there are without a gap, and the numbers after the gap.
struct Worker {
  uint64_t ordered = 0;
  std::vector<uint64_t> after_gap;

  FreeNumbers free() const {
    std::vector<uint64_t> missing;
    uint64_t end = ordered;
    for (const uint64_t number : after_gap) {
      while (end < number) missing.push_back(end++);
      end = number + 1;
    }
    return {std::move(missing), end};
  }
};

struct Workers {
  std::vector<Worker> all{kMaxWorkers};
  uint64_t found = 0;
  void add(const Workers& later) {
    found += later.found;
    for (uint32_t worker = 0; worker < kMaxWorkers; ++worker) {
      all[worker].ordered += later.all[worker].ordered;
    }
  }
};

Workers find_inserts(Table& table, const KeySpace& space, uint64_t inserted) {
  const auto exists = [&](uint64_t n, uint32_t worker) {
    return find_row<std::byte>(table, space.key_of(space.inserted(n, worker))) != nullptr;
  };
  Workers workers = sum_of_parts(Workers{}, [&](uint32_t part, uint32_t parts, Workers* found) {
    for (uint32_t worker = part; worker < kMaxWorkers; worker += parts) {
      uint64_t& n = found->all[worker].ordered;
      while (exists(n, worker)) ++n;
      found->found += n;
    }
  });
  // A row lost between recovered rows was in flight, so gaps are no longer than the transactions in
  // flight.
  constexpr uint64_t kFurthest = 100'000;
  for (uint64_t step = 1; workers.found < inserted && step <= kFurthest; ++step) {
    for (uint32_t w = 0; w < kMaxWorkers; ++w) {
      Worker& worker = workers.all[w];
      if (!exists(worker.ordered + step, w)) continue;
      worker.after_gap.push_back(worker.ordered + step);
      ++workers.found;
    }
  }
  return workers;
}

}  // namespace

void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged) {
  const Fields fields(options);
  const uint64_t rows = count_rows(table);
  const uint64_t inserts = rows < options.records ? 0 : rows - options.records;
  const KeySpace space{options.records, options.hashed};
  const Workers workers = inserts == 0 ? Workers{} : find_inserts(table, space, inserts);
  if (workers.found != inserts) {
    platform::fatal("ycsb: there are " + std::to_string(inserts) + " inserted rows, and only " +
                        std::to_string(workers.found) + " under keys that workers insert",
                    platform::kExitViolation);
  }
  for (uint32_t worker = 0; worker < kMaxWorkers; ++worker) {
    FreeNumbers free = workers.all[worker].free();
    if (free.at(0) != 0 || free.at(1) != 1) inserted->resume(worker, std::move(free));
  }
  acknowledged->inserts.resume(inserts);
  acknowledged->updating.resume(sum_of_rows(table, [&](Key, const std::byte* row) {
    uint64_t stamps = 0;
    for (uint32_t field = 0; field < fields.count; ++field) {
      stamps += stamp_of(row + size_t{field} * fields.bytes, fields.bytes);
    }
    return stamps;
  }));
}

}  // namespace logjam::ycsb
