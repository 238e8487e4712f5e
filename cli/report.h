// The report of `logjam run`: its row, and the lines around the row that only people read. The main
// thread calls these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/row.h"
#include "cli/settings.h"
#include "engine/run/run.h"

namespace logjam {

// Returns the row of a run. `verified` is the result of the workload's checks, or empty.
Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified);

// Prints each check on a line of its own. Returns whether all have passed.
bool print_checks(const std::vector<Check>& checks);
// Prints the count, share and success rate of each transaction type, and the shares that
// Workload::shares() returns. Prints the specification's number beside each.
void print_types(const Workload& workload, const RunResult& result);
// Prints the number of rows of each table, and about how much memory they take.
void print_row_counts(Database& database);
// Prints a line for each thing that a reader of the row should know about this run: for example
// that the pipelines were full, or that acknowledged transactions may be lost.
void print_notes(const Settings& settings, const Workload& workload, const RunResult& result);

}  // namespace logjam
