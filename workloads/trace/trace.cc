#include "workloads/trace/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "platform/assert.h"
#include "platform/random.h"
#include "platform/text.h"

namespace logjam::trace {
namespace {

// The columns, in the order of the first line that `run --record` writes.
enum Column : size_t { kOp, kTable, kKey, kTo, kSize, kValue, kTime, kSession, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"op",   "table", "key",     "to",
                                                           "size", "value", "time_us", "session"};
using Fields = std::array<std::string_view, kColumns>;

// Which columns a line of an operation may have besides `op`, and which it must have.
struct Form {
  std::string_view op;
  std::optional<Kind> kind;
  std::string_view may, must;  // the columns' first letters; time_us and session: m and s
};
constexpr Form kForms[] = {
    {"table", {}, "tzv", "tz"},
    {"row", {}, "tkzv", "tk"},
    {"begin", {}, "ms", ""},
    {"commit", {}, "", ""},
    {"get", Kind::kGet, "tkzms", "tk"},
    {"put", Kind::kPut, "tkzvms", "tk"},
    {"update", Kind::kUpdate, "tkzvms", "tk"},
    {"insert", Kind::kInsert, "tkzvms", "tk"},
    {"delete", Kind::kDelete, "tkms", "tk"},
    {"scan", Kind::kScan, "tkozms", "tk"},
};
constexpr std::string_view kLetters = "_tkozvms";  // of the columns, in their order
static_assert(kLetters.size() == kColumns);

// Removes the quotation marks that some programs put around fields.
std::string_view unquoted(std::string_view field) {
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
    field = field.substr(1, field.size() - 2);
  }
  return field;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    const size_t comma = line.find(',', begin);
    fields.push_back(unquoted(line.substr(begin, comma - begin)));
    if (comma == line.npos) return fields;
    begin = comma + 1;
  }
}

std::string shown(std::string_view field) {
  constexpr size_t kMost = 40;
  return '"' + platform::without_control_characters(field.substr(0, kMost)) +
         (field.size() > kMost ? "...\"" : "\"");
}

bool is_number(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Returns an empty string if `*number` was set.
std::string set_number(std::string_view what, std::string_view text, uint64_t* number) {
  if (is_number(text, number)) return "";
  return "the " + std::string(what) + " " + shown(text) + " is no number from 0 to 2^64-1";
}

// Reads microseconds with at most three decimals.
bool is_time(std::string_view text, uint64_t* ns) {
  constexpr uint64_t kMostUs = uint64_t{1} << 53;  // 285 years
  const size_t point = std::min(text.find('.'), text.size());
  std::string decimals(text.substr(std::min(point + 1, text.size())));
  if (decimals.size() > 3 || (point < text.size() && decimals.empty())) return false;
  decimals.resize(3, '0');
  uint64_t us, rest;
  if (!is_number(text.substr(0, point), &us) || us > kMostUs) return false;
  if (!is_number(decimals, &rest)) return false;
  *ns = us * 1000 + rest;
  return true;
}

bool is_name(std::string_view text) {
  constexpr size_t kMost = 64;
  return !text.empty() && text.size() <= kMost && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-' || c == '.';
         });
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads the lines one by one. Functions that read a part of a line return in a few words what is
// wrong, or an empty string.
class Parser {
 public:
  explicit Parser(Trace* trace) : trace_(*trace) { trace_ = Trace(); }

  std::string parse(std::string_view text);

 private:
  std::string header(std::string_view line);
  std::string line(std::string_view line);
  std::string check_columns(const Form& form, const Fields& fields) const;
  std::string table(const Fields& fields);
  std::string row(const Fields& fields);
  std::string begin(const Fields& fields);
  std::string commit();
  std::string operation(Kind kind, const Fields& fields);
  std::string value(const Fields& fields, uint16_t index, Value* value);
  std::string end();
  // Sets `*index` to the table of this name, and creates the table if it is new.
  std::string find_table(std::string_view name, uint16_t* index);

  Trace& trace_;
  std::vector<Column> order_;  // the column of each field of a line; empty before the first line
  std::map<std::string, uint16_t, std::less<>> numbers_;  // of tables
  uint64_t line_ = 0;
  uint64_t begun_ = 0;  // the line of the open transaction's begin; 0: none is open
  TracedTransaction open_;
  uint64_t last_time_ns_ = 0;
};

std::string Parser::header(std::string_view line) {
  for (const std::string_view name : split(line)) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
      return shown(name) + " is no column; the first line names some of the columns " +
             platform::join(kNames, ", ");
    }
    const auto column = static_cast<Column>(found - kNames.begin());
    if (std::ranges::find(order_, column) != order_.end()) {
      return "the column " + std::string(name) + " is there twice";
    }
    order_.push_back(column);
  }
  for (const Column needed : {kOp, kTable, kKey}) {
    if (std::ranges::find(order_, needed) == order_.end()) {
      return "the first line names no column " + std::string(kNames[needed]);
    }
  }
  trace_.has_times = std::ranges::find(order_, kTime) != order_.end();
  trace_.has_sessions = std::ranges::find(order_, kSession) != order_.end();
  return "";
}

std::string Parser::check_columns(const Form& form, const Fields& fields) const {
  for (size_t column = kTable; column < kColumns; ++column) {
    const bool given = !fields[column].empty();
    if (given && form.may.find(kLetters[column]) == form.may.npos) {
      return "a " + std::string(form.op) + " takes no " + std::string(kNames[column]);
    }
    if (!given && form.must.find(kLetters[column]) != form.must.npos) {
      return "a " + std::string(form.op) + " needs a " + std::string(kNames[column]);
    }
  }
  const bool later = begun_ != 0 && (!fields[kTime].empty() || !fields[kSession].empty());
  if (later && form.op != "begin") {
    return "only the begin of a transaction has a time_us and a session";
  }
  return "";
}

std::string Parser::line(std::string_view line) {
  Fields fields;
  const std::vector<std::string_view> given = split(line);
  if (given.size() > order_.size()) {
    return std::to_string(given.size()) + " fields, and the first line names " +
           std::to_string(order_.size()) + " columns";
  }
  for (size_t i = 0; i < given.size(); ++i) fields[order_[i]] = given[i];
  const auto form = std::ranges::find(kForms, fields[kOp], &Form::op);
  if (form == std::end(kForms)) {
    return shown(fields[kOp]) + " is no operation; there are " +
           platform::join(kForms, ", ", &Form::op);
  }
  if (std::string wrong = check_columns(*form, fields); !wrong.empty()) return wrong;
  if (form->op == "table") return table(fields);
  if (form->op == "row") return row(fields);
  if (form->op == "begin") return begin(fields);
  if (form->op == "commit") return commit();
  LJ_ASSERT(form->kind.has_value());
  if (begun_ != 0) return operation(*form->kind, fields);
  std::string wrong = begin(fields);
  if (wrong.empty()) wrong = operation(*form->kind, fields);
  return wrong.empty() ? commit() : wrong;
}

std::string Parser::find_table(std::string_view name, uint16_t* index) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) {
    *index = found->second;
    return "";
  }
  if (!is_name(name)) {
    return shown(name) + " is no table; a name has at most 64 letters, digits, _, - and .";
  }
  if (trace_.tables.size() == kMostTables) {
    return "the trace has more than " + std::to_string(kMostTables) + " tables";
  }
  *index = static_cast<uint16_t>(trace_.tables.size());
  numbers_.emplace(name, *index);
  trace_.tables.push_back({.name = std::string(name), .line = line_});
  return "";
}

std::string Parser::table(const Fields& fields) {
  if (numbers_.contains(fields[kTable])) {
    return "the table " + std::string(fields[kTable]) + " is described after a line that uses it";
  }
  uint16_t index;
  if (std::string wrong = find_table(fields[kTable], &index); !wrong.empty()) return wrong;
  TracedTable& table = trace_.tables[index];
  uint64_t bytes;
  if (!is_number(fields[kSize], &bytes) || bytes == 0 || bytes > kMostRowBytes) {
    return "the size " + shown(fields[kSize]) + " is not 1 to " + std::to_string(kMostRowBytes);
  }
  table.row_bytes = static_cast<uint32_t>(bytes);
  table.ordered = fields[kValue] == "ordered";
  if (!table.ordered && !fields[kValue].empty() && fields[kValue] != "hash") {
    return "an index is hash or ordered, not " + shown(fields[kValue]);
  }
  table.described = true;
  return "";
}

std::string Parser::row(const Fields& fields) {
  if (begun_ != 0 || !trace_.transactions.empty()) {
    return "rows come before the first transaction";
  }
  uint16_t index;
  if (std::string wrong = find_table(fields[kTable], &index); !wrong.empty()) return wrong;
  TracedTable& table = trace_.tables[index];
  InitialRow& row = table.rows.emplace_back();
  row.line = line_;
  std::string wrong = set_number("key", fields[kKey], &row.key);
  return wrong.empty() ? value(fields, index, &row.value) : wrong;
}

std::string Parser::begin(const Fields& fields) {
  if (begun_ != 0) {
    return "the transaction of line " + std::to_string(begun_) + " has no commit before this begin";
  }
  begun_ = line_;
  open_ = {.time_ns = last_time_ns_};
  open_.line = line_;
  if (!fields[kTime].empty() && !is_time(fields[kTime], &open_.time_ns)) {
    return "the time_us " + shown(fields[kTime]) + " is no number with at most three decimals";
  }
  last_time_ns_ = open_.time_ns;
  return fields[kSession].empty() ? "" : set_number("session", fields[kSession], &open_.session);
}

std::string Parser::commit() {
  if (begun_ == 0) return "this commit has no begin";
  begun_ = 0;
  open_.end = trace_.operations.size();
  trace_.transactions.push_back(open_);
  return "";
}

std::string Parser::operation(Kind kind, const Fields& fields) {
  Operation operation;
  operation.kind = kind;
  if (std::string wrong = find_table(fields[kTable], &operation.table); !wrong.empty()) {
    return wrong;
  }
  TracedTable& table = trace_.tables[operation.table];
  if (std::string wrong = set_number("key", fields[kKey], &operation.key); !wrong.empty()) {
    return wrong;
  }
  open_.writes |= kind != Kind::kGet && kind != Kind::kScan;
  operation.to = operation.most = ~uint64_t{0};
  if (kind == Kind::kGet || kind == Kind::kScan) {
    std::string wrong =
        fields[kSize].empty() ? "" : set_number("size", fields[kSize], &operation.most);
    if (!wrong.empty()) return wrong;
  }
  if (kind == Kind::kScan) {
    if (!fields[kTo].empty() &&
        (!is_number(fields[kTo], &operation.to) || operation.to < operation.key)) {
      return shown(fields[kTo]) + " is no key from " + std::to_string(operation.key) + " on";
    }
    if (table.described && !table.ordered) {
      return "a scan needs an ordered index, and the table " + table.name + " has a hash index";
    }
    table.ordered = true;
  } else if (kind == Kind::kPut || kind == Kind::kUpdate || kind == Kind::kInsert) {
    if (std::string wrong = value(fields, operation.table, &operation.value); !wrong.empty()) {
      return wrong;
    }
    if (kind != Kind::kUpdate) ++table.inserts;
    table.inserted |= kind == Kind::kInsert;
  }
  trace_.operations.push_back(operation);
  return "";
}

std::string Parser::value(const Fields& fields, uint16_t index, Value* value) {
  TracedTable& table = trace_.tables[index];
  const std::string_view digits = fields[kValue];
  uint64_t bytes = digits.size() / 2;
  *value = {.at = line_, .bytes = Value::kWholeRow, .made_up = digits.empty()};
  if (digits.empty() && fields[kSize].empty()) return "";
  if (digits.empty()) {
    if (std::string wrong = set_number("size", fields[kSize], &bytes); !wrong.empty()) return wrong;
  } else {
    if (!fields[kSize].empty())
      return "a row has a size or a value, not both; a table line gives a row's bytes";
    if (digits.size() % 2 != 0) return "the value has an odd number of hexadecimal digits";
    value->at = trace_.bytes.size();
    for (size_t i = 0; i < digits.size(); i += 2) {
      const int high = digit_of(digits[i]), low = digit_of(digits[i + 1]);
      if (high < 0 || low < 0) return "the value " + shown(digits) + " is not hexadecimal";
      trace_.bytes.push_back(static_cast<std::byte>(high << 4 | low));
    }
  }
  const uint64_t most = table.described ? table.row_bytes : kMostRowBytes;
  if (bytes > most) {
    return "a row of " + std::to_string(bytes) + " bytes; rows of the table " + table.name +
           " have at most " + std::to_string(most);
  }
  value->bytes = static_cast<uint32_t>(bytes);
  table.row_bytes = std::max(table.row_bytes, value->bytes);
  return "";
}

std::string Parser::end() {
  if (order_.empty()) return "the trace has no line that names columns";
  if (begun_ != 0) {
    return "the file ends in the transaction that begins at line " + std::to_string(begun_);
  }
  if (trace_.transactions.empty()) return "the trace has no transaction";
  constexpr uint32_t kLeastRowBytes = 8;  // of a table whose rows have no bytes in the trace
  for (TracedTable& table : trace_.tables) {
    if (table.row_bytes == 0) table.row_bytes = kLeastRowBytes;
    std::ranges::stable_sort(table.rows, {}, &InitialRow::key);
    const auto twice = std::ranges::adjacent_find(table.rows, {}, &InitialRow::key);
    if (twice == table.rows.end()) continue;
    return "the lines " + std::to_string(twice->line) + " and " +
           std::to_string(std::next(twice)->line) + " load the same row of the table " + table.name;
  }
  return "";
}

std::string Parser::parse(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view read = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_;
    if (read.ends_with('\r')) read.remove_suffix(1);
    if (read.empty() || read.front() == '#') continue;
    const std::string wrong = order_.empty() ? header(read) : line(read);
    if (!wrong.empty()) return "line " + std::to_string(line_) + ": " + wrong;
  }
  return end();
}

}  // namespace

void Trace::fill(const Value& value, std::span<std::byte> row) const {
  const std::span<std::byte> given = row.first(std::min<size_t>(value.bytes, row.size()));
  if (value.made_up) {
    platform::SplitMix64 random(value.at);
    for (size_t at = 0; at < given.size(); at += sizeof(uint64_t)) {
      const uint64_t drawn = random.next();
      std::memcpy(&given[at], &drawn, std::min(sizeof drawn, given.size() - at));
    }
  } else {
    std::ranges::copy(std::span(bytes).subspan(value.at, given.size()), given.begin());
  }
  std::ranges::fill(row.subspan(given.size()), std::byte{0});
}

std::string parse(std::string_view text, Trace* trace) { return Parser(trace).parse(text); }

}  // namespace logjam::trace
