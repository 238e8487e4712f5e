// The files that commands append rows to for scripts: --csv and --json. The main thread calls these
// functions.
//
// Each row is appended to the file by one write. Two commands that end at the same time therefore
// leave two whole rows.
#pragma once

#include <string>

#include "cli/row.h"

namespace logjam {

// Keeps stdout for JSON alone under --json=-: everything else that the command prints from now on
// goes to stderr. Called once, before anything is printed.
void reserve_stdout_for_json();

// Ends the process (kExitBadInput) unless the files of --csv and --json can take a row with the
// columns of `row`. A command calls it before its long work begins.
void refuse_row_files(const Row& row);
// Appends the row to the files of --csv and --json. Ends the process if a write fails.
void append_row(const Row& row);

// Ends the process (kExitBadInput) if the CSV file has other columns, or cannot be written.
void refuse_foreign_csv(const std::string& path, const Row& row);
// Appends the row to the CSV file. Begins a new file with the names of the columns.
void append_csv(const std::string& path, const Row& row);

// Returns the row as a JSON object.
std::string to_json(const Row& row);
// Ends the process (kExitBadInput) if the file of --json cannot be written.
void refuse_json_file();
// Appends a line to the file of --json, or prints it to stdout if --json is "-".
void append_json(const std::string& json);

// Ends the process (kExitBadInput) unless the file that `flag` names can be written. Creates it.
void refuse_unwritable(const std::string& flag, const std::string& path);

}  // namespace logjam
