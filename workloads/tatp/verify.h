// Checks TATP's numbers of rows, its references between tables, and that the columns which no
// transaction changes are as loaded.
#pragma once

#include <vector>

#include "workloads/tatp/client.h"

namespace logjam::tatp {

// Returns one result for each check. `forwardings` is the acknowledged change of the number of call
// forwardings. No transaction may run meanwhile.
std::vector<Check> verify(Database& database, uint64_t subscribers, const AckCounter& forwardings);

}  // namespace logjam::tatp
