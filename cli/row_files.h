// The files that commands append rows to for scripts: --csv and --json. The main thread calls these
// functions.
//
// Each row is appended to the file by one write. Two commands that end at the same time therefore
// leave two whole rows.
#pragma once

#include <string>

#include "cli/row.h"

namespace logjam {

// With --json=-, stdout is for JSON alone: what the command prints otherwise goes to stderr from
// here on. Called once, before anything is printed.
void reserve_stdout_for_json();

// Ends the process (kExitBadInput) unless the files of --csv and --json can take a row with the
// columns of `row`. A command calls it before it does what takes long.
void refuse_row_files(const Row& row);
// Appends the row to the files of --csv and --json. Ends the process if a write fails.
void append_row(const Row& row);

// What these two do for a CSV file: it does not exist yet, or has the same header; a new one gets
// the header first.
void refuse_foreign_csv(const std::string& path, const Row& row);
void append_csv(const std::string& path, const Row& row);

std::string to_json(const Row& row);
// The same for a line of the file of --json. append_json() takes "-" for stdout.
void refuse_json_file();
void append_json(const std::string& json);

// Ends the process (kExitBadInput) unless the file that `flag` names can be written. Creates it.
void refuse_unwritable(const std::string& flag, const std::string& path);

}  // namespace logjam
