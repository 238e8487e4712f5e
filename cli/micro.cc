// `logjam micro`: the log-insert benchmark. With --primitive, measures atomic operations and locks.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "logging/device/device_registry.h"
#include "logging/format/record.h"
#include "logging/log.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "workloads/log_insert/log_insert.h"

namespace logjam {
namespace {

using platform::refuse;

using log_insert::Floor;
constexpr uint64_t kStarved = 10;  // the ratio of two threads' inserts above which there is a note

struct MicroOptions {
  Floor floor = Floor::kNone;
  std::string floor_name;  // --floor; empty: none
  const SchemeInfo* scheme = nullptr;
  LogOptions log;
  platform::WorkerClass::Request worker_class;
  log_insert::Options insert;
  std::string commit;    // as --commit names it
  std::string sync, io;  // columns of the row; set only when the log is open
  OutputFiles files;
};

Floor floor_named(const std::string& name) {
  if (name.empty()) return Floor::kNone;
  if (name == "copy") return Floor::kCopy;
  if (name == "fetch-add") return Floor::kFetchAdd;
  refuse("--floor=" + name + " is not a floor" + platform::instead_of(name, {"copy", "fetch-add"}));
}

// Sets how an insert fills its hole, from `name`, the value of --fill. Refuses unknown names.
void set_fill(const std::string& name, log_insert::Options* insert) {
  insert->local = name == "local";
  insert->seal = name == "records";
  if (!insert->local && !insert->seal && name != "bytes") {
    refuse("--fill=" + name + " is not a choice" +
           platform::instead_of(name, {"bytes", "records", "local"}));
  }
}

double fixed_warm_up() {
  if (warm_up().most_seconds != 0) {
    refuse("--warmup=" + FLAGS_warmup + ": micro has a warm-up of a fixed time");
  }
  return FLAGS_transactions != 0 ? 0 : warm_up().seconds;
}

MicroOptions micro_options() {
  MicroOptions options;
  options.floor = floor_named(FLAGS_floor);
  options.floor_name = FLAGS_floor;
  options.commit = FLAGS_commit;
  options.files = output_files();
  log_insert::Options& insert = options.insert;
  insert.threads = FLAGS_threads;
  insert.seconds = FLAGS_seconds;
  insert.warmup_seconds = fixed_warm_up();
  insert.inserts = FLAGS_transactions;
  set_fill(FLAGS_fill, &insert);
  insert.sync_every = FLAGS_sync_every;
  insert.logs_per_commit = FLAGS_logs_per_commit;
  insert.pipeline_depth = FLAGS_pipeline_depth;
  insert.pin = workers_are_pinned();
  const bool discards = device_traits(FLAGS_device).discards;
  insert.polls = !discards;
  if (discards && insert.logs_per_commit != 0) {
    refuse("--device=discard never makes a commit durable: it needs --logs_per_commit=0");
  }
  if (discards && !FLAGS_flush_help) {
    refuse("--device=discard has no flusher beside the threads: it needs --flush_help");
  }
  const CommitPolicy commit = commit_policy();
  insert.wait = commit == CommitPolicy::kSync;
  if (commit == CommitPolicy::kAsync) {
    refuse("--commit=async: nothing would be acknowledged; --logs_per_commit=0 measures that");
  }
  refuse_if(insert.sizes.parse(FLAGS_record_bytes, FLAGS_seed));
  if (insert.seal && insert.sizes.smallest() < sizeof(RecordHeader) + sizeof(WriteHeader)) {
    refuse("--fill=records writes a record header and a write's: --record_bytes must be at least " +
           std::to_string(sizeof(RecordHeader) + sizeof(WriteHeader)));
  }
  const bool logs = options.floor == Floor::kNone;
  if (insert.seal && !logs) refuse("--floor is a plain copy, without records");
  if (!options.files.cdf.empty() && insert.logs_per_commit == 0) {
    refuse("--cdf is about commits: it needs --logs_per_commit");
  }
  options.scheme = &scheme_named(FLAGS_log);
  if (logs && options.scheme->stream_count(1, LogConfig{}) == 0) {
    refuse("--log=" + FLAGS_log + " has no buffer to insert into; --floor=copy is the plain copy");
  }
  options.log = log_options(*options.scheme);
  options.worker_class = worker_class(options.log);
  options.worker_class.preemption_helps &= logs && insert.logs_per_commit != 0;
  return options;
}

// Inserts, and sets the columns `sync` and `io` of `micro`.
log_insert::Result insert_into_log(MicroOptions& micro, log_insert::Options options) {
  micro.log.record_bytes = options.sizes.largest();
  Log log(micro.log);
  micro.sync = sync_column(micro.log, log);
  micro.io = log.io();
  options.run = log.run();
  log.start();
  auto result = insert_into(log.scheme(), options);
  log.drain();
  log.stop();
  return result;
}

// Returns how often per insert a thread tries to take the log's lock: once for each group, and once
// for each insert outside groups. The value is empty if the scheme forms no groups.
Value groups_per_insert(const Counters& counters) {
  const double inserts = counters.value("inserts"),
               together = counters.value("consolidated_inserts");
  if (inserts == 0 || !counters.has("groups")) return "";
  return number((inserts - together + counters.value("groups")) / inserts, 3);
}

Row make_row(const MicroOptions& micro, const log_insert::Result& result,
             const std::vector<std::string>& cautions) {
  const log_insert::Options& options = micro.insert;
  const auto inserts = static_cast<double>(result.inserts);
  const bool logs = micro.floor == Floor::kNone;
  std::string unsafe = micro.scheme->unsafe();
  const std::string sync = unsafe_sync(micro.log);
  if (!sync.empty()) platform::append_part(&unsafe, ", ", sync);
  Row row = {
      {"log", logs ? std::string(micro.scheme->name) : "floor:" + micro.floor_name},
      {"log_differs", logs ? micro.scheme->differs : ""},
      {"unsafe", logs ? unsafe : ""},
      {"device", logs ? micro.log.device : ""},
      {"device_card", logs ? micro.log.card : ""},
      {"sync", micro.sync},
      {"io", micro.io},
      {"threads", options.threads},
      {"worker_class", options.worker_class != nullptr ? options.worker_class->granted() : ""},
      {"placement", placement_text(options.pin)},
      {"cautions", platform::join(cautions, "; ")},
      {"record_bytes", options.sizes.spec},
      {"outlier_bytes", options.sizes.outlier_bytes},
      {"local", options.local},
      {"sync_every", options.sync_every},
      {"logs_per_commit", options.logs_per_commit},
      {"commit", options.logs_per_commit == 0 ? "" : micro.commit},
      {"seal", options.seal},
      {"seconds", number(result.seconds, 3)},
      {"inserts", result.inserts},
      {"inserts_s", number(per(inserts, result.seconds), 0)},
      {"least_inserts", result.least_inserts},
      {"most_inserts", result.most_inserts},
      {"mb_s", number(per(static_cast<double>(result.bytes) * 1e-6, result.seconds), 2)},
      {"ns_insert", number(per(result.seconds * 1e9 * options.threads, inserts), 2)},
      {"groups_per_insert", groups_per_insert(result.counters)},
      {"commits_s", number(per(static_cast<double>(result.commits), result.seconds), 0)},
  };
  add_latency("commit", result.commit, &row);
  const Counters& counters = result.counters;
  const double consolidated = per(100 * counters.value("consolidated_inserts"),
                                  counters.has("groups") ? counters.value("inserts") : 0);
  append(&row, {{"mean_group_size", counter(counters, "mean_group_size", 2)},
                {"consolidated_pct", number(consolidated, 2)},
                {"delegated_releases", counter(counters, "delegated_releases", 0)},
                {"sbl_hops", counter(counters, "sbl_hops", 0)},
                {"sbl_crawls", counter(counters, "sbl_crawls", 0)},
                {"sbl_crawl_share", counter(counters, "sbl_crawl_share", 3)}});
  add_counters(counters, &row);
  row.emplace_back("cpu_pct", number(100 * per(result.usage.cpu_seconds,
                                               result.seconds * platform::core_count())));
  add_disks(logs ? disk_directories(micro.log) : std::vector<std::string>(), &row);
  add_origin(&row);
  return row;
}

constexpr uint32_t kMostLines = 1 << 20;
// The default pause between calls: about 100 cycles at the 2.1 GHz of the multi-sockets of David et
// al., which is the default of their libslock (bmarks/atomic_bench.c).
constexpr double kPauseNs = 50;

// The flags that --primitive accepts. All other flags of `micro` concern the log.
constexpr std::array<std::string_view, 11> kTaken = {
    "primitive", "threads", "seconds", "warmup",   "transactions", "seed",
    "placement", "csv",     "json",    "flagfile", "test"};

struct MicroSyncOptions {
  std::string kind;  // as --primitive names it
  sync::Options sync;
  OutputFiles files;
};

// Returns the options of the flags. Refuses unusable values, and flags that are not in kTaken.
MicroSyncOptions sync_options() {
  for (const auto& flag : own_flags()) {
    if (flag.is_default || flag.filename.starts_with("sim/")) continue;
    if (std::ranges::find(kTaken, flag.name) == kTaken.end()) {
      refuse("--" + flag.name + " is about a log, and micro has none with --primitive");
    }
  }
  MicroSyncOptions options;
  options.kind = FLAGS_primitive.substr(0, FLAGS_primitive.find(':'));
  options.files = output_files();
  sync::Options& sync = options.sync;
  refuse_if(parse_sync(FLAGS_primitive, &sync));
  sync.threads = FLAGS_threads;
  sync.seconds = FLAGS_seconds;
  sync.warmup_seconds = fixed_warm_up();
  sync.calls = FLAGS_transactions;
  sync.seed = FLAGS_seed;
  sync.pin = workers_are_pinned();
  return options;
}

Row make_row(const MicroSyncOptions& micro, const sync::Result& result) {
  const sync::Options& options = micro.sync;
  const auto calls = static_cast<double>(result.calls);
  Row row = {
      {"primitive", micro.kind},
      {"lines", options.lines},
      {"pause_ns", number(options.pause_ns)},
      {"threads", options.threads},
      {"placement", placement_text(options.pin)},
      {"seconds", number(result.seconds, 6)},
      {"calls", result.calls},
      {"calls_s", number(per(calls, result.seconds), 0)},
      {"least_calls", result.least_calls},
      {"most_calls", result.most_calls},
      {"failed_pct", number(100 * per(static_cast<double>(result.failed), calls), 2)},
      {"cpu_pct",
       number(100 * per(result.usage.cpu_seconds, result.seconds * platform::core_count()))},
  };
  add_origin(&row);
  return row;
}

// Runs the benchmark of --primitive and writes its row. Returns the exit status.
int micro_sync() {
  const MicroSyncOptions options = sync_options();
  place_threads({}, false);
  options.files.claim(make_row(options, {}));
  const sync::Result result = sync::measure(options.sync);
  const Row row = make_row(options, result);
  options.files.append(row);
  print_summary(row);
  if (result.lost != 0) {
    platform::fatal("two threads were in one critical section: " + std::to_string(result.lost) +
                        " of its writes were lost",
                    platform::kExitViolation);
  }
  return 0;
}

void print_notes(const log_insert::Result& result, const std::vector<std::string>& cautions,
                 const platform::WorkerClass& workers) {
  if (result.most_inserts > kStarved * result.least_inserts) {
    std::printf("note: a thread starved: it made %lu inserts, and another one %lu\n",
                result.least_inserts, result.most_inserts);
  }
  for (const std::string& caution : cautions) std::printf("note: %s\n", caution.c_str());
  if (!workers.cost().empty()) std::printf("note: %s\n", workers.cost().c_str());
}

}  // namespace

int micro_command() {
  if (!gflags::GetCommandLineFlagInfoOrDie("primitive").is_default) return micro_sync();
  MicroOptions options = micro_options();
  LogOptions& log = options.log;
  log_insert::Options& insert = options.insert;
  const Floor floor = options.floor;
  options.files.claim(make_row(options, {}, {}));
  options.files.claim_cdf();
  refuse_too_large(0, floor == Floor::kNone ? log_buffers(log)
                                            : LogBuffers{floor == Floor::kCopy ? insert.threads : 1,
                                                         log.config.buffer_bytes});
  platform::WorkerClass workers(options.worker_class);
  LOG(INFO) << workers.reason();
  insert.worker_class = &workers;
  log.config.preemptible_workers = workers.preemptible() && options.worker_class.preemption_helps;
  const log_insert::Result result = floor == Floor::kNone
                                        ? insert_into_log(options, insert)
                                        : insert_into_floor(floor, log.config.buffer_bytes, insert);
  workers.end();
  std::vector<std::string> cautions = cautions_about_machine(log);
  if (insert.logs_per_commit != 0 && result.commits == 0) {
    cautions.emplace_back("no commit ended in the measured time, so their latencies are empty");
  }
  const Row row = make_row(options, result, cautions);
  options.files.append(row);
  options.files.write_cdf(result.commit);
  print_summary(row);
  print_notes(result, cautions, workers);
  return 0;
}

std::string parse_sync(const std::string& given, sync::Options* options) {
  std::string_view rest = given;
  const std::string_view name = rest.substr(0, rest.find(':'));
  const auto kind = sync::kind_named(name);
  if (!kind) {
    return "--primitive=" + given + " is not a kind" +
           platform::instead_of(name, sync::kind_names());
  }
  options->kind = *kind;
  rest.remove_prefix(std::min(rest.find(':'), rest.size()));
  double lines = 1;
  if (!rest.empty() && (!take_number(&rest, &lines) || lines < 1 || lines > kMostLines ||
                        lines != std::floor(lines))) {
    return "--primitive=" + given + ": 1 to " + std::to_string(kMostLines) +
           " lines come after the first colon";
  }
  options->lines = static_cast<uint32_t>(lines);
  options->pause_ns = options->lines == 1 ? kPauseNs : 0;
  if (!rest.empty() && (!take_number(&rest, &options->pause_ns) || !rest.empty())) {
    return "--primitive=" + given + ": a pause of 0 to 1e9 ns comes after the second colon";
  }
  return "";
}

}  // namespace logjam
