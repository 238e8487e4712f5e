// A row: what one command reports, as columns with names. People read it as a summary, scripts in a
// CSV file or as a JSON object (cli/row_files.h). The main thread calls these functions.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/stats/histogram.h"
#include "logging/counters.h"
#include "logging/format/log_reader.h"

namespace logjam {

// What a column holds: nothing, a text, a number, or true or false. The summary and CSV have its
// text. In JSON nothing is null, and numbers, true and false are not quoted. A text that looks like
// a number, as a revision may, stays a text, so the kind comes from the constructor alone.
class Value {
 public:
  Value() = default;
  Value(std::string_view text);
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(std::same_as<bool> auto truth) : text_(truth ? "true" : "false"), json_(text_) {}
  Value(std::unsigned_integral auto count) requires(!std::same_as<decltype(count), bool>)
      : text_(std::to_string(count)), json_(text_) {}
  // `text` is what people read; `json` is JSON.
  Value(std::string text, std::string json) : text_(std::move(text)), json_(std::move(json)) {}

  const std::string& text() const { return text_; }
  const std::string& json() const { return json_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
  std::string json_ = "null";
};

// `value` with that many digits behind the point.
Value number(double value, int decimals = 1);

// A list, with spaces between its members; in JSON an array.
Value list_of(const std::vector<Value>& members);

// In the order of the columns.
using Row = std::vector<std::pair<std::string, Value>>;

// These functions append columns to a row. The rows of all schemes have the same columns. Therefore
// add_counters() writes what only some schemes count into one common column: a text, and in JSON an
// object.
void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row);
void add_counters(const Counters& counters, Row* row);
// What log was read: its scheme, how it lies in its files, and the run that wrote it.
void add_log(const LogFiles& files, Row* row);
void add_origin(Row* row);  // revision, machine and flags

void print_summary(const Row& row);

}  // namespace logjam
