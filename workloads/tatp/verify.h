// Checks TATP's tables: columns that no transaction changes are as loaded, the others are as
// transactions wrote them, the counts of updates fit together, and each reference between tables
// and each posting leads to the right row.
#pragma once

#include <vector>

#include "workloads/tatp/client.h"

namespace logjam::tatp {

// Returns one result for each check. No transaction may run meanwhile.
std::vector<Check> verify(Database& database, const Population& population,
                          const Acknowledged& acknowledged);

}  // namespace logjam::tatp
