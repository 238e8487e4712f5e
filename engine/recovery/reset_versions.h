// Between two runs of a log: what the recovered tuples keep of the run that has ended.
#pragma once

#include <cstdint>

#include "engine/storage/database.h"

namespace logjam {

// The next run begins with its numbers from the beginning, so every tuple gets the sequence number
// 0, and stays present or absent. No transaction of the next run can depend on an erase of this
// one, so absent tuples leave their index, where that is possible (Table::reclaims()): otherwise a
// table whose rows come and go would grow from restart to restart. No other thread uses `database`
// meanwhile.
void reset_versions(Database& database, uint32_t threads);

}  // namespace logjam
