// A row: the report of one command, as columns with names. People read a row as a summary, scripts
// as CSV or as a JSON object (cli/output.h). Only the main thread may call these functions.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/stats/histogram.h"
#include "logging/counters.h"
#include "logging/format/log_reader.h"
#include "platform/assert.h"

namespace logjam {

// The value of a column: empty, a string, a number or a bool. The summary and CSV show its text.
// JSON has null for the empty value, and quotes only strings. The constructor decides the kind, so
// that a revision that looks like a number stays a string.
class Value {
 public:
  Value() = default;
  Value(std::string_view text);
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(std::same_as<bool> auto truth) : text_(truth ? "true" : "false"), json_(text_) {}
  Value(std::unsigned_integral auto count) requires(!std::same_as<decltype(count), bool>)
      : text_(std::to_string(count)), json_(text_) {}
  // `text` is for people and CSV, `json` is the same value as JSON.
  Value(std::string text, std::string json) : text_(std::move(text)), json_(std::move(json)) {
    LJ_ASSERT(!json_.empty());
  }

  const std::string& text() const { return text_; }
  const std::string& json() const { return json_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
  std::string json_ = "null";
};

// Returns `value` with `decimals` decimals, or an empty value for a NaN (nothing was measured).
Value number(double value, int decimals = 1);

// Returns `value` divided by `count`, or a NaN if `count` is 0.
double per(double value, double count);

// Returns a list: in JSON an array, in text the members with spaces between them.
Value list_of(const std::vector<Value>& members);

// The columns of a row in their order, each with its name.
using Row = std::vector<std::pair<std::string, Value>>;

void append(Row* row, const Row& columns);
// Returns the text of the column with the name `column`, which the row must have.
const std::string& text_of(const Row& row, std::string_view column);

// Appends percentiles and the maximum of latencies, in columns whose names begin with `prefix`. The
// columns are empty if `ticks` has no latencies.
void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row);
// Returns the counter `name`. The value is empty if the scheme has no such counter, or if the
// counter is a mean of no values.
Value counter(const Counters& counters, std::string_view name, int decimals);
// Appends a scheme's counters. Rows of all schemes have the same columns, so one column (in JSON,
// an object) has all counters that only some schemes have.
void add_counters(const Counters& counters, Row* row);
// Appends columns about a log that was read, from `directories` directories (--wal_dir).
void add_log(const LogFiles& files, size_t directories, Row* row);
// Appends facts about the disks under `directories`, in columns that are empty without directories,
// and on a simulated machine. Facts in which two disks differ are separated by `; `.
void add_disks(const std::vector<std::string>& directories, Row* row);
// Appends columns with the program's revision, the machine, and the flags that were given.
void add_origin(Row* row);

// Prints each column of the row that is not empty, on a line of its own.
void print_summary(const Row& row);

// Returns `text` as a JSON string, with quotes. A byte that is not UTF-8, which JSON forbids,
// becomes a question mark.
std::string json_text(std::string_view text);
// Returns a JSON object. A member has a name, and a value that is already JSON.
std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);
// Returns a JSON array of items that are already JSON.
std::string json_array(const std::vector<std::string>& items);

// The cells of a line of a table.
using Line = std::vector<std::string>;

// Prints a table whose first line is the heading, and an empty line.
void print_table(const std::vector<Line>& lines);

// Returns a Markdown table of all columns, for docs/OUTPUT.md. A line has a column's name, in which
// `*` stands for any text, the commands whose rows have the column, and the column's meaning.
std::string column_table();

}  // namespace logjam
