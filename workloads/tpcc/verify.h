// Checks the twelve consistency conditions of clause 3.3.2; every column of every row, against the
// initial population and the rows that transactions inserted; and the secondary indexes.
//
// Columns that do not follow from the tables are only checked for their range: O_ENTRY_D, the
// choice of O_C_ID, O_CARRIER_ID and OL_DELIVERY_D of orders that the run delivered, and H_DATE.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// Returns one result for each check. No transaction may run meanwhile.
std::vector<Check> verify(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
