#include "cli/settings.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "cli/revision.h"
#include "logging/flag_checks.h"
#include "platform/fatal.h"
#include "platform/memory.h"
#include "platform/thread.h"

DEFINE_string(workload, "ycsb", "what the clients do; `logjam list workloads`");
DEFINE_string(cc, "occ", "concurrency control; `logjam list protocols`");
DEFINE_string(log, "centr", "how the log is written; `logjam list schemes`");
DEFINE_uint32(threads, 2, "workers (run), appliers and loaders (recover)");
DEFINE_double(seconds, 5, "measured time");
DEFINE_double(warmup, 1, "seconds before it that do not count");
DEFINE_string(wal_dir, "",
              "directories for the log, separated by commas, one device each: the only stream of a "
              "scheme is striped over them, several are dealt out");
DEFINE_uint64(stripe_kb, 512, "of a log striped over several --wal_dir; a power of 2");
DEFINE_string(device, "file", "where the log goes; `logjam list devices`");
DEFINE_string(commit, "pipelined",
              "sync: a worker waits for each commit; pipelined: it goes on and acknowledges later; "
              "async: it acknowledges at once (UNSAFE)");
DEFINE_bool(elr, true, "early lock release: at pre-commit, not when durable");
DEFINE_string(log_records, "txn", "txn: a record a transaction; op: begin, each write, commit");
DEFINE_uint64(seed, 1, "of all that is random");
DEFINE_uint32(sockets, 0, "0: ask the machine; N: pretend; dlog-* have a log for each");
DEFINE_uint64(transactions, 0, "each worker ends after so many; 0: --seconds alone ends the run");
DEFINE_double(rate, 0, "transactions a second offered (open loop); 0: as fast as it goes");
DEFINE_uint32(pipeline_depth, 4096,
              "unacknowledged transactions a worker may have in flight: where the log is the "
              "bottleneck, commit latency is this over throughput");
DEFINE_bool(breakdown, true, "sample where workers' time goes");
DEFINE_bool(pin, true, "pin worker i to core i modulo cores");
DEFINE_uint32(log_buffer_mb, 64, "log buffer of each stream");
DEFINE_uint32(log_prealloc_mb, 256, "log file zeroed ahead, each stream");
DEFINE_uint64(flush_txns, 0, "flush when so many commits wait (0: not a reason)");
DEFINE_uint64(flush_bytes, 0, "flush when so many bytes wait (0: not a reason)");
DEFINE_uint64(flush_us, 0,
              "flush when the oldest waits so long (0: not a reason; all three 0: whenever the "
              "device is idle)");
DEFINE_bool(flush_help, true,
            "waiting and polling workers may do a late flusher's step; false: only its thread");
DECLARE_string(csv);

namespace logjam {
namespace {

using platform::refuse;

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

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

void refuse_if(const std::string& why) {
  if (!why.empty()) refuse(why);
}

RunOptions run_options() {
  refuse_thread_count();
  if (!(FLAGS_seconds > 0)) refuse("--seconds must be more than 0");
  if (!(FLAGS_warmup >= 0)) refuse("--warmup must not be negative");
  if (!(FLAGS_rate >= 0)) refuse("--rate must not be negative");
  if (FLAGS_pipeline_depth == 0) refuse("--pipeline_depth must be at least 1");
  RunOptions options;
  options.threads = FLAGS_threads;
  options.seconds = FLAGS_seconds;
  options.warmup_seconds = FLAGS_warmup;
  options.commit = commit_policy();
  options.early_lock_release = FLAGS_elr;
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
  config.stripe_bytes = FLAGS_stripe_kb << 10;
  return config;
}

void refuse_unknown_flags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--") return;
    if (name.size() < 2 || name[0] != '-') continue;
    name =
        name.substr(name.find_first_not_of('-') == std::string::npos ? name.size()
                                                                     : name.find_first_not_of('-'));
    name = name.substr(0, name.find('='));
    std::replace(name.begin(), name.end(), '-', '_');
    gflags::CommandLineFlagInfo info;
    if (name.empty() || gflags::GetCommandLineFlagInfo(name.c_str(), &info)) continue;
    if (name.starts_with("no") && gflags::GetCommandLineFlagInfo(name.c_str() + 2, &info) &&
        info.type == "bool") {
      continue;
    }
    std::vector<gflags::CommandLineFlagInfo> all;
    gflags::GetAllFlags(&all);
    const auto nearest = std::min_element(all.begin(), all.end(), [&](auto& a, auto& b) {
      return edit_distance(name, a.name) < edit_distance(name, b.name);
    });
    refuse("there is no flag --" + name + " (did you mean --" + nearest->name +
           "?); `logjam --help` lists them");
  }
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

LogOptions log_options(const SchemeInfo& scheme) {
  if (FLAGS_log_records != "txn" && FLAGS_log_records != "op") {
    refuse("--log_records=" + FLAGS_log_records + " is not a granularity; txn and op are");
  }
  LogOptions log;
  log.scheme = &scheme;
  log.config = log_config();
  log.device = FLAGS_device;
  log.preallocate_bytes = uint64_t{FLAGS_log_prealloc_mb} << 20;
  log.seed = FLAGS_seed;
  refuse_if(scheme.check_flags());
  refuse_if(check_device_spec(FLAGS_device));
  refuse_if(check_scheme_on_device(scheme, FLAGS_device));
  log.directories = split(FLAGS_wal_dir, ',');
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
  if (device_discards(FLAGS_device)) {
    refuse("--device=discard never makes a commit durable: only `logjam micro` takes it");
  }
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

void refuse_too_large(const Workload& workload, uint64_t other_bytes) {
  const uint64_t available = platform::available_bytes();
  const uint64_t needed = workload.expected_bytes() + other_bytes;
  if (needed > available) {
    refuse("this scale needs about " + std::to_string(needed >> 20) + " MiB and " +
           std::to_string(available >> 20) + " MiB of memory are available");
  }
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
