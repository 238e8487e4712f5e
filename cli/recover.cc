#include "engine/recovery/recover.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <unistd.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/export.h"
#include "cli/report.h"
#include "cli/row_files.h"
#include "cli/settings.h"
#include "engine/recovery/replay_commands.h"
#include "logging/directory_locks.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "workloads/history/keep.h"

DEFINE_string(
    replay, "parallel",
    "parallel: all threads, the last writer wins; merge: one thread, all streams' records "
    "in the order of their sequence numbers, as in P-WAL");
DEFINE_double(
    read_mb_s, 0,
    "recover: each log directory gives at most so much, like a paper's device; 0: as fast "
    "as it goes");
DEFINE_bool(accept_damage, false,
            "recover: use what is left of a log that has lost bytes that were durable once; a "
            "closed set of transactions is recovered, and acknowledged ones may be missing");
DEFINE_string(export, "",
              "recover: write every table of the recovered database to this directory, as CSV");
DEFINE_string(export_history, "",
              "recover: write the --history and the recovered rows to this file, as a list-append "
              "history for Elle and other public checkers");
DECLARE_bool(verify);
DECLARE_string(history);
DECLARE_uint32(threads);

namespace logjam {
namespace {

// The initial load is deterministic from the flags in the log's header: take them, and refuse a
// command line that says otherwise.
void take_flags(const LogFileHeader& header) {
  for (const auto& [name, value] : header.flags) {
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
      platform::refuse("the log was written with --" + name + "=" + value +
                       ", a flag this logjam does not have");
    }
    if (!info.is_default && info.current_value != value) {
      platform::refuse("--" + name + "=" + info.current_value +
                       " contradicts the log, which was written with --" + name + "=" + value);
    }
    gflags::SetCommandLineOption(name.c_str(), value.c_str());
  }
}

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(platform::now_ns() - start_ns) * 1e-9;
}

double gb_per_second(const RecoveryResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.bytes) * 1e-9 / result.seconds : 0;
}

// A row's columns are those of `logjam run` where they mean the same. `verified` says as there
// whether all checks have passed; that the log can be recovered from is the first of them.
struct Recovered {
  std::string workload, scale, protocol, replay, unsafe;
  double load_seconds = 0;
  RecoveryResult result = {};
  std::string verified = {};
};

Row make_row(const Recovered& recovered, const LogFiles& files) {
  const RecoveryResult& result = recovered.result;
  Row row = {
      {"workload", recovered.workload},
      {"scale", recovered.scale},
      {"cc", recovered.protocol},
      {"unsafe", recovered.unsafe},
  };
  add_log(files, &row);
  const Row rest = {
      {"threads", FLAGS_threads},
      {"replay", recovered.replay},
      {"read_mb_s", number(FLAGS_read_mb_s)},
      {"bytes", result.bytes},
      {"transactions", result.transactions},
      {"records", result.records},
      {"beyond_cut", result.beyond_cut},
      {"incomplete", result.incomplete},
      {"load_seconds", number(recovered.load_seconds, 3)},
      {"replay_seconds", number(result.seconds, 3)},
      {"replay_gb_s", number(gb_per_second(result), 3)},
      {"cut", result.cut.why},
      {"damage", result.damage},
      {"error", result.error},
      {"verified", recovered.verified},
  };
  row.insert(row.end(), rest.begin(), rest.end());
  add_origin(&row);
  return row;
}

// Returns whether the database may be used.
bool print_result(const RecoveryResult& result, const std::string& how) {
  for (size_t s = 0; s < result.tails.size(); ++s) {
    const StreamTail& tail = result.tails[s];
    std::printf("stream %-15zu %llu bytes, %llu records; %s\n", s,
                static_cast<unsigned long long>(tail.bytes),
                static_cast<unsigned long long>(tail.records), tail.why.c_str());
  }
  if (!result.error.empty()) {
    std::printf("FAIL recovery: %s\n", result.error.c_str());
    return false;
  }
  if (!result.damage.empty()) {
    std::printf(
        "%s: the log is damaged: %s%s\n",
        FLAGS_accept_damage ? "WARNING recovery" : "FAIL recovery", result.damage.c_str(),
        FLAGS_accept_damage ? "" : " (--accept_damage recovers what does not depend on it)");
    if (!FLAGS_accept_damage) return false;
  }
  const auto bytes = static_cast<double>(result.bytes);
  std::printf("cut                    %s\n", result.cut.why.c_str());
  std::printf("recovered              %llu transactions, %llu records, %.0f bytes\n",
              static_cast<unsigned long long>(result.transactions),
              static_cast<unsigned long long>(result.records), bytes);
  std::printf("not used               %llu records beyond the cut, %llu transactions uncommitted\n",
              static_cast<unsigned long long>(result.beyond_cut),
              static_cast<unsigned long long>(result.incomplete));
  std::printf("replay                 %s\n", how.c_str());
  std::printf("replay_seconds         %.3f\n", result.seconds);
  std::printf("replay_gb_s            %.3f\n", gb_per_second(result));
  return true;
}

// Returns whether all checks that were asked for have passed.
bool check(Workload& workload, Database& database, size_t streams) {
  const uint64_t start = platform::now_ns();
  print_row_counts(database);
  // One stream has a worker's transactions in their order, and is cut at one place.
  if (streams > 1) workload.note_any_order();
  bool good = true;
  if (FLAGS_verify) good = print_checks(workload.verify(database));
  if (!FLAGS_history.empty()) {
    good = print_checks(workload.verify_history(database, FLAGS_history)) && good;
  }
  VLOG(1) << "verified in " << seconds_since(start) << " s";
  return good;
}

}  // namespace

int recover_command() {
  if (FLAGS_replay != "parallel" && FLAGS_replay != "merge") {
    platform::refuse("--replay=" + FLAGS_replay + " is not an order; parallel and merge are");
  }
  if (FLAGS_read_mb_s < 0) platform::refuse("--read_mb_s is a bandwidth, or 0 for no limit");
  const auto order = FLAGS_replay == "merge" ? ReplayOrder::kMerged : ReplayOrder::kParallel;
  if (!FLAGS_export_history.empty() && FLAGS_history.empty()) {
    platform::refuse("--export_history needs the --history that it is to export");
  }
  const DirectoryLocks locks(wal_directories(), DirectoryUse::kRead);
  const LogFiles files = find_log_files(wal_directories());
  if (!files.error.empty()) platform::refuse(files.error);
  take_flags(files.header);
  const WorkloadInfo& info = workload_named(files.header.flags.at("workload"));
  if (const std::string why = info.check_flags(); !why.empty()) platform::refuse(why);
  const SchemeInfo& scheme = scheme_named(files.header.scheme);
  if (const std::string why = scheme.check_flags(); !why.empty()) platform::refuse(why);

  // Values are applied, commands executed.
  const ProtocolInfo* protocol = scheme.traits.commands ? &protocol_named() : nullptr;
  if (protocol != nullptr && order == ReplayOrder::kMerged) {
    platform::refuse("--replay=merge is for values; the log of scheme " + files.header.scheme +
                     " holds commands, which are executed in their order anyway");
  }
  refuse_export_directory(FLAGS_export);
  VLOG(1) << "recovering a log of " << files.paths.size() << " stream(s) of scheme "
          << files.header.scheme << ", workload " << info.name;
  const auto workload = make_with_history(info);
  refuse_too_large(workload->expected_bytes(), {});
  Recovered recovered{.workload = std::string(info.name),
                      .scale = workload->describe(),
                      .protocol = protocol != nullptr ? std::string(protocol->name) : "",
                      .replay = protocol != nullptr ? "commands" : FLAGS_replay,
                      .unsafe = scheme.unsafe()};
  refuse_row_files(make_row(recovered, files));
  Database database;
  const uint64_t load_start = platform::now_ns();
  load(*workload, database, FLAGS_threads, isatty(STDERR_FILENO) != 0);
  recovered.load_seconds = seconds_since(load_start);
  refuse_undescribed_tables(database, FLAGS_export);
  std::printf("log                    scheme %s, device %s, records %s, run %016llx, revision %s\n",
              files.header.scheme.c_str(), files.header.device.c_str(),
              files.header.log_records.c_str(), static_cast<unsigned long long>(files.header.run),
              files.header.revision.c_str());
  std::printf("workload               %s; loaded in %.1f s\n", workload->describe().c_str(),
              recovered.load_seconds);

  VLOG(1) << "loaded in " << recovered.load_seconds << " s; replaying";

  const uint64_t replay_start = platform::now_ns();
  const double read_speed = FLAGS_read_mb_s * 1e6;
  recovered.result =
      protocol == nullptr
          ? recover(database, files, scheme.recovery, FLAGS_threads, order, read_speed)
          : replay_commands(*workload, database, files, scheme.recovery, *protocol, read_speed);
  VLOG(1) << "replayed in " << seconds_since(replay_start) << " s; verifying";
  const bool usable = print_result(recovered.result, recovered.replay);
  const bool good = usable && check(*workload, database, files.paths.size());
  if (!good) {
    recovered.verified = "FAILED";
  } else if (FLAGS_verify || !FLAGS_history.empty()) {
    recovered.verified = "passed";
  }
  append_row(make_row(recovered, files));
  if (usable) {
    export_tables(database, FLAGS_export);
    export_history(*workload, database, FLAGS_history, FLAGS_export_history);
  }
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
