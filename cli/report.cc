#include "cli/report.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/row.h"
#include "engine/run/steadiness.h"
#include "logging/device/device_registry.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/hardware_counters.h"
#include "platform/host.h"
#include "platform/limits.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace logjam {
namespace {

std::string unsteady_of(const RunResult& result) {
  if (result.seconds == 0) return "the run ended in its warm-up, so nothing was measured";
  const double p99_ns = platform::ticks_to_ns(result.commit.percentile(0.99));
  return why_unsteady({.committed = result.committed,
                       .acknowledged = result.transactions,
                       .with_latency = result.commit.count(),
                       .first_half = result.first_half,
                       .seconds = result.seconds,
                       .commit_p99_seconds = p99_ns * 1e-9});
}

double headline_rate(const Headline& headline, const RunResult& result) {
  TypeCounts counted{.transactions = result.transactions, .rollbacks = result.rollbacks};
  if (headline.type) {
    const bool any = *headline.type < result.by_type.size();
    counted = any ? result.by_type[*headline.type] : TypeCounts{};
  }
  const uint64_t count = counted.transactions + (headline.with_rollbacks ? counted.rollbacks : 0);
  return per(static_cast<double>(count) * headline.seconds, result.seconds);
}

void add_aborts(const RunResult& result, double ended, Row* row) {
  const auto aborts = static_cast<double>(result.abort_count());
  append(row, {{"misses", result.misses},
               {"rollbacks", result.rollbacks},
               {"aborts", number(aborts, 0)},
               {"abort_pct", number(100 * per(aborts, aborts + ended), 3)}});
  for (size_t i = 0; i < result.aborts.size(); ++i) {
    row->emplace_back("aborts_" + std::string(name_of(static_cast<AbortReason>(i))),
                      result.aborts[i]);
  }
}

void add_log_use(const LogOptions& log, const RunResult& result, double transactions, Row* row) {
  const double bytes =
      static_cast<double>(result.log_bytes) + result.counters.value("padding_bytes");
  const auto mb_s = [&](double count) { return number(per(count * 1e-6, result.seconds), 2); };
  std::vector<Value> streams;
  for (const uint64_t durable : result.durable_bytes) {
    streams.push_back(mb_s(static_cast<double>(durable)));
  }
  const double records = per(static_cast<double>(result.log_records), transactions);
  append(row, {{"log_mb_s", mb_s(bytes)},
               {"log_mb_s_streams", list_of(streams)},
               {"log_bytes_txn", number(per(bytes, transactions))},
               {"log_records_txn", number(records, 2)}});
  const double syncs = each_write_syncs(log) ? result.counters.value("flushes") : 0;
  row->emplace_back("transactions_sync", number(per(transactions, syncs), 2));
  add_counters(result.counters, row);
}

void add_cost(const RunResult& result, double transactions, Row* row) {
  const auto switches = [&](uint64_t count) {
    return number(per(static_cast<double>(count), transactions), 4);
  };
  const auto mb = [](uint64_t bytes) {
    return bytes == 0 ? Value() : number(static_cast<double>(bytes) * 1e-6, 0);
  };
  const auto of_cores = [&](double seconds) {
    return number(100 * per(seconds, result.seconds * platform::core_count()));
  };
  append(row,
         {{"vol_switches_txn", switches(result.usage.voluntary)},
          {"invol_switches_txn", switches(result.usage.involuntary)},
          {"cpu_us_txn", number(per(result.usage.cpu_seconds * 1e6, transactions), 3)},
          {"cpu_pct", of_cores(result.usage.cpu_seconds)},
          {"system_pct", of_cores(result.usage.system_seconds)},
          {"memory_start_mb", mb(result.memory_start_bytes)},
          {"memory_end_mb", mb(result.memory_end_bytes)},
          {"old_versions_mb", result.old_version_bytes
                                  ? number(static_cast<double>(*result.old_version_bytes) * 1e-6)
                                  : Value()}});
  const auto& ticks = result.activity_ticks;
  const auto all = static_cast<double>(std::accumulate(ticks.begin(), ticks.end(), uint64_t{0}));
  for (size_t i = 0; i < ticks.size(); ++i) {
    row->emplace_back("time_" + std::string(name_of(static_cast<Activity>(i))) + "_pct",
                      number(100 * per(static_cast<double>(ticks[i]), all)));
  }
}

// Appends the processor's counts for each transaction, in the order of kHardwareEvents.
void add_hardware(const RunOptions& options, const RunResult& result, Row* row) {
  const platform::HardwareUse use = options.hardware == nullptr
                                        ? platform::HardwareUse()
                                        : options.hardware->use(result.hardware);
  constexpr std::array<std::pair<const char*, int>, platform::kHardwareEvents.size()> kOfEvents{
      {{"cycles_txn", 1}, {"instructions_txn", 1}, {"llc_misses_txn", 3}, {"tlb_misses_txn", 3}}};
  for (size_t i = 0; i < kOfEvents.size(); ++i) {
    const auto& [name, decimals] = kOfEvents[i];
    const bool is_counted = i < use.counts.size() && use.counts[i].has_value();
    row->emplace_back(
        name, is_counted
                  ? number(per(*use.counts[i], static_cast<double>(result.transactions)), decimals)
                  : Value());
  }
  row->emplace_back("counters_note", use.note);
}

double pipeline_full_pct(const RunOptions& options, const RunResult& result) {
  const double waits_ns = platform::ticks_to_ns(result.pipeline_wait_ticks);
  return per(100 * waits_ns, result.seconds * 1e9 * options.threads);
}

// Warns if --pipeline_depth determines the commit latency. If pipelines are always full, this
// latency is the time in which the log makes --pipeline_depth transactions of a worker durable.
void note_full_pipelines(const RunOptions& options, const RunResult& result) {
  constexpr double kWorthANote = 10;
  const double full_pct = pipeline_full_pct(options, result);
  if (options.commit != CommitPolicy::kPipelined || !(full_pct >= kWorthANote)) return;
  std::printf(
      "note: %.0f %% of their time workers had --pipeline_depth=%u transactions in flight and "
      "waited for the log: that depth, not the scheme alone, sets the commit latency\n",
      full_pct, options.pipeline_depth);
}

void note_caution(const Workload& workload, const RunResult& result) {
  const auto caution_of = workload.spec().caution;
  if (caution_of == nullptr) return;
  const double tps =
      result.seconds > 0 ? static_cast<double>(result.transactions) / result.seconds : 0;
  const std::string caution = caution_of(tps);
  if (!caution.empty()) std::printf("note: %s\n", caution.c_str());
}

constexpr char kTimelineHeader[] =
    "time_s,seconds,phase,transactions,tps,commit_p50_us,commit_p99_us,aborts_s,log_mb_s,"
    "durable_mb_s,lag_bytes,lag_ms,backlog\n";

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kWarmup:
      return "warm-up";
    case Phase::kMeasure:
      return "measure";
    default:
      return "drain";
  }
}

// Appends the columns about checkpoints, empty unless the user asked for checkpoints (`any`).
void add_checkpoints(bool any, const RunResult& result, Row* row) {
  const CheckpointStats& stats = result.checkpoints;
  const auto value = [&](double number_, int decimals) {
    return any ? number(number_, decimals) : Value();
  };
  const auto completed = static_cast<double>(stats.completed);
  // The rates during checkpoints and at other times show how much a checkpoint slows transactions.
  const double inside_tps = per(static_cast<double>(stats.transactions), stats.seconds);
  const double between_tps = per(static_cast<double>(result.transactions - stats.transactions),
                                 result.seconds - stats.seconds);
  append(row, {{"checkpoints", value(completed, 0)},
               {"checkpoint_mb", value(per(1e-6 * static_cast<double>(stats.bytes), completed), 1)},
               {"checkpoint_longest_s", completed > 0 ? value(stats.longest_seconds, 3) : Value()},
               {"checkpoint_time_pct", value(100 * per(stats.seconds, result.seconds), 1)},
               {"checkpoint_tps", value(inside_tps, 1)},
               {"between_tps", value(between_tps, 1)}});
}

// Returns a percentile of latencies in microseconds, or nothing if there are none.
Value percentile_us(const HistogramSum& latencies, double fraction) {
  if (latencies.count() == 0) return Value();
  return number(platform::ticks_to_ns(latencies.percentile(fraction)) * 1e-3);
}

// Appends the columns about readers and writers, empty unless there were both kinds.
void add_by_kind(const RunResult& result, Row* row) {
  const bool both = result.reader_commit.count() != 0 && result.writer_commit.count() != 0;
  for (const auto& [name, latencies] : {std::pair("reader_commit_", &result.reader_commit),
                                        std::pair("writer_commit_", &result.writer_commit)}) {
    row->emplace_back(std::string(name) + "p50_us",
                      both ? percentile_us(*latencies, 0.5) : Value());
    row->emplace_back(std::string(name) + "p99_us",
                      both ? percentile_us(*latencies, 0.99) : Value());
  }
}

// Appends the columns about long and short transactions, empty unless the workload has both kinds.
void add_by_length(const RunResult& result, Row* row) {
  const auto percentile = [](const std::optional<TransactionsOfLength>& of, double fraction) {
    return of ? percentile_us(of->commit, fraction) : Value();
  };
  append(row,
         {{"short_commit_p50_us", percentile(result.of_short, 0.5)},
          {"short_commit_p99_us", percentile(result.of_short, 0.99)},
          {"long_transactions", result.of_long ? Value(result.of_long->transactions) : Value()},
          {"long_commit_p99_us", percentile(result.of_long, 0.99)}});
}

}  // namespace

Row make_row(const Settings& settings, const Workload& workload, const RunResult& result,
             const std::string& verified) {
  LJ_ASSERT(settings.workload != nullptr && settings.protocol != nullptr);
  LJ_ASSERT(settings.scheme != nullptr);
  const RunOptions& options = settings.run;
  const Specification spec = workload.spec();
  const std::optional<Headline>& headline = spec.headline;
  const auto transactions = static_cast<double>(result.transactions);
  // Aborted attempts are repeated, so they end no transaction. A rollback ends its transaction.
  const auto ended = static_cast<double>(result.transactions + result.rollbacks);
  const auto per_second = [&](auto count) {
    return number(per(static_cast<double>(count), result.seconds));
  };
  const auto value_if = [](bool wanted, const auto& value) {
    return wanted ? Value(value) : Value();
  };
  const bool open_loop = !options.rates.empty() || spec.own_arrivals;
  Row row = {
      {"workload", settings.workload->name},
      {"scale", spec.description},
      {"cc", settings.protocol->name},
      {"log", settings.scheme->name},
      {"log_differs", settings.scheme->differs},
      {"snapshot", value_if(settings.protocol->keeps_old_versions, settings.snapshot)},
      {"commit", settings.commit},
      {"unsafe", settings.unsafe},
      {"unsteady", unsteady_of(result)},
      {"elr", options.early_lock_release},
      {"log_records", settings.log_records},
      {"device", settings.log.device},
      {"device_card", settings.log.card},
      {"sync", settings.sync},
      {"io", settings.io},
      {"threads", options.threads},
      {"worker_class", options.worker_class != nullptr ? options.worker_class->granted() : ""},
      {"threads_of_log", settings.log_threads},
      {"threads_in_all", options.threads + settings.log_threads},
      {"placement", placement_text(options.pin)},
      {"cautions", platform::join(settings.cautions, "; ")},
      {"without_effect", settings.without_effect},
      {"warmup_s", number(result.warmup_seconds, 6)},
      {"seconds", number(result.seconds, 3)},
      {"transactions", result.transactions},
      {"tps", per_second(transactions)},
      {"offered_s", value_if(open_loop, per_second(result.arrivals))},
      {"achieved_s", per_second(ended)},
      {"backlog", value_if(open_loop, result.backlog)},
      {"headline", headline ? Value(headline->name) : Value()},
      {"headline_rate", headline ? number(headline_rate(*headline, result)) : Value()},
      {"headline_rollbacks", !headline                  ? ""
                             : headline->with_rollbacks ? "counted"
                                                        : "not counted"},
  };
  add_aborts(result, ended, &row);
  add_latency("exec", result.execution, &row);
  add_latency("commit", result.commit, &row);
  add_by_kind(result, &row);
  add_by_length(result, &row);
  row.emplace_back("pipeline_full_pct", value_if(options.commit == CommitPolicy::kPipelined,
                                                 number(pipeline_full_pct(options, result))));
  add_log_use(settings.log, result, transactions, &row);
  add_cost(result, transactions, &row);
  add_hardware(options, result, &row);
  add_checkpoints(options.checkpoints != nullptr, result, &row);
  add_disks(disk_directories(settings.log), &row);
  append(&row, {{"run_ordinal", settings.log.header.ordinal},
                {"verified", verified},
                {"interrupted", result.interrupted}});
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
  LJ_ASSERT(result.by_type.size() >= types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const TypeCounts& type = result.by_type[i];
    const auto good = static_cast<double>(type.transactions - type.misses);
    const double share = all > 0 ? 100 * ended(type) / all : 0;
    if (ended(type) == 0) continue;
    const double success = 100 * good / ended(type);
    std::printf("txn %-22s %10lu  share %6.2f %%  success %6.2f %%",
                std::string(types[i].name).c_str(), type.transactions, share, success);
    if (const auto& specified = types[i].specified) {
      std::printf("  (specified %.4g %%", specified->share_pct);
      if (specified->success_pct) std::printf(", %.4g %%", *specified->success_pct);
      std::printf(")");
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

void print_notes(const Settings& settings, const Workload& workload, const RunResult& result) {
  note_caution(workload, result);
  note_full_pipelines(settings.run, result);
  const platform::WorkerClass* workers = settings.run.worker_class;
  if (workers != nullptr && !workers->cost().empty()) {
    std::printf("note: %s\n", workers->cost().c_str());
  }
  for (const std::string& caution : settings.cautions) std::printf("note: %s\n", caution.c_str());
  if (!settings.without_effect.empty()) {
    std::printf("note: without effect here: %s\n", settings.without_effect.c_str());
  }
  if (const std::string unsteady = unsteady_of(result); !unsteady.empty()) {
    std::printf("note: unsteady: %s\n", unsteady.c_str());
  }
  if (!settings.unsafe.empty()) {
    std::printf("UNSAFE: acknowledged transactions may be lost (%s)\n", settings.unsafe.c_str());
  }
}

std::vector<std::string> cautions_about_machine(const LogOptions& log) {
  std::vector<std::string> cautions;
  const auto workers = log.config.workers;
  const auto cores = static_cast<uint32_t>(platform::core_count());
  constexpr uint32_t kUsualPerCore = 16;
  if (workers > kUsualPerCore * cores) {
    cautions.push_back(std::to_string(workers / cores) +
                       " workers a core: latencies are above all waits for a core");
  }
  if (workers > cores && !log.scheme->oversubscribed.empty()) {
    cautions.push_back("more workers than cores: " + std::string(log.scheme->oversubscribed));
  }
  if (platform::is_simulated()) return cautions;
  const platform::Limit quota = platform::processor_quota();
  if (quota.amount < std::min(workers, cores)) {
    cautions.push_back(quota.by + " gives this process " + platform::short_number(quota.amount) +
                       " processors, fewer than its workers: it is stopped for a part of each "
                       "period");
  }
  if (const std::string why = platform::why_not_pinned(); !why.empty()) {
    cautions.push_back("threads were not pinned: " + why);
  }
  if (const std::string why = caution_about_clock(); !why.empty()) cautions.push_back(why);
  for (const std::string& directory : disk_directories(log)) {
    const std::string kind = platform::memory_file_system(directory);
    if (!kind.empty()) cautions.push_back(directory + " is on a " + kind + ": no disk is measured");
  }
  return cautions;
}

std::string caution_about_clock(const platform::KernelFiles& kernel) {
  const std::string processors = kernel.read("/proc/cpuinfo");
  const auto has = [&](const char* flag) { return processors.find(flag) != std::string::npos; };
  const bool promised = has(" constant_tsc") && has(" nonstop_tsc");
  const std::string source =
      kernel.word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!has("\nflags") || promised || source == "tsc") return "";
  return "latencies may be wrong: the processor does not promise a steady time stamp counter, and "
         "the kernel's clock is " +
         source;
}

std::vector<std::string> cautions_about_indexes(Database& database) {
  constexpr uint64_t kTimes = 4;
  std::vector<std::string> cautions;
  for (const auto& table : database.tables()) {
    const TableSchema& schema = table->schema();
    const uint64_t rows = table->count_rows();
    if (schema.kind != IndexKind::kHash || rows <= kTimes * schema.expected_rows) continue;
    cautions.push_back("the hash index of " + schema.name + " does not grow: it was laid out for " +
                       std::to_string(schema.expected_rows) + " rows and has " +
                       std::to_string(rows));
  }
  return cautions;
}

void TimelineFile::claim(const std::string& path) {
  claim_replaced("--timeline", path, "a time line", {kTimelineHeader});
}

TimelineFile::TimelineFile(const std::string& path, const RunOptions& options)
    : file_(path),
      knows_lag_(options.commit != CommitPolicy::kAsync),
      open_loop_(!options.rates.empty()) {
  file_.write(kTimelineHeader);
  file_.flush();
}

void TimelineFile::write(const TimelineSample& sample) {
  const auto rate = [&](uint64_t count, double unit, int decimals) {
    const double seconds = sample.seconds > 0 ? sample.seconds : 1;
    return number(static_cast<double>(count) / unit / seconds, decimals);
  };
  const auto latency = [&](double fraction) {
    if (sample.commit.count() == 0) return Value();
    return number(platform::ticks_to_ns(sample.commit.percentile(fraction)) * 1e-3);
  };
  const Value cells[] = {number(sample.time_seconds, 3),
                         number(sample.seconds, 6),
                         name_of(sample.phase),
                         sample.transactions,
                         rate(sample.transactions, 1, 1),
                         latency(0.5),
                         latency(0.99),
                         rate(sample.aborts, 1, 1),
                         rate(sample.log_bytes, 1e6, 2),
                         rate(sample.durable_bytes, 1e6, 2),
                         knows_lag_ ? Value(sample.lag_bytes) : Value(),
                         knows_lag_ ? number(sample.lag_ns * 1e-6, 3) : Value(),
                         open_loop_ ? Value(sample.backlog) : Value()};
  file_.write(platform::join(cells, ",", &Value::text) + "\n");
  file_.flush();
}

}  // namespace logjam
