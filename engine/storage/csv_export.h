// Writes the tables of a database as CSV files, for other programs.
#pragma once

#include <string>

#include "engine/storage/database.h"

namespace logjam {

// Returns one sentence that names the first table without a description of its columns; an empty
// string if all are described.
std::string undescribed_table(Database& database);

// Creates `directory` if it does not exist. Returns one sentence if it cannot take an export (it
// cannot be created, is no directory, or is not empty), and otherwise an empty string.
std::string claim_export_directory(const std::string& directory);

// Writes the present rows of every table to <directory>/<table>.csv, in no particular order: a
// header with the names of the columns, then a line for each row. Ends the process if a file cannot
// be written. No transaction may run during the call.
void export_csv(Database& database, const std::string& directory);

}  // namespace logjam
