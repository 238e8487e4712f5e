// Checks that all rows exist, that each field is whole and under its own key, and that no insert
// and no update is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/storage/database.h"
#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/rows.h"

namespace logjam::ycsb {

// The acknowledged changes of a run's clients. Any thread may call add().
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

// Returns one result for each check. With `any_order`, the database was recovered, and a worker's
// insert may have survived without an earlier one of that worker. Works on all cores; no
// transaction may run meanwhile.
std::vector<Check> verify(Table& table, const Options& options, const Acknowledged& acknowledged,
                          bool any_order);

// The state from which clients continue with the rows of an earlier process.

// Finds the inserts of each worker, and the counts to which acknowledged changes are added. Works
// on all cores; no transaction may run meanwhile.
void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged);

}  // namespace logjam::ycsb
