// What a run reports: a summary for people, and a CSV row for scripts. The main thread calls these
// functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/settings.h"
#include "engine/run/run.h"

namespace logjam {

// Pairs of a column name and its value, in the order of the columns.
using Row = std::vector<std::pair<std::string, std::string>>;

// `value` with that many digits behind the point.
std::string number(double value, int decimals = 1);

// These functions append columns to a row. The rows of all schemes have the same columns. Therefore
// add_counters() writes what only some schemes count into one common column, as text.
void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row);
void add_counters(const Counters& counters, Row* row);
void add_origin(Row* row);  // revision, machine and flags

// The row of one run. `verified` is the result of the workload's checks, or empty.
Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified);

void print_summary(const Row& row);

// Ends the process (kExitBadInput) unless the file `path` can take rows with the columns of `row`:
// it does not exist yet, or has the same header.
void refuse_foreign_csv(const std::string& path, const Row& row);
// Appends a row, behind a header if the file is new. Ends the process if the write fails.
void append_csv(const std::string& path, const Row& row);

// Prints each check on a line of its own. Returns whether all have passed.
bool print_checks(const std::vector<Check>& checks);
// Prints the count, share and success rate of each type, and how often the clients drew what
// Workload::shares() counts, each beside what the specification says.
void print_types(const Workload& workload, const RunResult& result);
// Prints the rows of each table, and approximately what they take in memory.
void print_row_counts(Database& database);

}  // namespace logjam
