// The step between two runs of a log: recovered tuples keep no number of the run that has ended.
#pragma once

#include <cstdint>

#include "engine/storage/database.h"

namespace logjam {

// Gives every tuple the sequence number 0, because the numbers of the next run start again. A tuple
// stays present or absent. No transaction of the next run can depend on an erase of this run, so
// absent tuples leave their index where that is possible (Table::reclaims()): otherwise a table
// whose rows come and go would grow with every restart. No other thread uses `database` meanwhile.
void reset_versions(Database& database, uint32_t threads);

}  // namespace logjam
