// Compares the tables with the initial population: a row that the load made is as the load made it,
// but for the columns that transactions change, and these are as the inserted rows say.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/tpcc/totals.h"

namespace logjam::tpcc {

// Returns one result for each table, which also tells what `totals` has found wrong in rows that
// transactions inserted. No transaction may run meanwhile.
std::vector<Check> check_rows(Database& database, const Scale& scale, const Totals& totals);

}  // namespace logjam::tpcc
