#include "cli/report.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "cli/checkpoints.h"
#include "cli/placement.h"
#include "platform/thread.h"

DECLARE_string(commit);
DECLARE_string(log_records);

namespace logjam {

Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified) {
  const RunOptions& options = settings.run;
  const auto per = [](double value, double count) { return count > 0 ? value / count : 0; };
  const auto transactions = static_cast<double>(result.transactions);
  const auto aborts = static_cast<double>(result.abort_count());
  // Aborted attempts are followed by others; these have ended.
  const auto ended = transactions + static_cast<double>(result.rollbacks);
  const auto open_loop = [&](const Value& value) { return options.rate > 0 ? value : Value(); };
  const double log_bytes =
      static_cast<double>(result.log_bytes) + result.counters.value("padding_bytes");
  const bool pipelined = options.commit == CommitPolicy::kPipelined;
  const Specification spec = workload.spec();
  const auto& headline = spec.headline;
  TypeCounts counted{.transactions = result.transactions, .rollbacks = result.rollbacks};
  if (headline && headline->type) {
    const bool any = *headline->type < result.by_type.size();
    counted = any ? result.by_type[*headline->type] : TypeCounts{};
  }
  const bool with_rollbacks = headline && headline->with_rollbacks;
  const auto of_headline =
      static_cast<double>(counted.transactions + (with_rollbacks ? counted.rollbacks : 0));
  Row row = {
      {"workload", settings.workload->name},
      {"scale", spec.description},
      {"cc", settings.protocol->name},
      {"log", settings.scheme->name},
      {"commit", FLAGS_commit},
      {"unsafe", settings.unsafe},
      {"elr", options.early_lock_release},
      {"log_records", FLAGS_log_records},
      {"device", settings.log.device},
      {"threads", options.threads},
      {"worker_class", options.worker_class != nullptr ? options.worker_class->granted() : ""},
      {"placement", placement_text()},
      {"seconds", number(result.seconds, 3)},
      {"transactions", result.transactions},
      {"tps", number(per(transactions, result.seconds))},
      {"offered_s", open_loop(number(per(static_cast<double>(result.arrivals), result.seconds)))},
      {"achieved_s", number(per(ended, result.seconds))},
      {"backlog", open_loop(result.backlog)},
      {"headline", headline ? headline->name : ""},
      {"headline_rate",
       headline ? number(per(of_headline * headline->seconds, result.seconds)) : Value()},
      {"headline_rollbacks", !headline                  ? ""
                             : headline->with_rollbacks ? "counted"
                                                        : "not counted"},
      {"misses", result.misses},
      {"rollbacks", result.rollbacks},
      {"aborts", number(aborts, 0)},
      {"abort_pct", number(100 * per(aborts, aborts + ended), 3)},
  };
  for (size_t i = 0; i < result.aborts.size(); ++i) {
    row.emplace_back("aborts_" + std::string(name_of(static_cast<AbortReason>(i))),
                     result.aborts[i]);
  }
  add_latency("exec", result.execution, &row);
  add_latency("commit", result.commit, &row);
  row.emplace_back("pipeline_full_pct", pipelined ? number(result.pipeline_full_pct) : Value());
  row.emplace_back("log_mb_s", number(per(log_bytes * 1e-6, result.seconds), 2));
  std::vector<Value> streams;
  for (const uint64_t bytes : result.durable_bytes) {
    streams.push_back(number(per(static_cast<double>(bytes) * 1e-6, result.seconds), 2));
  }
  row.emplace_back("log_mb_s_streams", list_of(streams));
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
    row.emplace_back("time_" + std::string(name_of(static_cast<Activity>(i))) + "_pct",
                     options.breakdown ? number(100 * result.activity_share[i]) : Value());
  }
  add_checkpoints(options.checkpoints != nullptr, result, &row);
  row.emplace_back("run_ordinal", settings.log.header.ordinal);
  row.emplace_back("verified", verified);
  row.emplace_back("interrupted", result.interrupted);
  add_origin(&row);
  return row;
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
  const auto types = workload.spec().types;
  for (size_t i = 0; i < types.size(); ++i) {
    const TypeCounts& type = result.by_type[i];
    const auto good = static_cast<double>(type.transactions - type.misses);
    const double share = all > 0 ? 100 * ended(type) / all : 0;
    if (ended(type) == 0) continue;
    const double success = 100 * good / ended(type);
    std::printf("txn %-22s %10lu  share %6.2f %%  success %6.2f %%",
                std::string(types[i].name).c_str(), type.transactions, share, success);
    if (const auto& specified = types[i].specified) {
      std::printf("  (specified %.4g %%, %.4g %%)", specified->share_pct, specified->success_pct);
    }
    std::printf("\n");
  }
  for (const Share& drawn : workload.shares()) {
    if (drawn.all == 0) continue;
    std::printf("share %-45s %6.2f %% of %lu  (specified %.4g %%)\n",
                std::string(drawn.name).c_str(),
                100 * static_cast<double>(drawn.hits) / static_cast<double>(drawn.all), drawn.all,
                drawn.specified_pct);
  }
}

void print_row_counts(Database& database) {
  for (const auto& table : database.tables()) {
    const TableSchema& schema = table->schema();
    const uint64_t rows = table->count_rows();
    const uint64_t bytes = table_bytes(rows, schema.row_bytes, schema.secondaries.size());
    std::printf("rows %-17s %-10lu about %s MB\n", schema.name.c_str(), rows,
                number(static_cast<double>(bytes) * 1e-6).text().c_str());
  }
}

}  // namespace logjam
