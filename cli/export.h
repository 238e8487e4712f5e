// What `logjam recover` writes for other programs: tables as CSV, histories for public checkers.
#pragma once

#include <string>

#include "engine/workload.h"

namespace logjam {

// Ends the process (kExitBadInput) unless tables can be exported to this directory, which is made.
// An empty name means that no export is wanted, here and below.
void refuse_export_directory(const std::string& directory);
// Ends the process (kExitBadInput) if the columns of a table are not known.
void refuse_undescribed_tables(Database& database, const std::string& directory);

// Write the tables, and the history. End the process if the files cannot be written (kExitFailed),
// or if the history cannot be exported (kExitBadInput).
void export_tables(Database& database, const std::string& directory);
void export_history(Workload& workload, Database& database, const std::string& history,
                    const std::string& file);

}  // namespace logjam
