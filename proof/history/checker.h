// Checks a recovered database against the history of the run that wrote its log.
//
// A row *shows* the last of its writes that left it as it is now (by its hash); a row that shows no
// write is as the load left it. A write is *missing* if it comes after the write that its row
// shows. A transaction is *lost* if one of its writes is missing. The rules:
//
//   - Each write saw the row as the write before it left it: no update was lost during the run.
//   - Each written row is as a transaction or the load left it.
//   - R1: no acknowledged transaction is lost, unless the run was unsafe.
//   - R2: no transaction is lost if a row shows a write that can only be this transaction's.
//   - R4: if a transaction must not be lost, then no transaction whose row it updated is lost, and
//     so on.
//
// In a history of several lives (history_files.h) the rules hold for each life, with the row as it
// was when the life ended: as the first write of a later life saw it, or as it is now.
//
// So a lost transaction goes unnoticed only if others have overwritten everything that it wrote,
// and then the database is the same as if it were not lost. A read without an update of the same
// row is not recorded. Only the ledger proves that such reads saw recovered rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/workload.h"

namespace logjam::write_history {

// Checks the database against the history at `path`, which the workload `workload` with the
// transaction types `types` must have written. No transaction may run meanwhile.
Check check_history(Database& database, const std::string& path, const std::string& workload,
                    const std::vector<std::string_view>& types);

}  // namespace logjam::write_history
