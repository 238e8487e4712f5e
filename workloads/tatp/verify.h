// TATP's cardinalities and references, and that what never changes has not.
#pragma once

#include <vector>

#include "workloads/tatp/client.h"

namespace logjam::tatp {

std::vector<Check> verify(Database& database, uint64_t subscribers, const Tally& forwardings);

}  // namespace logjam::tatp
