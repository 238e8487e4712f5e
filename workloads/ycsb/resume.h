// What clients need to go on with the rows of an earlier process.
#pragma once

#include "engine/storage/database.h"
#include "workloads/ycsb/key_space.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/verify.h"

namespace logjam::ycsb {

// Finds the inserts of each worker, and what the acknowledged ones are to be added to. On all
// cores, while no transaction runs.
void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged);

}  // namespace logjam::ycsb
