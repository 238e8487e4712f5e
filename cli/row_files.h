// The files that commands append rows to for scripts: --csv and --json. The main thread calls these
// functions.
//
// Each row is appended to the file by one write, under a lock on the file (flock). So two commands
// that end at the same time leave two whole rows, and one header. A row that does not fit is taken
// back.
#pragma once

#include <string>

#include "cli/output_claim.h"
#include "cli/row.h"

namespace logjam {

// Keeps stdout for rows alone under --csv=- and --json=-: everything else that the command prints
// from now on goes to stderr. Called once, before anything is printed.
void reserve_stdout_for_rows();

// Returns why rows with the header `header` cannot be appended to the file, or an empty string.
std::string why_no_rows(const ClaimedFile& file, const std::string& header);
// Returns why JSON objects cannot be appended to the file, or an empty string.
std::string why_no_objects(const ClaimedFile& file);

// Ends the process (kExitBadInput) unless the files of --csv and --json can take a row with the
// columns of `row`. A command calls it before its long work begins.
void claim_row_files(const Row& row);
// Appends the row to the files of --csv and --json. Ends the process if a write fails.
void append_row(const Row& row);

// Appends the row to the CSV file. Begins a new file with the names of the columns.
void append_csv(const std::string& path, const Row& row);

// Returns the row as a JSON object.
std::string to_json(const Row& row);
// Ends the process (kExitBadInput) if the file of --json cannot take an object.
void claim_json_file();
// Appends a line to the file of --json.
void append_json(const std::string& json);

}  // namespace logjam
