// The files that `logjam recover` writes for other programs: tables as CSV, histories for public
// checkers. In all of these functions an empty name means that this export is not wanted.
#pragma once

#include <string>

#include "engine/workload.h"

namespace logjam {

// Makes the directory and the file of the history. Ends the process (kExitBadInput) unless tables
// can be exported to the directory, and a history to the file.
void claim_exports(const std::string& directory, const std::string& history_file);
// Ends the process (kExitBadInput) if the columns of a table are not known.
void refuse_undescribed_tables(Database& database, const std::string& directory);

// Writes the tables. Ends the process (kExitFailed) if the files cannot be written.
void export_tables(Database& database, const std::string& directory);
// Writes the history, as export_tables() writes tables. Ends the process (kExitBadInput) if it
// cannot be exported.
void export_history(Workload& workload, Database& database, const std::string& history,
                    const std::string& file);

}  // namespace logjam
