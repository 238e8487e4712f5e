// The state from which clients continue with the rows of an earlier process.
#pragma once

#include "engine/storage/database.h"
#include "workloads/ycsb/key_space.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/verify.h"

namespace logjam::ycsb {

// Finds the inserts of each worker, and the counts to which acknowledged changes are added. Works
// on all cores; no transaction may run meanwhile.
void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged);

}  // namespace logjam::ycsb
