// Checks the consistency conditions of clause 2.3. Also checks that every balance is the sum of the
// history's deltas, and that the history has a row for each acknowledged transaction.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/tpcb/rows.h"

namespace logjam::tpcb {

// Returns one result for each check. No transaction may run meanwhile.
std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& ack_counter);

}  // namespace logjam::tpcb
