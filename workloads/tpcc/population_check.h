// Compares the tables with the initial population: loaded rows are unchanged except in the columns
// that transactions change, and these columns agree with the inserted rows.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/tpcc/totals.h"

namespace logjam::tpcc {

// Returns one result for each table, which includes the errors that `totals` has found in inserted
// rows. No transaction may run meanwhile.
std::vector<Check> check_rows(Database& database, const Scale& scale, const Totals& totals);

}  // namespace logjam::tpcc
