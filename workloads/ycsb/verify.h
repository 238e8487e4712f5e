// That all rows are there, and each field of them whole and under its own key.
#pragma once

#include <vector>

#include "engine/workload.h"
#include "workloads/common.h"
#include "workloads/ycsb/options.h"

namespace logjam::ycsb {

// On all cores, while no transaction runs. `inserts`: of the run's clients.
std::vector<Check> verify(Table& table, const Options& options, const AckCounter& inserts);

}  // namespace logjam::ycsb
