// Exports a database as CSV files.
#pragma once

#include <string>

#include "engine/storage/database.h"

namespace logjam {

// Returns one sentence about the first table without described columns, or an empty string.
std::string undescribed_table(Database& database);

// Creates `directory` if it does not exist. Returns one sentence if it cannot be created, is no
// directory or is not empty, and otherwise an empty string.
std::string claim_export_directory(const std::string& directory);

// Writes the present rows of every table to <directory>/<table>.csv, in no particular order, after
// a header with the names of the columns. Ends the process if a file cannot be written. No
// transaction may run during the call.
void export_csv(Database& database, const std::string& directory);

}  // namespace logjam
