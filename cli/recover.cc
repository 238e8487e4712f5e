#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/recovered_log.h"
#include "cli/report.h"
#include "engine/recovery/commands/replay_commands.h"
#include "engine/storage/csv_export.h"
#include "logging/directory_locks.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "proof/history/history_files.h"

namespace logjam {
namespace {

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(platform::now_ns() - start_ns) * 1e-9;
}

struct RecoverOptions {
  RecoveryOptions recovery;
  bool verify = true;
  std::string history;                        // the file of --history; empty: none
  std::string checkpoint;                     // --checkpoint; empty: none
  std::string export_tables, export_history;  // --export, --export_history; empty: none
  OutputFiles files;

  bool takes_checkpoint() const { return !checkpoint.empty(); }
};

RecoverOptions recover_options() {
  if (!FLAGS_export_history.empty() && FLAGS_history.empty()) {
    platform::refuse("--export_history exports the file of --history, which is missing");
  }
  RecoverOptions options = {.recovery = recovery_options(),
                            .verify = FLAGS_verify,
                            .history = FLAGS_history,
                            .checkpoint = FLAGS_checkpoint,
                            .export_tables = FLAGS_export,
                            .export_history = FLAGS_export_history,
                            .files = output_files()};
  if (options.takes_checkpoint()) {
    checkpoint_at_end_options(options.checkpoint, options.recovery.directories);
  }
  return options;
}

uint32_t threads_of(const RecoveryOptions& recovery, bool commands) {
  if (!commands) return recovery.threads;
  return replaying_threads(protocol_named(recovery.protocol), recovery.threads);
}

std::string how_replayed(const RecoveryOptions& recovery, bool commands) {
  if (!commands) return recovery.order_name();
  const ProtocolInfo& protocol = protocol_named(recovery.protocol);
  std::string how = "commands on " + std::to_string(threads_of(recovery, true)) + " of " +
                    std::to_string(recovery.threads) + " threads, under " +
                    std::string(protocol.name);
  if (!protocol.optimistic) how += ", which executes nothing ahead of its turn";
  return how;
}

Row make_row(const RecoveryOptions& recovery, const RecoveredChain& recovered,
             const LogFiles& files, const std::string& verified) {
  const SchemeInfo& scheme = scheme_named(files.header.scheme);
  const bool commands = scheme.traits.commands;
  const RecoveredSums sums = sums_of(recovered);
  const std::string cut = recovered.runs.empty() ? "" : recovered.runs.back().result.cut.why;
  const bool loaded = recovered.checkpoint.has_value();
  Row row = {
      {"workload", files.header.flags.at("workload")},
      {"scale", files.header.scale},
      {"cc", commands ? std::string(protocol_named(recovery.protocol).name) : ""},
      {"unsafe", scheme.unsafe()},
  };
  add_log(files, recovery.directories.size(), &row);
  append(&row, {
                   {"threads", threads_of(recovery, commands)},
                   {"replay", commands ? "commands" : recovery.order_name()},
                   {"read_mb_s", number(recovery.read_mb_s)},
                   {"runs", recovered.runs.size()},
                   {"checkpoint", loaded ? Value(recovered.checkpoint->number) : Value()},
                   {"checkpoint_bytes", loaded ? Value(recovered.loaded.bytes) : Value()},
                   {"checkpoint_seconds", loaded ? number(recovered.loaded.seconds, 3) : Value()},
                   {"bytes", sums.bytes},
                   {"transactions", sums.transactions},
                   {"records", sums.records},
                   {"beyond_cut", sums.beyond_cut},
                   {"incomplete", sums.incomplete},
                   {"load_seconds", number(recovered.load_seconds, 3)},
                   {"replay_seconds", number(sums.seconds, 3)},
                   {"replay_gb_s", number(sums.gb_per_second(), 3)},
                   {"cut", cut},
                   {"damage", recovered.damage},
                   {"error", recovered.error},
                   {"verified", verified},
               });
  add_disks(recovery.directories, &row);
  add_origin(&row);
  return row;
}

bool check(const RecoverOptions& given, Workload& workload, Database& database, size_t streams) {
  const uint64_t start = platform::now_ns();
  print_row_counts(database);
  // If there are several streams, a recovery may keep a transaction and lose an earlier transaction
  // of the same worker.
  if (streams > 1) workload.note_any_order();
  bool good = true;
  if (given.verify) good = print_checks(workload.verify(database));
  if (!given.history.empty()) {
    good = print_checks(workload.verify_history(database, given.history)) && good;
  }
  VLOG(1) << "verified in " << seconds_since(start) << " s";
  return good;
}

void print_log(const LogFileHeader& log) {
  std::printf("log                    scheme %s, device %s, records %s, run %016lx, revision %s\n",
              log.scheme.c_str(), log.device.c_str(), log.log_records.c_str(), log.run,
              log.revision.c_str());
  if (!log.given.empty()) std::printf("log_flags              %s\n", log.given.c_str());
}

void take_checkpoint(const RecoverOptions& given, const LogChain& chain,
                     const RecoveredChain& recovered) {
  if (recovered.runs.empty() && recovered.checkpoint) {
    std::printf("checkpoint             %lu holds all of the log already\n",
                recovered.checkpoint->number);
    return;
  }
  LogManifest log(chain.directories, chain.manifest);
  log.change([&recovered](Manifest& manifest) { settle(recovered, &manifest); });
  LJ_ASSERT(recovered.database != nullptr);
  CheckpointOptions options = checkpoint_at_end_options(given.checkpoint, chain.directories);
  options.manifest = &log;
  options.about.ordinal = chain.ordinal;
  options.about.flags = chain.flags;
  options.about.revision = revision();
  const uint64_t start = platform::now_ns();
  std::string wrong;
  const Checkpoint taken = checkpoint_at_end(*recovered.database, options, &wrong);
  if (!wrong.empty()) platform::fatal(wrong);
  std::printf("checkpoint             %lu written: %lu rows, %lu bytes in %.3f s\n", taken.number,
              taken.rows(), taken.bytes(), seconds_since(start));
}

// Returns the files of the newest run that the recovery reads. If the recovery reads no run because
// the checkpoint has everything, returns no files, and the ordinal and flags in the header.
LogFiles newest_files(const LogChain& chain) {
  const RecoveryStart& best = chain.starts.front();
  if (!best.runs.empty()) return best.runs.back();
  LogFiles files;
  files.header.scheme = "none";
  files.header.ordinal = chain.ordinal;
  files.header.flags = chain.flags;
  return files;
}

// Makes the directory of --export and the file of --export_history. Refuses unusable ones.
void claim_exports(const RecoverOptions& given) {
  if (!given.export_history.empty()) {
    claim_replaced("--export_history", given.export_history, "an exported history", {"{:index 0,"});
  }
  const std::string& directory = given.export_tables;
  if (directory.empty()) return;
  std::error_code none;
  const auto parent = std::filesystem::weakly_canonical(directory, none).parent_path();
  if (std::filesystem::exists(parent / "manifest", none)) {
    platform::refuse("cannot export to " + directory + ", which is inside a log's directory");
  }
  refuse_if(claim_export_directory(directory));
}

// Writes the exports. Refuses a history that cannot be exported. Ends the process (kExitFailed) if
// a write fails.
void write_exports(const RecoverOptions& given, Workload& workload, Database& database) {
  if (!given.export_tables.empty()) {
    export_csv(database, given.export_tables);
    std::printf("exported               %zu tables to %s\n", database.tables().size(),
                given.export_tables.c_str());
  }
  if (given.export_history.empty()) return;
  refuse_if(workload.export_history(database, given.history, given.export_history));
  std::printf("exported               the history to %s\n", given.export_history.c_str());
}

}  // namespace

int recover_command() {
  const RecoverOptions given = recover_options();
  const RecoveryOptions& recovery = given.recovery;
  const DirectoryLocks locks(recovery.directories,
                             given.takes_checkpoint() ? DirectoryUse::kWrite : DirectoryUse::kRead);
  const LogChain chain = open_log(recovery);
  if (!given.history.empty()) {
    refuse_if(adopt_history(given.history, chain.manifest.log, chain.ordinal));
    refuse_if(gap_in_history(given.history, chain.ordinal));
  }
  ChainOptions options = chain_options(recovery, chain);
  options.goes_on = given.takes_checkpoint();
  options.before_run = take_recovery_flags;
  const LogFiles files = newest_files(chain);
  for (const LogFiles& run : chain.starts.front().runs) refuse_contradictions(run.header);
  take_recovery_flags(files.header);
  refuse_too_large(options.make_workload()->spec().expected_bytes, {});
  given.files.claim(make_row(recovery, {}, files, ""));
  claim_exports(given);
  print_log(files.header);
  RecoveredChain recovered = recover_chain(chain, options);
  const LogFileHeader& run = files.header;
  std::printf("workload               %s; loaded in %.1f s\n",
              (run.scale.empty() ? chain.flags.at("workload") : run.scale).c_str(),
              recovered.load_seconds);
  Database& database = *recovered.database;
  if (!given.export_tables.empty()) refuse_if(undescribed_table(database));
  const bool commands = options.protocol != nullptr;
  const bool usable =
      print_recovered(recovered, recovery.accept_damage, how_replayed(recovery, commands));
  const bool good = usable && check(given, *recovered.workload, database, files.paths.size());
  // The column `verified` is empty if the database is good and was not checked.
  const bool checked = given.verify || !given.history.empty();
  const char* verified = !good ? "FAILED" : checked ? "passed" : "";
  given.files.append(make_row(recovery, recovered, files, verified));
  if (usable) write_exports(given, *recovered.workload, database);
  if (good && given.takes_checkpoint()) take_checkpoint(given, chain, recovered);
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
