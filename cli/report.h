// What a run says of itself: a summary for people, a CSV row for scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/settings.h"
#include "engine/run/run.h"

namespace logjam {

// Column names and values, in order.
using Row = std::vector<std::pair<std::string, std::string>>;

std::string number(double value, int decimals = 1);

// Parts of a row. Rows of all schemes have the same columns, so what only some schemes count shares
// one, and is in it as text.
void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row);
void add_counters(const Counters& counters, Row* row);
void add_origin(Row* row);  // revision, machine, flags

Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified);

void print_summary(const Row& row);

// Checks that `path` can take rows with these columns (a new file, or one with the same header).
// Refuses otherwise.
void refuse_foreign_csv(const std::string& path, const Row& row);
void append_csv(const std::string& path, const Row& row);

// Prints each check on a line; true if all passed.
bool print_checks(const std::vector<Check>& checks);
// Each type's count, share and success rate, and what else was drawn how often, beside what the
// specification says.
void print_types(const Workload& workload, const RunResult& result);
// And about what the rows take in memory.
void print_row_counts(Database& database);

}  // namespace logjam
