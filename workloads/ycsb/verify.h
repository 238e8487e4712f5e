// The checks of a YCSB table, and the state with which clients continue an earlier process.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/storage/database.h"
#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/rows.h"

namespace logjam::ycsb {

// The acknowledged changes of a run's clients.
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

// Checks that all rows exist, that each field is whole and under its own key, and that no insert
// and no update is lost. With `any_order`, the database was recovered, and a worker's insert may be
// there without an earlier insert of that worker. Call it when no transaction runs.
std::vector<Check> verify(Table& table, const Options& options, const Acknowledged& acknowledged,
                          bool any_order);

// Finds the inserts of each worker, and the counts to which clients add acknowledged changes. Call
// it when no transaction runs.
void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged);

}  // namespace logjam::ycsb
