// Writes the tables of a database as CSV files, for programs that are not ours.
#pragma once

#include <string>

#include "engine/storage/database.h"

namespace logjam {

// The first table without a description of its columns, in one sentence that says so; an empty
// string if all are described.
std::string undescribed_table(Database& database);

// Creates `directory` if it does not exist. Returns why no export can go there, in one sentence: it
// cannot be created, is no directory, or holds something. Empty if one can.
std::string claim_export_directory(const std::string& directory);

// Writes the present rows of every table to <directory>/<table>.csv, in no particular order: a
// header with the names of the columns, then a line for each row. Ends the process if a file cannot
// be written. No transaction may run meanwhile.
void export_csv(Database& database, const std::string& directory);

}  // namespace logjam
