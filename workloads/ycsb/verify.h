// That all rows are there, each field of them whole and under its own key, all inserts of each
// worker, and all updates.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/ycsb/options.h"

namespace logjam::ycsb {

// What the clients of a run have been told. add() may be called from any thread.
struct Acknowledged {
  struct Counts {
    uint64_t inserts = 0;   // rows
    uint64_t updating = 0;  // transactions that update
  };
  void add(const Counts& counts) {
    inserts.add(counts.inserts);
    updating.add(counts.updating);
  }
  AckCounter inserts, updating;
};

// On all cores, while no transaction runs. `any_order`: the database was recovered, and a worker's
// insert may be there without an earlier one of that worker.
std::vector<Check> verify(Table& table, const Options& options, const Acknowledged& acknowledged,
                          bool any_order);

}  // namespace logjam::ycsb
