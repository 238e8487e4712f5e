#include "cli/settings.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include "cli/choices.h"
#include "cli/placement.h"
#include "engine/recovery/commands/replay_commands.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"

DEFINE_double(seconds, 5, "seconds of the measured time");
DEFINE_double(warmup, 1, "seconds before the measured time");
DEFINE_uint64(
    transactions, 0,
    "transactions of each worker, all measured: no warm-up; of micro: inserts or calls; 0: "
    "--seconds alone ends the run");
DEFINE_double(rate, 0, "transactions offered a second (open loop); 0: as fast as workers can");
DEFINE_uint32(
    pipeline_depth, 4096,
    "unacknowledged transactions that a worker may have; where the log is the bottleneck, "
    "commit latency is this number divided by the worker's throughput");
DEFINE_string(
    locks, "early",
    "when locks are released: early, write or all; early: all at pre-commit; write: write "
    "locks when the commit is durable; all: under 2PL read locks then, too; hold_us:N makes each "
    "transaction work N microseconds more while it holds its locks, as slower engines do");
DEFINE_string(log_records, "txn",
              "records of a transaction: txn or op; txn: one; op: one for its begin, one for each "
              "write, one for its commit; with ,range (txn,range) a write that has read its row "
              "logs only the bytes that it changes, and the version that they change");
DEFINE_uint64(seed, 1,
              "seed of all random numbers; a run that continues a log draws other numbers from the "
              "same seed");
DEFINE_bool(breakdown, true, "sample where workers' time goes");
DECLARE_string(commit);
DECLARE_string(device);
DECLARE_string(log);
DECLARE_uint32(threads);
DECLARE_string(workload);

namespace logjam {
namespace {

using platform::refuse;

constexpr double kMostSeconds = 1e9;  // in nanoseconds it is still a uint64_t

RunOptions run_options() {
  refuse_thread_count();
  if (!(FLAGS_seconds > 0 && FLAGS_seconds <= kMostSeconds)) {
    refuse("--seconds must be more than 0 and at most 1e9");
  }
  if (!(FLAGS_warmup >= 0 && FLAGS_warmup <= kMostSeconds)) {
    refuse("--warmup must be from 0 to 1e9");
  }
  // At the least rate, the time to a worker's next transaction still fits in 64 bits.
  constexpr double kLeastPerSecond = 1e-3, kMostPerSecond = 1e9;
  if (FLAGS_rate != 0 && !(FLAGS_rate >= kLeastPerSecond && FLAGS_rate <= kMostPerSecond)) {
    refuse("--rate must be 0, or from 0.001 to 1e9");
  }
  if (FLAGS_pipeline_depth == 0) refuse("--pipeline_depth must be at least 1");
  if (FLAGS_transactions != 0 && FLAGS_warmup != 0 &&
      !gflags::GetCommandLineFlagInfoOrDie("warmup").is_default) {
    refuse("--transactions counts from the first transaction on, so --warmup cannot go with it");
  }
  const auto locks = [](std::string_view key) { return platform::listed(FLAGS_locks, key); };
  constexpr platform::ListKey kLocks[] = {
      {"early", 1, 1}, {"write", 1, 1}, {"all", 1, 1}, {"hold_us", 0, 1e6}};
  if (const auto why = platform::check_list("locks", FLAGS_locks, kLocks); !why.empty())
    refuse(why);
  if (locks("early") + locks("write") + locks("all") > 1) {
    refuse("--locks=" + FLAGS_locks + " has two choices; it takes one of early, write and all");
  }
  constexpr std::string_view kRecords[] = {"txn", "op", "txn,range", "op,range"};
  if (std::ranges::find(kRecords, FLAGS_log_records) == std::end(kRecords)) {
    refuse("--log_records=" + FLAGS_log_records +
           " is not a granularity; allowed are txn, op, and either of them with ,range");
  }
  RunOptions options;
  options.threads = FLAGS_threads;
  options.seconds = FLAGS_seconds;
  options.warmup_seconds = FLAGS_transactions != 0 ? 0 : FLAGS_warmup;
  options.commit = commit_policy();
  options.early_lock_release = locks("write") + locks("all") == 0;
  options.keep_read_locks = locks("all") != 0;
  options.hold_ns = static_cast<uint64_t>(locks("hold_us")) * 1000;
  options.log_records =
      FLAGS_log_records.starts_with("op") ? LogRecords::kOperation : LogRecords::kTransaction;
  options.log_ranges = FLAGS_log_records.ends_with(",range");
  options.seed = FLAGS_seed;
  options.transactions = FLAGS_transactions;
  options.rate = FLAGS_rate;
  options.pipeline_depth = FLAGS_pipeline_depth;
  options.breakdown = FLAGS_breakdown;
  options.pin = workers_are_pinned();
  options.progress = isatty(STDERR_FILENO) != 0;
  return options;
}

// Completes the log's header with the flags that a recovery needs.
void describe_run(const Settings& settings, LogFileHeader* header) {
  header->log_records = settings.scheme->traits.commands ? "command" : FLAGS_log_records;
  header->flags["workload"] = FLAGS_workload;
  for (const auto& names : {settings.workload->load_flags, settings.scheme->recovery_flags}) {
    for (std::string_view flag : names) {
      const std::string name(flag);
      header->flags[name] = gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value;
    }
  }
}

}  // namespace

Settings run_settings() {
  Settings settings;
  settings.workload = &workload_named(FLAGS_workload);
  settings.scheme = &scheme_named(FLAGS_log);
  settings.protocol = &protocol_named();
  refuse_if(settings.workload->check_flags());
  settings.run = run_options();
  settings.log = log_options(*settings.scheme);
  settings.worker_class = worker_class(settings.log);
  if (device_traits(FLAGS_device).discards) {
    refuse("--device=discard never makes a commit durable: only `logjam micro` takes it");
  }
  refuse_if(check_commands(*settings.workload, *settings.scheme));
  if (settings.scheme->traits.commands) {
    if (settings.run.log_records == LogRecords::kOperation) {
      refuse("--log=" + FLAGS_log +
             " writes one command a transaction, which --log_records=op cannot split");
    }
    if (settings.run.log_ranges) {
      refuse("--log=" + FLAGS_log + " logs no rows, of which --log_records=" + FLAGS_log_records +
             " could log the changed bytes");
    }
  }
  if (settings.run.log_ranges && !settings.scheme->unsafe().empty()) {
    refuse("--log_records=" + FLAGS_log_records + " changes versions of rows that a log with " +
           settings.scheme->unsafe() + " may lose");
  }
  describe_run(settings, &settings.log.header);
  if (settings.run.commit == CommitPolicy::kAsync) settings.unsafe = "async";
  return settings;
}

}  // namespace logjam
