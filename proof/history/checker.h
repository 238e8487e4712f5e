// Checks a database against the history of the run whose log it was recovered from.
//
// A row shows the last write in its order whose hash is that of the row as it is; a row that shows
// none is as the load left it. A write is *missing* if it comes after the one that its row shows. A
// transaction is lost if a write of it is missing. What must hold:
//
//   - Each write saw the row as the write before it had left it: no update was lost in the run.
//   - A row that was written is as a transaction or the load left it.
//   - R1: no acknowledged transaction is lost, unless the run was unsafe.
//   - R2: no transaction is lost of which a row shows a write that can be no other's.
//   - R4: none is lost whose rows one of those that must not be lost has updated, and so on.
//
// Of a history of several lives (history_files.h), all this holds of each life, and of the row as it was
// when the life ended: as the first write of a later life saw it, or as it is now.
//
// So a lost transaction goes unnoticed only if others have overwritten all that it wrote, and then
// the database is as it would be with it. Reads that lead to no update of the same row are not
// recorded: that what they saw is there, too, is for the ledger to prove.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/workload.h"

namespace logjam::write_history {

// `types` are those of the workload. No transaction may run meanwhile.
Check check_history(Database& database, const std::string& path, const std::string& workload,
                    const std::vector<std::string_view>& types);

}  // namespace logjam::write_history
