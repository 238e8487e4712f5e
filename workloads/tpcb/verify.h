// Clause 2.3, and more: the history explains every balance.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/common.h"
#include "workloads/tpcb/rows.h"

namespace logjam::tpcb {

std::vector<Check> verify(Database& database, const Scale& scale, const Tally& tally);

}  // namespace logjam::tpcb
