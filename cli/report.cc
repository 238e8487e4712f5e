#include "cli/report.h"

#include <gflags/gflags.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cli/revision.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/thread.h"

DECLARE_string(commit);
DECLARE_string(log_records);

namespace logjam {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::string machine() {
  utsname system;
  uname(&system);
  return cpu_model() + ", " + std::to_string(platform::core_count()) + " cores, " + system.sysname +
         " " + system.release;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string joined(const Row& row, bool names) {
  std::string line;
  for (const auto& [name, value] : row) {
    line += (line.empty() ? "" : ",") + quoted(names ? name : value);
  }
  return line;
}

}  // namespace

std::string number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

void add_latency(const std::string& prefix, const HistogramSum& ticks, Row* row) {
  const auto us = [](uint64_t t) { return number(platform::ticks_to_ns(t) * 1e-3); };
  row->emplace_back(prefix + "_p50_us", us(ticks.percentile(0.5)));
  row->emplace_back(prefix + "_p95_us", us(ticks.percentile(0.95)));
  row->emplace_back(prefix + "_p99_us", us(ticks.percentile(0.99)));
  row->emplace_back(prefix + "_p999_us", us(ticks.percentile(0.999)));
  row->emplace_back(prefix + "_max_us", us(ticks.max()));
}

void add_counters(const Counters& counters, Row* row) {
  row->emplace_back("flushes", number(counters.value("flushes"), 0));
  row->emplace_back("flush_bytes_mean", number(counters.value("flush_bytes_mean"), 0));
  row->emplace_back("flush_late_us_mean", number(counters.value("flush_late_us_mean")));
  std::string rest;
  for (const SchemeCounter& counter : counters) {
    if (counter.name.starts_with("flush")) continue;
    rest += (rest.empty() ? "" : " ") + counter.name + "=" + number(counter.value(), 2);
  }
  row->emplace_back("scheme_counters", rest);
}

void add_origin(Row* row) {
  row->emplace_back("revision", revision());
  row->emplace_back("machine", machine());
  row->emplace_back("flags", changed_flags());
}

Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified) {
  const RunOptions& options = settings.run;
  const auto per = [](double value, double count) { return count > 0 ? value / count : 0; };
  const auto transactions = static_cast<double>(result.transactions);
  const auto aborts = static_cast<double>(result.abort_count());
  // Aborted attempts are followed by others; these have ended.
  const auto ended = transactions + static_cast<double>(result.rollbacks);
  const auto open_loop = [&](std::string value) { return options.rate > 0 ? value : ""; };
  const double log_bytes =
      static_cast<double>(result.log_bytes) + result.counters.value("padding_bytes");
  const bool pipelined = options.commit == CommitPolicy::kPipelined;
  const auto text = [](std::string_view view) { return std::string(view); };
  const auto headline = workload.headline();
  TypeCounts counted{.transactions = result.transactions, .rollbacks = result.rollbacks};
  if (headline && headline->type) {
    const bool any = *headline->type < result.by_type.size();
    counted = any ? result.by_type[*headline->type] : TypeCounts{};
  }
  const bool with_rollbacks = headline && headline->with_rollbacks;
  const auto of_headline =
      static_cast<double>(counted.transactions + (with_rollbacks ? counted.rollbacks : 0));
  Row row = {
      {"workload", text(settings.workload->name)},
      {"scale", workload.describe()},
      {"cc", text(settings.protocol->name)},
      {"log", text(settings.scheme->name)},
      {"commit", FLAGS_commit},
      {"unsafe", settings.unsafe},
      {"elr", options.early_lock_release ? "true" : "false"},
      {"log_records", FLAGS_log_records},
      {"device", settings.log.device},
      {"threads", std::to_string(options.threads)},
      {"worker_class", options.worker_class != nullptr ? options.worker_class->granted() : ""},
      {"seconds", number(result.seconds, 3)},
      {"transactions", std::to_string(result.transactions)},
      {"tps", number(per(transactions, result.seconds))},
      {"offered_s", open_loop(number(per(static_cast<double>(result.arrivals), result.seconds)))},
      {"achieved_s", number(per(ended, result.seconds))},
      {"backlog", open_loop(std::to_string(result.backlog))},
      {"headline", headline ? text(headline->name) : ""},
      {"headline_rate",
       headline ? number(per(of_headline * headline->seconds, result.seconds)) : ""},
      {"headline_rollbacks", !headline                  ? ""
                             : headline->with_rollbacks ? "counted"
                                                        : "not counted"},
      {"misses", std::to_string(result.misses)},
      {"rollbacks", std::to_string(result.rollbacks)},
      {"aborts", number(aborts, 0)},
      {"abort_pct", number(100 * per(aborts, aborts + ended), 3)},
  };
  for (size_t i = 0; i < result.aborts.size(); ++i) {
    row.emplace_back("aborts_" + text(name_of(static_cast<AbortReason>(i))),
                     std::to_string(result.aborts[i]));
  }
  add_latency("exec", result.execution, &row);
  add_latency("commit", result.commit, &row);
  row.emplace_back("pipeline_full_pct", pipelined ? number(result.pipeline_full_pct) : "");
  row.emplace_back("log_mb_s", number(per(log_bytes * 1e-6, result.seconds), 2));
  row.emplace_back("log_bytes_txn", number(per(log_bytes, transactions)));
  row.emplace_back("log_records_txn",
                   number(per(static_cast<double>(result.log_records), transactions), 2));
  add_counters(result.counters, &row);
  row.emplace_back("vol_switches_txn",
                   number(per(static_cast<double>(result.usage.voluntary), transactions), 4));
  row.emplace_back("invol_switches_txn",
                   number(per(static_cast<double>(result.usage.involuntary), transactions), 4));
  row.emplace_back("cpu_us_txn", number(per(result.usage.cpu_seconds * 1e6, transactions), 3));
  row.emplace_back("cpu_pct", number(100 * per(result.usage.cpu_seconds,
                                               result.seconds * platform::core_count())));
  row.emplace_back("memory_start_mb",
                   number(static_cast<double>(result.memory_start_bytes) * 1e-6, 0));
  row.emplace_back("memory_end_mb", number(static_cast<double>(result.memory_end_bytes) * 1e-6, 0));
  for (size_t i = 0; i < result.activity_share.size(); ++i) {
    row.emplace_back("time_" + text(name_of(static_cast<Activity>(i))) + "_pct",
                     options.breakdown ? number(100 * result.activity_share[i]) : "");
  }
  row.emplace_back("verified", verified);
  row.emplace_back("interrupted", result.interrupted ? "true" : "false");
  add_origin(&row);
  return row;
}

void print_summary(const Row& row) {
  for (const auto& [name, value] : row) {
    if (!value.empty()) std::printf("%-22s %s\n", name.c_str(), value.c_str());
  }
}

void refuse_foreign_csv(const std::string& path, const Row& row) {
  std::ifstream in(path);
  std::string header;
  if (in && std::getline(in, header) && header != joined(row, true)) {
    platform::refuse("--csv=" + path + " holds rows with other columns; name a new file");
  }
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) platform::refuse("cannot write --csv=" + path + ": " + strerror(errno));
  std::fclose(file);
}

void append_csv(const std::string& path, const Row& row) {
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) platform::fatal("cannot write " + path + ": " + strerror(errno));
  std::fseek(file, 0, SEEK_END);
  std::string text = std::ftell(file) == 0 ? joined(row, true) + "\n" : "";
  text += joined(row, false) + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    platform::fatal("cannot write " + path + ": " + strerror(errno));
  }
}

bool print_checks(const std::vector<Check>& checks) {
  bool all = true;
  for (const Check& check : checks) {
    std::printf("%-4s %s: %s\n", check.passed ? "ok" : "FAIL", check.name.c_str(),
                check.detail.c_str());
    all = all && check.passed;
  }
  return all;
}

void print_types(const Workload& workload, const RunResult& result) {
  const auto ended = [](const TypeCounts& type) {
    return static_cast<double>(type.transactions + type.rollbacks);
  };
  double all = 0;
  for (const TypeCounts& type : result.by_type) all += ended(type);
  const auto names = workload.types();
  const auto specified_mix = workload.specified_mix();
  for (size_t i = 0; i < names.size(); ++i) {
    const TypeCounts& type = result.by_type[i];
    const auto good = static_cast<double>(type.transactions - type.misses);
    const double share = all > 0 ? 100 * ended(type) / all : 0;
    if (ended(type) == 0) continue;
    const double success = 100 * good / ended(type);
    std::printf("txn %-22s %10llu  share %6.2f %%  success %6.2f %%", std::string(names[i]).c_str(),
                static_cast<unsigned long long>(type.transactions), share, success);
    if (i < specified_mix.size()) {
      std::printf("  (specified %.4g %%, %.4g %%)", specified_mix[i].share_pct,
                  specified_mix[i].success_pct);
    }
    std::printf("\n");
  }
  for (const Share& drawn : workload.shares()) {
    if (drawn.all == 0) continue;
    std::printf("share %-45s %6.2f %% of %llu  (specified %.4g %%)\n",
                std::string(drawn.name).c_str(),
                100 * static_cast<double>(drawn.hits) / static_cast<double>(drawn.all),
                static_cast<unsigned long long>(drawn.all), drawn.specified_pct);
  }
}

void print_row_counts(Database& database) {
  for (const auto& table : database.tables()) {
    const TableSchema& schema = table->schema();
    const uint64_t rows = table->count_rows();
    const uint64_t bytes = table_bytes(rows, schema.row_bytes, schema.secondaries.size());
    std::printf("rows %-17s %-10llu about %s MB\n", schema.name.c_str(),
                static_cast<unsigned long long>(rows),
                number(static_cast<double>(bytes) * 1e-6).c_str());
  }
}

}  // namespace logjam
