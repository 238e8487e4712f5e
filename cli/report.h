// What `logjam run` reports: its row, and what people want to read beside it. The main thread calls
// these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/row.h"
#include "cli/settings.h"
#include "engine/run/run.h"

namespace logjam {

// The row of one run. `verified` is the result of the workload's checks, or empty.
Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified);

// Prints each check on a line of its own. Returns whether all have passed.
bool print_checks(const std::vector<Check>& checks);
// Prints the count, share and success rate of each type, and how often the clients drew what
// Workload::shares() counts, each beside what the specification says.
void print_types(const Workload& workload, const RunResult& result);
// Prints the rows of each table, and approximately what they take in memory.
void print_row_counts(Database& database);

}  // namespace logjam
