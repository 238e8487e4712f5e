#include "cli/row.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/diagnostics.h"
#include "cli/options.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/text.h"

namespace logjam {
namespace {

// Returns the length of the UTF-8 character with which `text` begins, 0 if it begins with none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                     ? 1
                        : first >= 0xc2 && first < 0xe0  ? 2
                        : first >= 0xe0 && first < 0xf0  ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  // These are no characters: more bytes than needed, surrogates, numbers above the last
  // character's.
  if (length > 2) {
    const unsigned second = byte(1);
    const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    if (bad) return 0;
  }
  return length;
}

}  // namespace

Value::Value(std::string_view text) : text_(text) {
  if (!text.empty()) json_ = json_text(text);
}

Value number(double value, int decimals) {
  if (std::isnan(value)) return {};
  const std::string text = platform::with_decimals(value, decimals);
  return {text, std::isfinite(value) ? text : "null"};  // JSON has no infinity
}

double per(double value, double count) {
  return count > 0 ? value / count : std::numeric_limits<double>::quiet_NaN();
}

Value list_of(const std::vector<Value>& members) {
  std::vector<std::string> items;
  for (const Value& member : members) items.push_back(member.json());
  return {platform::join(members, " ", &Value::text), json_array(items)};
}

void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row) {
  const auto us = [any = ticks.count() != 0](uint64_t t) {
    return any ? number(platform::ticks_to_ns(t) * 1e-3) : Value();
  };
  row->emplace_back(prefix + "_p50_us", us(ticks.percentile(0.5)));
  row->emplace_back(prefix + "_p95_us", us(ticks.percentile(0.95)));
  row->emplace_back(prefix + "_p99_us", us(ticks.percentile(0.99)));
  row->emplace_back(prefix + "_p999_us", us(ticks.percentile(0.999)));
  row->emplace_back(prefix + "_max_us", us(ticks.max()));
}

Value counter(const Counters& counters, std::string_view name, int decimals) {
  return counters.has(name) ? number(counters.value(name), decimals) : Value();
}

void add_counters(const Counters& counters, Row* row) {
  row->emplace_back("flushes", counter(counters, "flushes", 0));
  row->emplace_back("flush_bytes_mean", counter(counters, "flush_bytes_mean", 0));
  row->emplace_back("flush_late_us_mean", counter(counters, "flush_late_us_mean", 1));
  std::string text;
  std::vector<std::pair<std::string, std::string>> members;
  for (const SchemeCounter& counter : counters) {
    if (counter.name.starts_with("flush")) continue;
    const Value value = number(counter.value(), 2);
    if (value.empty()) continue;
    platform::append_part(&text, " ", counter.name + "=" + value.text());
    members.emplace_back(counter.name, value.json());
  }
  row->emplace_back("scheme_counters", Value(text, json_object(members)));
}

void add_log(const LogFiles& files, size_t directories, Row* row) {
  const LogFileHeader& log = files.header;
  char run[17];
  std::snprintf(run, sizeof run, "%016lx", log.run);
  row->emplace_back("log", log.scheme);
  row->emplace_back("log_records", log.log_records);
  row->emplace_back("device", log.device);
  row->emplace_back("streams", files.paths.size());
  row->emplace_back("directories", directories);
  row->emplace_back("log_threads", log.workers);
  row->emplace_back("log_run", run);
  row->emplace_back("log_revision", log.revision);
  row->emplace_back("log_flags", log.given);
}

void add_origin(Row* row) {
  row->emplace_back("revision", revision());
  row->emplace_back("machine", platform::host_description());
  row->emplace_back("flags", changed_flags());
}

void print_summary(const Row& row) {
  for (const auto& [name, value] : row) {
    if (!value.empty()) std::printf("%-22s %s\n", name.c_str(), value.text().c_str());
  }
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char first = text[0];
    if (length == 0) {
      out += '?';
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (static_cast<unsigned char>(first) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(first));
      out += escaped;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) {
    LJ_ASSERT(!value.empty());
    out += (out.size() == 1 ? "" : ", ") + json_text(name) + ": " + value;
  }
  return out + "}";
}

std::string json_array(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() == 1 ? "" : ", ") + item;
  return out + "]";
}

void print_table(const std::vector<Line>& lines) {
  LJ_ASSERT(!lines.empty());
  std::vector<size_t> widths(lines[0].size());
  for (const Line& line : lines) {
    LJ_ASSERT(line.size() == widths.size());
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text += std::string(widths[i] - line[i].size() + 2, ' ');
    }
    std::printf("%s\n", text.c_str());
  }
  std::printf("\n");
}

}  // namespace logjam
