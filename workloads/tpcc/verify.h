// The twelve consistency conditions of clause 3.3.2, and what the load fixed for good.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

std::vector<Check> verify(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
