// The initial population (clause 4.3.3.1).
#pragma once

#include <cstdint>

#include "engine/storage/database.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena);

}  // namespace logjam::tpcc
