#include "cli/settings.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "cli/placement.h"
#include "cli/revision.h"
#include "engine/recovery/commands/replay_commands.h"
#include "logging/flag_checks.h"
#include "platform/fatal.h"
#include "platform/memory.h"
#include "platform/thread.h"

DEFINE_string(workload, "ycsb", "what the clients do; `logjam list workloads`");
DEFINE_string(cc, "occ", "concurrency control; `logjam list protocols`");
DEFINE_string(log, "centr", "how the log is written; `logjam list schemes`");
DEFINE_uint32(threads, 2,
              "workers (run), appliers and loaders (recover); a log of commands is replayed by all "
              "of them if --cc is optimistic, else by one");
DEFINE_double(seconds, 5, "measured time");
DEFINE_double(warmup, 1, "seconds before it that do not count");
DEFINE_string(wal_dir, "",
              "directories for the log, separated by commas, one device each: the only stream of a "
              "scheme is striped over them, several are dealt out");
DEFINE_bool(overwrite, false, "the log that the --wal_dir directories hold may be replaced");
DEFINE_uint64(stripe_kb, 512, "of a log striped over several --wal_dir; a power of 2");
DEFINE_string(device, "file", "where the log goes; `logjam list devices`");
DEFINE_string(commit, "pipelined",
              "sync: a worker waits for each commit; pipelined: it goes on and acknowledges later; "
              "async: it acknowledges at once (UNSAFE)");
DEFINE_bool(elr, true, "early lock release: at pre-commit, not when durable");
DEFINE_string(keep_locks, "write",
              "with --elr=false, until durable: write: the locks of what was written; all: under "
              "2PL also those of what was only read");
DEFINE_string(log_records, "txn", "txn: a record a transaction; op: begin, each write, commit");
DEFINE_uint64(
    seed, 1,
    "of all that is random; each run that goes on with a log draws its own inputs from it");
DEFINE_uint32(sockets, 0, "0: ask the machine; N: pretend; dlog-* have a log for each");
DEFINE_uint64(transactions, 0,
              "each worker ends after so many, all of them measured: there is no warm-up; 0: "
              "--seconds alone ends the run");
DEFINE_double(rate, 0, "transactions a second offered (open loop); 0: as fast as it goes");
DEFINE_uint32(pipeline_depth, 4096,
              "unacknowledged transactions a worker may have in flight: where the log is the "
              "bottleneck, commit latency is this over throughput");
DEFINE_bool(breakdown, true, "sample where workers' time goes");
DEFINE_string(
    worker_class, "auto",
    "what may preempt workers: idle: the kernel's workers and all other threads, at once, "
    "so that a busy worker never delays a write; normal or batch: they take turns; auto: "
    "idle if that is possible, helps, and the machine is otherwise idle, else normal");
DEFINE_uint32(log_buffer_mb, 64, "log buffer of each stream");
DEFINE_uint32(log_prealloc_mb, 256,
              "zeroed before the run starts, of each stream; on file and sync the log goes on in "
              "segment files of a quarter of it (1 to 64 MiB), zeroed ahead of it or recycled; 0: "
              "one file, which the log itself makes longer");
DEFINE_uint32(segment_mb, 0,
              "length of the log's segment files on file and sync, 1 to 1024; 0: a quarter of "
              "--log_prealloc_mb");
DEFINE_uint64(flush_txns, 0, "flush when so many commits wait (0: not a reason)");
DEFINE_uint64(flush_bytes, 0, "flush when so many bytes wait (0: not a reason)");
DEFINE_uint64(flush_us, 0,
              "flush when the oldest waits so long (0: not a reason; all three 0: whenever the "
              "device can take a write and --flush_gap_us has passed)");
DEFINE_uint64(flush_gap_us, 200,
              "while workers are busy, the least time between two writes of a stream that flushes "
              "whenever the device is ready: each write costs them some 30 us");
DEFINE_uint32(io_depth, 4,
              "writes that may be under way at once, each log file; `sync` and `nvm` take one");
DEFINE_bool(flush_help, true,
            "waiting and polling workers may do a late flusher's step; false: only its thread");
DEFINE_string(csv, "", "run, recover, micro, dump: append a row to this file");
DEFINE_string(
    json, "",
    "run, recover, micro, dump: append the row to this file as one line, a JSON object with the "
    "same names; - or --json alone: print it to stdout, and all else to stderr. list: "
    "print JSON instead of tables");
DEFINE_string(cdf, "", "run, micro: write commit latency's distribution to this file");

DECLARE_bool(pin);

namespace logjam {
namespace {

using platform::refuse;

constexpr double kMostSeconds = 1e9;  // in nanoseconds it is still a uint64_t

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

template <class Infos>
std::string names_of(const Infos& infos) {
  std::string names;
  for (const auto& info : infos) names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

void refuse_if(const std::string& why) {
  if (!why.empty()) refuse(why);
}

RunOptions run_options() {
  refuse_thread_count();
  if (!(FLAGS_seconds > 0 && FLAGS_seconds <= kMostSeconds)) {
    refuse("--seconds must be more than 0 and at most 1e9");
  }
  if (!(FLAGS_warmup >= 0 && FLAGS_warmup <= kMostSeconds)) {
    refuse("--warmup must be from 0 to 1e9");
  }
  constexpr double kMostPerSecond = 1e9;
  if (!(FLAGS_rate >= 0 && FLAGS_rate <= kMostPerSecond)) refuse("--rate must be from 0 to 1e9");
  if (FLAGS_pipeline_depth == 0) refuse("--pipeline_depth must be at least 1");
  if (FLAGS_transactions != 0 && FLAGS_warmup != 0 &&
      !gflags::GetCommandLineFlagInfoOrDie("warmup").is_default) {
    refuse("--transactions counts from the first one on: it goes without --warmup");
  }
  RunOptions options;
  options.threads = FLAGS_threads;
  options.seconds = FLAGS_seconds;
  options.warmup_seconds = FLAGS_transactions != 0 ? 0 : FLAGS_warmup;
  options.commit = commit_policy();
  options.early_lock_release = FLAGS_elr;
  options.keep_read_locks = FLAGS_keep_locks == "all";
  options.log_records =
      FLAGS_log_records == "op" ? LogRecords::kOperation : LogRecords::kTransaction;
  options.seed = FLAGS_seed;
  options.transactions = FLAGS_transactions;
  options.rate = FLAGS_rate;
  options.pipeline_depth = FLAGS_pipeline_depth;
  options.breakdown = FLAGS_breakdown;
  options.pin = FLAGS_pin;
  options.progress = isatty(STDERR_FILENO) != 0;
  return options;
}

}  // namespace

LogConfig log_config() {
  if (FLAGS_log_buffer_mb == 0) refuse("--log_buffer_mb must be at least 1");
  if ((FLAGS_flush_txns != 0 || FLAGS_flush_bytes != 0) && FLAGS_flush_us == 0) {
    refuse(
        "--flush_txns and --flush_bytes need --flush_us as well, or the last transactions would "
        "wait for ever");
  }
  refuse_if(check_power_of_two("stripe_kb", FLAGS_stripe_kb, 4));
  constexpr uint32_t kMaxSockets = 64;
  refuse_if(check_range("sockets", FLAGS_sockets, 0, kMaxSockets));
  LogConfig config;
  config.workers = FLAGS_threads;
  config.sockets =
      FLAGS_sockets != 0 ? FLAGS_sockets : static_cast<uint32_t>(platform::socket_count());
  config.buffer_bytes = uint64_t{FLAGS_log_buffer_mb} << 20;
  config.flush_txns = FLAGS_flush_txns;
  config.flush_bytes = FLAGS_flush_bytes;
  config.flush_us = FLAGS_flush_us;
  config.flush_help = FLAGS_flush_help;
  config.pinned_workers = FLAGS_pin;
  constexpr uint64_t kMostGapUs = 1'000'000;
  refuse_if(check_range("flush_gap_us", FLAGS_flush_gap_us, 0, kMostGapUs));
  config.flush_gap_us = FLAGS_flush_gap_us;
  config.stripe_bytes = FLAGS_stripe_kb << 10;
  return config;
}

const WorkloadInfo& workload_named(const std::string& name) {
  if (const WorkloadInfo* info = find_workload(name)) return *info;
  refuse("--workload=" + name + " is not a workload; " + names_of(all_workloads()) + " are");
}

const ProtocolInfo& protocol_named() {
  if (const ProtocolInfo* info = find_protocol(FLAGS_cc)) return *info;
  refuse("--cc=" + FLAGS_cc + " is not a protocol; " + names_of(all_protocols()) + " are");
}

const SchemeInfo& scheme_named(const std::string& name) {
  if (const SchemeInfo* info = find_scheme(name)) return *info;
  refuse("--log=" + name + " is not a scheme; " + names_of(all_schemes()) + " are");
}

CommitPolicy commit_policy() {
  if (FLAGS_commit == "sync") return CommitPolicy::kSync;
  if (FLAGS_commit == "pipelined") return CommitPolicy::kPipelined;
  if (FLAGS_commit == "async") return CommitPolicy::kAsync;
  refuse("--commit=" + FLAGS_commit + " is not a policy; sync, pipelined and async are");
}

void refuse_thread_count() {
  constexpr uint32_t kMaxWorkers = 1024;  // a worker's number is 16 bits of a transaction's id
  refuse_if(check_range("threads", FLAGS_threads, 1, kMaxWorkers));
}

// Preemption helps where workers are busy while commits wait for a device: not under --commit=sync,
// nor if the device is memory or nothing.
platform::WorkerClass::Request worker_class(const LogOptions& log) {
  using Wanted = platform::WorkerClass::Wanted;
  static const std::map<std::string, Wanted> classes = {{"auto", Wanted::kAuto},
                                                        {"normal", Wanted::kNormal},
                                                        {"batch", Wanted::kBatch},
                                                        {"idle", Wanted::kIdle}};
  const auto found = classes.find(FLAGS_worker_class);
  if (found == classes.end()) {
    refuse("--worker_class=" + FLAGS_worker_class +
           " is not a class; auto, normal, batch and idle are");
  }
  const bool helps = commit_policy() == CommitPolicy::kPipelined && log.scheme->traits.logs &&
                     device_keeps(log.device) && !device_is_memory(log.device);
  return {found->second, FLAGS_threads, helps};
}

LogOptions log_options(const SchemeInfo& scheme) {
  if (FLAGS_keep_locks != "write" && FLAGS_keep_locks != "all") {
    refuse("--keep_locks=" + FLAGS_keep_locks + " is not a choice; write and all are");
  }
  if (FLAGS_log_records != "txn" && FLAGS_log_records != "op") {
    refuse("--log_records=" + FLAGS_log_records + " is not a granularity; txn and op are");
  }
  LogOptions log;
  log.scheme = &scheme;
  log.config = log_config();
  log.device = FLAGS_device;
  log.preallocate_bytes = uint64_t{FLAGS_log_prealloc_mb} << 20;
  if (FLAGS_segment_mb != 0) {
    constexpr uint32_t kMostSegmentMb = 1024;
    refuse_if(check_range("segment_mb", FLAGS_segment_mb, 1, kMostSegmentMb));
    if (!device_has_segments(FLAGS_device) || FLAGS_log_prealloc_mb == 0) {
      refuse(
          "--segment_mb needs --device=file or sync, and --log_prealloc_mb: other logs have no "
          "segment files");
    }
    log.segment_bytes = uint64_t{FLAGS_segment_mb} << 20;
  }
  constexpr uint32_t kMostDepth = 64;
  refuse_if(check_range("io_depth", FLAGS_io_depth, 1, kMostDepth));
  log.io_depth = FLAGS_io_depth;
  log.seed = FLAGS_seed;
  log.overwrite = FLAGS_overwrite;
  refuse_if(scheme.check_flags());
  refuse_if(check_device_spec(FLAGS_device));
  refuse_if(check_scheme_on_device(scheme, FLAGS_device));
  log.directories = split(FLAGS_wal_dir, ',');
  place_threads(log.directories, commit_policy() == CommitPolicy::kSync);
  if (scheme.stream_count(1, log.config) > 0 && device_keeps(FLAGS_device) &&
      log.directories.empty()) {
    refuse("--log=" + FLAGS_log + " on --device=" + FLAGS_device + " needs --wal_dir=DIR[,DIR...]");
  }
  log.header.device = FLAGS_device;
  log.header.log_records = FLAGS_log_records;
  log.header.workers = FLAGS_threads;
  log.header.revision = revision();
  return log;
}

Settings run_settings() {
  Settings settings;
  settings.workload = &workload_named(FLAGS_workload);
  settings.scheme = &scheme_named(FLAGS_log);
  settings.protocol = &protocol_named();
  refuse_if(settings.workload->check_flags());
  settings.run = run_options();
  settings.log = log_options(*settings.scheme);
  settings.worker_class = worker_class(settings.log);
  if (device_discards(FLAGS_device)) {
    refuse("--device=discard never makes a commit durable: only `logjam micro` takes it");
  }
  refuse_if(check_commands(*settings.workload, *settings.scheme));
  if (settings.scheme->traits.commands) {
    if (FLAGS_log_records == "op") {
      refuse("--log=" + FLAGS_log +
             " writes one command a transaction, which --log_records=op cannot split");
    }
    settings.log.header.log_records = "command";
  }
  auto& flags = settings.log.header.flags;
  flags["workload"] = FLAGS_workload;
  for (const auto& names : {settings.workload->load_flags, settings.scheme->recovery_flags}) {
    for (std::string_view flag : names) {
      const std::string name(flag);
      flags[name] = gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value;
    }
  }
  if (settings.run.commit == CommitPolicy::kAsync) settings.unsafe = "async";
  return settings;
}

std::vector<std::string> wal_directories() {
  if (device_discards(FLAGS_device)) refuse("--device=discard leaves no log to read");
  auto directories = split(FLAGS_wal_dir, ',');
  if (directories.empty()) refuse("which log? name its directory with --wal_dir=DIR[,DIR...]");
  return directories;
}

LogBuffers log_buffers(const LogOptions& log) {
  if (log.scheme->traits.in_place) return {};  // records lie in the device's own memory
  const auto directories = static_cast<uint32_t>(log.directories.size());
  return {log.scheme->stream_count(std::max(directories, 1u), log.config), log.config.buffer_bytes};
}

void refuse_too_large(uint64_t table_bytes, const LogBuffers& buffers) {
  const auto mib = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const uint64_t available = platform::available_bytes();
  if (table_bytes + buffers.bytes() <= available) return;
  std::string needed;
  if (table_bytes != 0) needed = "this scale needs about " + mib(table_bytes);
  if (buffers.count != 0) {
    needed += (needed.empty() ? "" : ", and ") + std::string("the log needs ") +
              mib(buffers.bytes()) + " (" + std::to_string(buffers.count) +
              " buffer(s) of --log_buffer_mb)";
  }
  refuse(needed + ", and " + mib(available) + " of memory are available");
}

std::string changed_flags() {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::string text;
  for (const auto& flag : all) {
    if (flag.is_default || flag.name == "flagfile") continue;
    text += (text.empty() ? "--" : " --") + flag.name + "=" + flag.current_value;
  }
  return text;
}

}  // namespace logjam
