// The initial population (clause 4.3.3.1).
#pragma once

#include <cstdint>

#include "engine/storage/database.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// Loads part `part` of `parts`; the loaded rows do not depend on `parts`. Parts may be loaded by
// several threads at once. Rows are allocated from `arena`, which one thread uses at a time.
void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena);

}  // namespace logjam::tpcc
