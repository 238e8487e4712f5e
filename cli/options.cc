#include "cli/options.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <sstream>

#include "cli/flags.h"
#include "cli/offered_rate.h"
#include "engine/recovery/commands/replay_commands.h"
#include "logging/format/text_block.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/host.h"
#include "platform/nearest_name.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace logjam {
namespace {

using platform::refuse;

// Returns the end of a sentence that says that `given` is no name in `infos`.
template <class Infos>
std::string instead_of(std::string_view given, const Infos& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return platform::instead_of(given, names);
}

// Returns --log_records, or the choice of --log_records=auto: where the log goes to a disk, fewer
// bytes make a write shorter.
std::string log_records(const SchemeInfo& scheme) {
  if (FLAGS_log_records != "auto") return FLAGS_log_records;
  const bool on_disk = FLAGS_device == "file" || FLAGS_device == "sync";
  const bool ranges = scheme.traits.logs && !scheme.traits.commands && scheme.unsafe().empty();
  return on_disk && ranges ? "txn,range" : "txn";
}

RunOptions run_options(const WorkloadInfo& workload, std::string_view log_records) {
  const bool given = !gflags::GetCommandLineFlagInfoOrDie("warmup").is_default;
  const bool warms_up = FLAGS_transactions == 0 && (given || !workload.ends);
  const WarmUp warmup = warms_up ? warm_up() : WarmUp();
  if (FLAGS_transactions != 0 && warm_up().seconds != 0 && given) {
    refuse("--transactions counts from the first transaction on, so --warmup cannot go with it");
  }
  if (warmup.most_seconds != 0 && !FLAGS_timeline.empty()) {
    refuse("--timeline counts from the end of the warm-up, so --warmup=" + FLAGS_warmup +
           " cannot go with it");
  }
  const auto locks = [](std::string_view key) { return platform::listed(FLAGS_locks, key); };
  constexpr platform::ListKey kLocks[] = {
      {"early", 1, 1}, {"write", 1, 1}, {"all", 1, 1}, {"work_us", 0, 1e6}};
  if (const auto why = platform::check_list("locks", FLAGS_locks, kLocks); !why.empty())
    refuse(why);
  if (locks("early") + locks("write") + locks("all") > 1) {
    refuse("--locks=" + FLAGS_locks + " has two choices; it takes one of early, write and all");
  }
  RunOptions options;
  options.threads = FLAGS_threads;
  options.seconds = FLAGS_seconds;
  options.warmup_seconds = warmup.seconds;
  options.most_warmup_seconds = warmup.most_seconds;
  options.commit = commit_policy();
  options.snapshot = snapshot_rule();
  options.early_lock_release = locks("write") + locks("all") == 0;
  options.keep_read_locks = locks("all") != 0;
  options.work_ns = static_cast<uint64_t>(locks("work_us")) * 1000;
  options.log_records =
      log_records.starts_with("op") ? LogRecords::kOperation : LogRecords::kTransaction;
  options.log_ranges = log_records.ends_with(",range");
  options.seed = FLAGS_seed;
  options.transactions = FLAGS_transactions;
  options.rates = rates_of(FLAGS_rate);
  options.think_ns = think_ns_of(FLAGS_rate);
  if (options.rates.size() > 1 && warmup.most_seconds != 0) {
    refuse("--rate=" + FLAGS_rate + " counts from the end of the warm-up, so --warmup=" +
           FLAGS_warmup + " cannot go with it");
  }
  options.pipeline_depth = FLAGS_pipeline_depth;
  options.breakdown = FLAGS_breakdown;
  options.pin = workers_are_pinned();
  options.progress = isatty(STDERR_FILENO) != 0;
  return options;
}

// Sets the file, and the duration of an interval, from --timeline, which is FILE or FILE:MS.
// Refuses durations that cannot be used.
void set_timeline(Settings* settings) {
  constexpr uint64_t kUsualMs = 100, kMostMs = 3'600'000;
  settings->timeline = FLAGS_timeline;
  settings->timeline_ms = kUsualMs;
  const size_t colon = FLAGS_timeline.rfind(':');
  if (colon == std::string::npos) return;
  const std::string after = FLAGS_timeline.substr(colon + 1);
  if (after.find_first_not_of("0123456789") != std::string::npos) return;
  settings->timeline = FLAGS_timeline.substr(0, colon);
  if (colon == 0) refuse("cannot write --timeline=: No such file or directory");
  if (!parse_number(after, 10, &settings->timeline_ms)) settings->timeline_ms = 0;
  if (settings->timeline_ms < 1 || settings->timeline_ms > kMostMs) {
    refuse("--timeline=" + FLAGS_timeline + ": intervals are of 1 to " + std::to_string(kMostMs) +
           " ms");
  }
}

// Completes the log's header with the flags that a recovery needs.
void describe_run(const Settings& settings, LogFileHeader* header) {
  LJ_ASSERT(settings.workload != nullptr && settings.scheme != nullptr);
  header->log_records = settings.scheme->traits.commands ? "command" : settings.log_records;
  header->flags["workload"] = FLAGS_workload;
  for (const auto& names : {settings.workload->load_flags, settings.scheme->recovery_flags}) {
    for (std::string_view flag : names) {
      const std::string name(flag);
      header->flags[name] = gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value;
    }
  }
}

CheckpointOptions options_for(const std::string& given, const std::vector<std::string>& directories,
                              std::span<const platform::ListKey> keys) {
  refuse_if(platform::check_list("checkpoint", given, keys));
  const auto number = [&](const char* key) { return platform::listed(given, key); };
  CheckpointOptions options;
  options.every_seconds = number("s");
  options.every_bytes = static_cast<uint64_t>(number("mb")) << 20;
  // A checkpoint that writes at a lower rate would practically never end.
  constexpr double kLeastMbPerSecond = 0.01;
  const double mb_s = number("mb_s");
  if (mb_s > 0 && mb_s < kLeastMbPerSecond) {
    platform::refuse("--checkpoint=" + given + ": mb_s needs 0, or 0.01 or more");
  }
  options.bytes_per_second = mb_s * 1e6;
  // Makes at least one file for each core, because recovery loads each file on one thread.
  const auto cores = static_cast<uint32_t>(platform::core_count());
  const auto writers = static_cast<uint32_t>(std::max<size_t>(directories.size(), 1));
  options.files = std::max(1u, (cores + writers - 1) / writers);
  return options;
}

constexpr double kMost = 1e6;
constexpr platform::ListKey kLimit = {"mb_s", 0, kMost, false};

std::string_view directory_of(std::string_view file) { return file.substr(0, file.rfind('/')); }

bool is_of_a_scheme(const gflags::CommandLineFlagInfo& flag) {
  return flag.filename.starts_with("logging/");
}

bool in_place_of_a_log(const Settings& settings) {
  return log_buffers(settings.log).count == 0;  // scheme `none`, or a device that is memory
}
DeviceTraits traits_of(const Settings& settings) { return device_traits(settings.log.device); }

// Flags that have an effect only if another flag has a certain value.
struct Condition {
  std::string_view flags;
  bool (*holds)(const Settings& settings);
  std::string_view of;
};
constexpr Condition kConditions[] = {
    {" pipeline_depth ", [](const Settings& s) { return s.run.commit == CommitPolicy::kPipelined; },
     "--commit=pipelined"},
    {" snapshot ", [](const Settings& s) { return s.protocol->keeps_old_versions; },
     "--cc=si and ssn"},
    {" history_mb ", [](const Settings& s) { return !s.history.empty(); }, "--history"},
    {" replay read_mb_s accept_damage ", [](const Settings& s) { return s.continues; },
     "--continue"},
    {" wal_dir overwrite log_prealloc_mb log_records log_parts flush flush_gap_us flush_help "
     "io_bytes io_depth stripe_kb sync ",
     [](const Settings& s) { return s.scheme->traits.logs; }, "a scheme that logs"},
    {" log_buffer_mb ", [](const Settings& s) { return !in_place_of_a_log(s); },
     "a scheme with log buffers"},
    {" wal_dir overwrite ", [](const Settings& s) { return traits_of(s).keeps; },
     "a device that keeps the log"},
    {" log_prealloc_mb ",
     [](const Settings& s) { return traits_of(s).has_segments || traits_of(s).is_memory; },
     "a device that is preallocated"},
    {" io_depth ", [](const Settings& s) { return !traits_of(s).at_once; },
     "a device with several writes at once"},
    {" sync ", [](const Settings& s) { return traits_of(s).has_sync_methods; },
     "devices file and sync"},
    {" stripe_kb ", [](const Settings& s) { return s.log.directories.size() > 1; },
     "several --wal_dir"},
    {" flush_gap_us ", [](const Settings& s) { return !s.flushes_for_reasons; },
     "runs without --flush"},
};

static_assert(std::ranges::all_of(kConditions, [](const Condition& each) {
  return each.flags.starts_with(' ') && each.flags.ends_with(' ');
}));

// Returns which scheme, workload or setting uses the flag, or "" if these settings use it.
std::string other_owner(const gflags::CommandLineFlagInfo& flag, const Settings& settings) {
  const auto owners = owners_of(flag);
  const bool scheme = is_of_a_scheme(flag);
  const std::string_view chosen = scheme ? settings.scheme->name : settings.workload->name;
  if (!owners.empty() && std::ranges::find(owners, chosen) == owners.end()) {
    return (scheme ? "log " : "workload ") + platform::listed_names(owners);
  }
  for (const Condition& condition : kConditions) {
    const bool about = condition.flags.find(" " + flag.name + " ") != std::string_view::npos;
    if (about && !condition.holds(settings)) return std::string(condition.of);
  }
  return "";
}

}  // namespace

const WorkloadInfo& workload_named(const std::string& name) {
  if (const WorkloadInfo* info = find_workload(name)) return *info;
  refuse("--workload=" + name + " is not a workload" + instead_of(name, all_workloads()));
}

const ProtocolInfo& protocol_named(const std::string& name) {
  if (const ProtocolInfo* info = find_protocol(name)) return *info;
  refuse("--cc=" + name + " is not a protocol" + instead_of(name, all_protocols()));
}

const SchemeInfo& scheme_named(const std::string& name) {
  if (const SchemeInfo* info = find_scheme(name)) return *info;
  refuse("--log=" + name + " is not a scheme" + instead_of(name, all_schemes()));
}

CommitPolicy commit_policy() {
  if (FLAGS_commit == "sync") return CommitPolicy::kSync;
  if (FLAGS_commit == "pipelined") return CommitPolicy::kPipelined;
  if (FLAGS_commit == "async") return CommitPolicy::kAsync;
  refuse("--commit=" + FLAGS_commit + " is not a policy" +
         platform::instead_of(FLAGS_commit, {"sync", "pipelined", "async"}));
}

SnapshotRule snapshot_rule() {
  if (FLAGS_snapshot == "acknowledged") return SnapshotRule::kAcknowledged;
  if (FLAGS_snapshot == "durable") return SnapshotRule::kDurable;
  if (FLAGS_snapshot == "committed") return SnapshotRule::kCommitted;
  refuse("--snapshot=" + FLAGS_snapshot + " is not a rule" +
         platform::instead_of(FLAGS_snapshot, {"acknowledged", "durable", "committed"}));
}

std::vector<std::string> given_directories() {
  std::vector<std::string> directories;
  std::istringstream in(FLAGS_wal_dir);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) directories.push_back(part);
  }
  return directories;
}

std::vector<std::string> wal_directories() {
  auto directories = given_directories();
  if (directories.empty()) refuse("which log? name its directory with --wal_dir=DIR[,DIR...]");
  return directories;
}

void refuse_if(const std::string& why) {
  if (!why.empty()) refuse(why);
}

Settings run_settings() {
  Settings settings;
  settings.commit = FLAGS_commit;
  settings.snapshot = FLAGS_snapshot;
  settings.continues = FLAGS_continue;
  settings.flushes_for_reasons = !FLAGS_flush.empty();
  settings.verify = FLAGS_verify;
  settings.history = FLAGS_history;
  settings.record = FLAGS_record;
  set_timeline(&settings);
  settings.checkpoint = FLAGS_checkpoint;
  settings.files = output_files();
  settings.workload = &workload_named(FLAGS_workload);
  settings.scheme = &scheme_named(FLAGS_log);
  settings.protocol = &protocol_named(FLAGS_cc);
  refuse_if(settings.workload->check_flags());
  settings.log_records = log_records(*settings.scheme);
  settings.run = run_options(*settings.workload, settings.log_records);
  settings.log = log_options(*settings.scheme);
  settings.worker_class = worker_class(settings.log);
  if (device_traits(FLAGS_device).discards) {
    refuse("--device=discard never makes a commit durable: only `logjam micro` takes it");
  }
  refuse_if(check_commands(*settings.workload, *settings.protocol, *settings.scheme));
  if (settings.protocol->keeps_old_versions && settings.run.commit == CommitPolicy::kAsync &&
      settings.run.snapshot == SnapshotRule::kDurable) {
    refuse(
        "with --commit=async no worker learns that its commits are durable, so "
        "--snapshot=durable cannot go with it");
  }
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
  if (settings.protocol->keeps_old_versions && settings.run.snapshot == SnapshotRule::kCommitted) {
    platform::append_part(&settings.unsafe, ", ", "--snapshot=committed");
  }
  return settings;
}

CheckpointOptions checkpoint_options(const std::string& given,
                                     const std::vector<std::string>& directories) {
  constexpr double kMostMb = 1 << 30;
  constexpr platform::ListKey kKeys[] = {{"s", 0, kMost, false}, {"mb", 0, kMostMb}, kLimit};
  return options_for(given, directories, kKeys);
}

CheckpointOptions checkpoint_at_end_options(const std::string& given,
                                            const std::vector<std::string>& directories) {
  constexpr platform::ListKey kKeys[] = {{"end", 1, 1}, kLimit};
  return options_for(given, directories, kKeys);
}

void refuse_checkpoints_of(const Settings& settings) {
  LJ_ASSERT(settings.scheme != nullptr && !settings.checkpoint.empty());
  const std::string log = "--log=" + std::string(settings.scheme->name);
  if (settings.scheme->traits.commands) {
    platform::refuse(log +
                     " logs commands, and their replay needs the tables as they were between two "
                     "transactions, which a checkpoint of a running database does not have; "
                     "`recover --checkpoint` takes one of the recovered database");
  }
  if (settings.log.directories.empty() || !device_traits(settings.log.device).keeps ||
      !settings.scheme->traits.logs) {
    platform::refuse("a checkpoint needs a log that is kept, and " + log +
                     " on --device=" + settings.log.device + " keeps none");
  }
  if (!platform::why_no_disk().empty()) {
    platform::refuse("a simulated machine has no disk for checkpoints");
  }
}

std::vector<std::string_view> owners_of(const gflags::CommandLineFlagInfo& flag) {
  std::vector<std::string_view> owners;
  if (is_of_a_scheme(flag)) {
    for (const SchemeInfo& scheme : all_schemes()) {
      const bool listed = std::ranges::find(scheme.flags, flag.name) != scheme.flags.end();
      if (listed || scheme.file == flag.filename) owners.push_back(scheme.name);
    }
    return owners;
  }
  for (const WorkloadInfo& workload : all_workloads()) {
    if (directory_of(workload.file) == directory_of(flag.filename)) owners.push_back(workload.name);
  }
  return owners;
}

std::string without_effect(const Settings& settings) {
  LJ_ASSERT(settings.workload != nullptr && settings.log.scheme == settings.scheme);
  std::string list;
  for (const auto& flag : own_flags()) {
    if (flag.is_default) continue;
    const std::string of = other_owner(flag, settings);
    if (!of.empty()) platform::append_part(&list, ", ", "--" + flag.name + " (of " + of + ")");
  }
  return list;
}

}  // namespace logjam
