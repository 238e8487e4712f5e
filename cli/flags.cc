#include "cli/flags.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "cli/commands.h"
#include "cli/offered_rate.h"
#include "engine/workload.h"
#include "logging/flag_checks.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/most_workers.h"
#include "platform/nearest_name.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr Commands kLogging = kRun | kMicro;

std::vector<FlagGroup>& groups() {
  static std::vector<FlagGroup> all;
  return all;
}

// Adds a group to the table of flags, or adds a flag to the last group.
struct Group {
  explicit Group(std::string_view heading) { groups().push_back({heading, {}}); }
};
struct Flag {
  Flag(std::string_view name, Commands commands, FlagGroup::Check check = nullptr) {
    LJ_ASSERT(!groups().empty() && commands != 0 && (commands & ~kAllCommands) == 0);
    groups().back().flags.push_back({name, commands, check});
  }
};

constexpr uint32_t kMaxSockets = 64, kMostDepth = 64;
constexpr double kMostSeconds = 1e9;  // the same time in nanoseconds fits into 64 bits

// Parses the value of --warmup.
std::optional<WarmUp> parse(std::string_view given) {
  WarmUp warm_up;
  const auto take = [&given](double* seconds) {
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data(), end, *seconds);
    given = {rest, static_cast<size_t>(end - rest)};
    return error == std::errc{} && *seconds >= 0 && *seconds <= kMostSeconds;
  };
  if (!take(&warm_up.seconds)) return std::nullopt;
  if (given.empty()) return warm_up;
  if (!given.starts_with(':')) return std::nullopt;
  given.remove_prefix(1);
  const bool good = take(&warm_up.most_seconds) && given.empty() && warm_up.seconds > 0 &&
                    warm_up.most_seconds >= warm_up.seconds;
  return good ? std::optional(warm_up) : std::nullopt;
}

std::string refused_unless(bool good, const std::string& why) { return good ? "" : why; }
std::string check_not_0(const std::string& flag, uint64_t value) {
  return refused_unless(value != 0, "--" + flag + " must be at least 1");
}

}  // namespace
}  // namespace logjam

// The table of the flags of cli/: name, type, default value, commands, help, and perhaps a
// FlagGroup::Check. The objects are constructed in the order of this file, which is also the order
// of the help.
#define GROUP(name, heading) const logjam::Group group_##name(heading)
#define FLAG_OF_OTHERS(name, commands)     \
  namespace logjam {                       \
  const Flag flag_##name(#name, commands); \
  }
#define DEFINE_FLAG(name, type, value, commands, help, ...)           \
  DEFINE_##type(name, value, help);                                   \
  namespace logjam {                                                  \
  const Flag flag_##name(#name, commands __VA_OPT__(, ) __VA_ARGS__); \
  }

GROUP(the_run, "The run");
DEFINE_FLAG(workload, string, "ycsb", kRun | kRecover | kExplore,
            "what the clients do (`logjam list workloads`)");
DEFINE_FLAG(log, string, "centr", kLogging | kExplore,
            "how the log is written (`logjam list schemes`)");
DEFINE_FLAG(cc, string, "occ", kRun | kRecover | kExplore,
            "concurrency control (`logjam list protocols`)");
DEFINE_FLAG(commit, string, "pipelined", kLogging | kExplore,
            "when to acknowledge: sync, pipelined or async; sync: the worker waits for each "
            "commit; pipelined: it continues, and acknowledges when the commit is durable; async: "
            "it acknowledges at once (UNSAFE)");
DEFINE_FLAG(
    snapshot, string, "acknowledged", kRun | kExplore,
    "what a snapshot contains (--cc=si or ssn): acknowledged, durable or committed; acknowledged: "
    "all commits, so a transaction that only reads waits until what it read is durable; durable: "
    "commits that are durable with all earlier ones, so it waits for nothing, and a commit is "
    "acknowledged when new snapshots contain it; committed: all commits, and it waits for nothing "
    "(UNSAFE)");
DEFINE_FLAG(threads, uint32, 2, kLogging | kRecover | kExplore | kList,
            "workers, or threads of a recovery; a log of commands is replayed by all of them if "
            "--cc is optimistic, else by one",
            [] { return check_range("threads", FLAGS_threads, 1, platform::kMostWorkers); });
DEFINE_FLAG(seconds, double, 5, kLogging | kDevice, "seconds of the measured time", [] {
  return refused_unless(FLAGS_seconds > 0 && FLAGS_seconds <= kMostSeconds,
                        "--seconds must be more than 0 and at most 1e9");
});
DEFINE_FLAG(
    warmup, string, "1", kLogging,
    "seconds before the measured time; S:MOST, only of run: the warm-up ends when its last S "
    "seconds show a steady rate (column unsteady), and after MOST seconds at the latest",
    [] {
      return refused_unless(parse(FLAGS_warmup).has_value(),
                            "--warmup must be from 0 to 1e9, or S:MOST with S above 0 and "
                            "MOST from S to 1e9");
    });
DEFINE_FLAG(transactions, uint64, 0, kLogging | kExplore,
            "transactions of each worker, all measured: no warm-up; of micro: inserts or calls; 0: "
            "--seconds alone ends the run");
DEFINE_FLAG(
    rate, string, "0", kRun,
    "transactions offered a second (open loop); 0: as fast as workers can; think_us:N: each "
    "worker waits N microseconds on average, at random, before each transaction; "
    "profile:FILE: the FILE's lines SECONDS RATE say from which second of the measured "
    "time on",
    [] { return check_rate(FLAGS_rate); });
DEFINE_FLAG(
    locks, string, "early", kRun | kExplore,
    "when locks are released: early, write or all; early: all at pre-commit; write: write "
    "locks when the commit is durable; all: under 2PL read locks then, too; work_us:N makes each "
    "transaction work N microseconds more before it takes locks, as slower engines do");
DEFINE_FLAG(pipeline_depth, uint32, 4096, kLogging | kExplore,
            "unacknowledged transactions that a worker may have; where the log is the bottleneck, "
            "commit latency is this number divided by the worker's throughput",
            [] { return check_not_0("pipeline_depth", FLAGS_pipeline_depth); });
DEFINE_FLAG(seed, uint64, 1, kLogging | kExplore,
            "seed of all random numbers; a run that continues a log draws other numbers from the "
            "same seed");
DEFINE_FLAG(rounds, uint64, 1000, kExplore, "how many seeds to explore, from --seed on");
DEFINE_FLAG(breakdown, bool, true, kRun, "sample where workers' time goes");

GROUP(the_log, "The log");
DEFINE_FLAG(
    wal_dir, string, "", kLogging | kRecover | kDump | kTrim | kExplore | kDevice,
    "directories for the log, separated by commas, each on its own device; a scheme with one "
    "stream stripes it over them, other schemes divide their streams among them");
DEFINE_FLAG(device, string, "file", kLogging | kDevice,
            "where the log goes (`logjam list devices`)");
DEFINE_FLAG(
    sync, string, "auto", kLogging | kDevice,
    "how devices file and sync make a write durable: auto, dsync, fdatasync, fsync or none; "
    "dsync: the write itself is synced (RWF_DSYNC); fdatasync, fsync: the file is synced "
    "after the write; none: not at all (UNSAFE, except on device file if the disk says that "
    "its cache is protected); auto: dsync or fdatasync, whichever is faster in the first "
    "0.3 s on a new --wal_dir, which remembers it; the environment variable LOGJAM_SYNC "
    "takes the place of auto; with auto, `logjam device` measures all methods");
DEFINE_FLAG(overwrite, bool, false, kLogging,
            "replace the log that the --wal_dir directories hold");
DEFINE_FLAG(continue, bool, false, kRun,
            "recover the log in the --wal_dir directories, and continue it; with the same --log, "
            "--cc and device or with others");
DEFINE_FLAG(log_records, string, "auto", kRun | kExplore,
            "records of a transaction: txn or op; txn: one; op: one for its begin, one for each "
            "write, one for its commit; with ,range (txn,range) a write that has read its row "
            "logs only the bytes that it changes, and the version that they change; auto: "
            "txn,range on the devices file and sync, if --log and --ack permit it, else txn",
            [] {
              return refused_unless(
                  FLAGS_log_records == "auto" || FLAGS_log_records == "txn" ||
                      FLAGS_log_records == "op" || FLAGS_log_records == "txn,range" ||
                      FLAGS_log_records == "op,range",
                  "--log_records=" + FLAGS_log_records +
                      " is not a granularity; allowed are auto, txn, op, and the last two with "
                      ",range");
            });
DEFINE_FLAG(log_buffer_mb, uint32, 64, kLogging, "MiB of each stream's log buffer",
            [] { return check_not_0("log_buffer_mb", FLAGS_log_buffer_mb); });
DEFINE_FLAG(log_prealloc_mb, string, "256", kLogging | kExplore,
            "MiB zeroed before the run starts, for each stream; 256:16: on devices file and sync "
            "the log then continues in segment files of 16 MiB, zeroed in advance or recycled; "
            "without a second number the segments are a quarter of the first one, 1 to 64 MiB; "
            "0: one file, which the log extends as it writes");
DEFINE_FLAG(stripe_kb, uint64, 512, kLogging,
            "KiB of a stripe, where one stream has several --wal_dir; a power of 2",
            [] { return check_power_of_two("stripe_kb", FLAGS_stripe_kb, 4); });
DEFINE_FLAG(checkpoint, string, "", kRun | kRecover | kExplore,
            "take checkpoints, and remove the log that no recovery needs; run: s:30,mb:1024,"
            "mb_s:100 takes one every 30 seconds and whenever the log has grown by 1024 MiB, while "
            "transactions run, and writes at most 100 MB/s to all directories together; recover: "
            "--checkpoint or end,mb_s:100 takes one of the recovered database, which the next "
            "recovery loads instead of the log before it");

GROUP(flushing, "Flushing");
DEFINE_FLAG(flush, string, "", kLogging | kExplore,
            "reasons to flush, such as txns:8,bytes:65536,us:500; this one flushes when 8 commits "
            "or 65536 bytes wait, or when the oldest commit has waited for 500 microseconds; txns "
            "and bytes need us; without --flush, a stream is flushed whenever its device can take "
            "a write and --flush_gap_us has passed");
DEFINE_FLAG(
    flush_gap_us, string, "auto", kLogging,
    "least microseconds between two writes of a stream that busy workers fill, because each write "
    "costs the workers time; auto: three times as long as the run's writes take, 200 to 500; "
    "auto:1000: the gap with which a commit is durable after 1000 us on average; not used with "
    "--flush; scheme_counters has the mean, gap_us_mean");
DEFINE_FLAG(
    log_parts, string, "", kLogging | kExplore,
    "parts that are no scheme's own algorithm; none; all that --log can have; or a list such as "
    "unlock,chunks,patience:8,pace:8,rounds; unlock: rows are unlocked before their record is "
    "copied; chunks: buffer chunks of adaptive length; patience:8: a write waits for records that "
    "are being filled, at most 8 us; pace:8: at least 8 times the cost of a write between two "
    "writes; rounds: streams write together; without --log_parts, a scheme's own parts");
DEFINE_FLAG(flush_help, bool, true, kLogging | kExplore,
            "workers that wait or poll may flush when the flusher is late; false: only the "
            "flusher's thread flushes");
DEFINE_FLAG(io_bytes, uint64, 4 << 20, kLogging,
            "largest write, the I/O unit; a power of 2; ELEDA's are 65536 and 524288",
            [] { return check_power_of_two("io_bytes", FLAGS_io_bytes, 4 << 10); });
DEFINE_FLAG(io_depth, uint32, 4, kLogging,
            "writes that may be under way at once, for each log file; devices sync and nvm do one "
            "at a time",
            [] { return check_range("io_depth", FLAGS_io_depth, 1, kMostDepth); });

GROUP(threads_and_cores, "Threads and cores");
DEFINE_FLAG(
    placement, string, "compact", kLogging,
    "cores of workers: compact, scatter, smt or none; compact: the cores of one socket, then "
    "those of the next; scatter: a core of each socket in turn; both use second contexts of "
    "cores only when no core is free; smt: both contexts of a core, then those of the next; "
    "none: workers are not pinned; compact:5 begins at core 5; without a number the core that "
    "the log's device interrupts is the first one under --commit=sync, because the end of a "
    "write wakes a worker there soonest, and else the last one, because the kernel finishes "
    "writes there; flushers and writers of checkpoints keep to the socket of their stream");
DEFINE_FLAG(worker_class, string, "auto", kLogging,
            "scheduling class of workers: auto, idle, normal or batch; idle: the kernel's workers "
            "and all other threads preempt workers at once, so that a busy worker never delays a "
            "write; normal, batch: workers and other threads share the cores; auto: idle if it is "
            "possible and helps, and other programs leave the machine idle, else normal");
DEFINE_FLAG(sockets, uint32, 0, kLogging | kExplore,
            "sockets of the machine, and logs of dlog-*; 0: as many as this machine has; with "
            "another number the schemes behave as if it had that many",
            [] { return check_range("sockets", FLAGS_sockets, 0, kMaxSockets); });
DEFINE_FLAG(topology, string, "", kList,
            "the machine for `list placement`, as lstopo describes it; \"pack:8 numa:1 core:64 "
            "pu:2\" (lstopo --of synthetic) has sockets, NUMA nodes, cores and contexts; FILE.xml "
            "(lstopo FILE.xml) has all that is irregular; after \" allowed:0-3,8\" a cpuset "
            "allows only these contexts; empty: this machine");

GROUP(recovery_and_checks, "Recovery and checks");
DEFINE_FLAG(verify, bool, true, kRun | kRecover, "run the workload's own checks afterwards");
FLAG_OF_OTHERS(history, kRun | kRecover);
FLAG_OF_OTHERS(history_mb, kRun);
DEFINE_FLAG(
    replay, string, "parallel", kRun | kRecover,
    "order of the replay, and its memory; parallel: all threads, the last writer wins; merge: one "
    "thread, all streams' records in the order of their sequence numbers, as in P-WAL; "
    "merge,mb:256 "
    "holds at most 256 MiB of the log in memory, where 1024 are the default and each stream takes "
    "at least 0.5; what does not fit is read twice");
DEFINE_FLAG(read_mb_s, double, 0, kRun | kRecover,
            "limit in MB/s for reading each log directory; as if it were on a paper's device; 0: "
            "none",
            [] {
              return refused_unless(FLAGS_read_mb_s >= 0,
                                    "--read_mb_s must not be negative; 0: no limit");
            });
DEFINE_FLAG(accept_damage, bool, false, kRun | kRecover,
            "use what is left of a log that has lost durable bytes; no recovered transaction "
            "depends on a lost one, but acknowledged ones may be missing");

GROUP(log_inserts, "Log inserts");
DEFINE_FLAG(record_bytes, string, "dist:", kMicro,
            "bytes of a record, or dist:[SMALL,LARGE,MEAN]; two peaks; dist: is dist:40,264,120; "
            "48:1024: one record in 60, a random one, has 1024 bytes instead");
DEFINE_FLAG(fill, string, "bytes", kMicro,
            "what an insert fills: bytes, records or local; bytes: its space in the log's buffer; "
            "records: the same, with headers and checksums; local: a buffer of its thread, which "
            "stays in the L1 cache");
DEFINE_FLAG(logs_per_commit, uint32, 0, kMicro,
            "records before each commit record; commits are acknowledged as --commit says; 0: "
            "nothing commits");
DEFINE_FLAG(sync_every, uint64, 0, kMicro,
            "every N-th insert of a thread depends on an earlier one; on the latest such insert "
            "of any thread, as if both wrote one tuple; 0: none");
DEFINE_FLAG(floor, string, "", kMicro,
            "without a log: copy or fetch-add; copy: each thread copies to its own ring; "
            "fetch-add: threads add to a shared counter, then copy to a shared ring");
DEFINE_FLAG(
    primitive, string, "", kMicro,
    "without a log: KIND[:LINES[:PAUSE_NS]], such as faa or ticket:512; KIND is an atomic "
    "operation (faa, cas, cas-faa, swap, load, tas-once) on one of "
    "LINES words, or a lock (tas, ticket, ticket-backoff, mcs, clh), one of LINES; a thread pauses "
    "after each call for PAUSE_NS, without it for 50 with one line, and not at all with several");

GROUP(output, "Output");
DEFINE_FLAG(csv, string, "", kLogging | kRecover | kDump | kDevice,
            "append a row to this file; - prints it to stdout, and all else to stderr");
DEFINE_FLAG(json, string, "", kLogging | kRecover | kDump | kList | kDevice,
            "append the row to this file, as a line with a JSON object; - or --json alone: print "
            "it to stdout, and all else to stderr; list prints JSON instead of tables");
DEFINE_FLAG(cdf, string, "", kLogging | kDevice,
            "write commit latency's distribution to this file; of device: the disk's card, which "
            "--device=sim:FILE plays; a card has the times of durable writes, by size and number "
            "of writes at once, of the fastest safe sync method or of --sync");
DEFINE_FLAG(
    timeline, string, "", kRun,
    "file for a CSV row of each interval of 100 ms, or FILE:20 of each 20 ms; it has the "
    "acknowledged transactions, their latency, aborts, bytes of log, and the log's lag, and is "
    "written when the interval ends; warm-up, at negative times, and drain have rows, too");
DEFINE_FLAG(record, string, "", kRun,
            "file for the rows and all committed transactions; it is a trace for "
            "--workload=trace, and the recorded run is slower than it would be otherwise");
DEFINE_FLAG(export, string, "", kRecover, "write every recovered table to this directory, as CSV");
DEFINE_FLAG(export_history, string, "", kRecover,
            "write --history and the recovered rows to this file; a list-append history for Elle "
            "and other public checkers");
DEFINE_FLAG(
    range, string, "", kDump,
    "the part of the log to print, such as run:2,from:1000,count:100; run: the number of a "
    "run, without it the last run; from: the records of each stream to leave out first, or "
    "with --dependencies the transactions, in the order of their sequence numbers; count: the "
    "most to print; the log before the latest checkpoint is not printed");
DEFINE_FLAG(dependencies, string, "", kDump,
            "write the dependencies between transactions to this file; as CSV, instead of the "
            "records: which transaction overwrote rows of which earlier one; --csv and --json "
            "take a row with the counts");

GROUP(tests, "");
FLAG_OF_OTHERS(test, kLogging | kMachine | kExplore);

namespace logjam {
namespace {

constexpr CommandInfo kCommands[] = {
    {kRun, "run", "load, warm up, measure, drain, verify; print a summary; append a row",
     run_command},
    {kRecover, "recover", "rebuild from --wal_dir, verify; print time, GB/s, records, cut",
     recover_command},
    {kMicro, "micro", "insert into a log without an engine: threads x record size x skew",
     micro_command},
    {kDump, "dump", "print the records of --wal_dir, or how transactions depend on others",
     dump_command},
    {kTrim, "trim", "remove the files in --wal_dir that no recovery needs; needs no space",
     trim_command},
    {kExplore, "explore",
     "draw each step's order and the crashes from seeds, judge (simulated build)", nullptr},
    {kMachine, "machine",
     "measure this machine; print a profile to simulate it, or [hand-offs|rates]", nullptr},
    {kDevice, "device", "measure which durable writes the disk under --wal_dir can do",
     device_command},
    {kList, "list", "[schemes|protocols|workloads|variants|devices|placement]", nullptr},
    {kHelp, "help", "[COMMAND] this text, or the flags of a command", nullptr},
};

// Returns whether a log's header stores the flag, because a recovery needs the flag's value.
bool in_headers(std::string_view name) {
  const auto has = [name](const auto& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::any_of(all_workloads(), [&](const auto& w) { return has(w.load_flags); }) ||
         std::ranges::any_of(all_schemes(), [&](const auto& s) { return has(s.recovery_flags); });
}

// Returns whether the file that defines a flag is in this source tree. Debian's gflags and glog
// were built with file names that begin with a slash or a dot.
bool is_own(const std::string& file) { return !file.starts_with('/') && !file.starts_with('.'); }

}  // namespace

std::span<const CommandInfo> all_commands() { return kCommands; }

Commands command_named(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandInfo::name);
  return found == std::end(kCommands) ? 0 : found->command;
}

std::vector<std::string_view> command_names(Commands commands) {
  std::vector<std::string_view> names;
  for (const CommandInfo& each : kCommands) {
    if ((commands & each.command) != 0) names.push_back(each.name);
  }
  return names;
}

std::string names_of(Commands commands) {
  LJ_ASSERT((commands & kAllCommands) != 0);
  return platform::listed_names(command_names(commands));
}

std::span<const FlagGroup> flag_groups() { return groups(); }

std::vector<gflags::CommandLineFlagInfo> own_flags() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::erase_if(flags, [](const auto& flag) { return !is_own(flag.filename); });
  return flags;
}

Commands commands_of(const gflags::CommandLineFlagInfo& flag) {
  for (const FlagGroup& group : flag_groups()) {
    for (const auto& [name, commands, check] : group.flags) {
      if (name == flag.name) return commands;
    }
  }
  const std::string& file = flag.filename;
  if (!is_own(file) || file.starts_with("sim/")) return kAllCommands;
  const Commands recover = in_headers(flag.name) ? kRecover : 0;
  // `list` accepts the flags of schemes, because it says whether a scheme is safe with these flags.
  if (file.starts_with("logging/")) return kLogging | kList | kExplore | recover;
  if (file.starts_with("proof/")) return kRun | kExplore | recover;
  if (file.starts_with("workloads/")) return kRun | kExplore | recover;
  return 0;
}

void refuse_misplaced_flags(Commands command) {
  LJ_ASSERT(std::has_single_bit(command));
  for (const auto& flag : own_flags()) {
    const Commands commands = commands_of(flag);
    if (flag.is_default || (commands & command) != 0) continue;
    platform::refuse("--" + flag.name + " is a flag of " + names_of(commands) + ", not of " +
                     names_of(command));
  }
}

void refuse_bad_values(Commands command) {
  LJ_ASSERT(std::has_single_bit(command));
  for (const FlagGroup& group : groups()) {
    for (const auto& [name, commands, check] : group.flags) {
      if ((commands & command) == 0 || check == nullptr) continue;
      if (const std::string why = check(); !why.empty()) platform::refuse(why);
    }
  }
}

std::string value_of(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type != "double") return flag.current_value;
  return platform::shortest(std::strtod(flag.current_value.c_str(), nullptr));
}

std::string changed_flags() {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::string text;
  for (const auto& flag : all) {
    if (flag.is_default || flag.name == "flagfile") continue;
    text += (text.empty() ? "--" : " --") + flag.name + "=" + value_of(flag);
  }
  return text;
}

WarmUp warm_up() { return parse(FLAGS_warmup).value(); }

}  // namespace logjam
