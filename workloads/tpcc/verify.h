// Checks the twelve consistency conditions of clause 3.3.2, the numbers of the rows that no
// transaction inserts or deletes, and the sums of STOCK.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// Returns one result for each check. No transaction may run meanwhile.
std::vector<Check> verify(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
