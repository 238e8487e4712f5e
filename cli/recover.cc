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

DECLARE_string(checkpoint);
DECLARE_string(export);
DECLARE_string(export_history);
DECLARE_string(history);
DECLARE_bool(verify);

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
  std::string export_tables, export_history;  // where to write them; empty: nowhere
  OutputFiles files;
};

// Returns the options of the flags. Refuses values that cannot be used.
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
  if (!options.checkpoint.empty()) {
    checkpoint_at_end_options(options.checkpoint, options.recovery.directories);
  }
  return options;
}

// Returns the number of threads that replay the log's records.
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

// Returns the row. A column with the same meaning has the same name as in `logjam run`. `verified`
// is the result of all checks; the first check is that the log can be recovered.
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
  const Row rest = {
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
  };
  row.insert(row.end(), rest.begin(), rest.end());
  add_origin(&row);
  return row;
}

// Returns whether all checks that were asked for have passed.
bool check(const RecoverOptions& options, Workload& workload, Database& database, size_t streams) {
  const uint64_t start = platform::now_ns();
  print_row_counts(database);
  // A single stream has each worker's transactions in their order, and is cut at one position.
  if (streams > 1) workload.note_any_order();
  bool good = true;
  if (options.verify) good = print_checks(workload.verify(database));
  if (!options.history.empty()) {
    good = print_checks(workload.verify_history(database, options.history)) && good;
  }
  VLOG(1) << "verified in " << seconds_since(start) << " s";
  return good;
}

// Returns the column `verified`. It is empty if the database is good and was not checked.
std::string verdict(const RecoverOptions& options, bool good) {
  if (!good) return "FAILED";
  return options.verify || !options.history.empty() ? "passed" : "";
}

void print_log(const LogFileHeader& log) {
  std::printf("log                    scheme %s, device %s, records %s, run %016lx, revision %s\n",
              log.scheme.c_str(), log.device.c_str(), log.log_records.c_str(), log.run,
              log.revision.c_str());
  if (!log.given.empty()) std::printf("log_flags              %s\n", log.given.c_str());
}

// Writes a checkpoint of the recovered database.
void take_checkpoint(const std::string& given, const LogChain& chain,
                     const RecoveredChain& recovered) {
  if (recovered.runs.empty() && recovered.checkpoint) {
    std::printf("checkpoint             %lu holds all of the log already\n",
                recovered.checkpoint->number);
    return;
  }
  LogManifest log(chain.directories, chain.manifest);
  log.change([&recovered](Manifest& manifest) { settle(recovered, &manifest); });
  LJ_ASSERT(!given.empty() && recovered.database != nullptr);
  CheckpointOptions options = checkpoint_at_end_options(given, chain.directories);
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

// Returns the files of the newest run that the recovery reads. If it reads none, the checkpoint
// holds everything: returns what the checkpoint knows of its run.
LogFiles newest_files(const LogChain& chain) {
  const RecoveryStart& best = chain.starts.front();
  if (!best.runs.empty()) return best.runs.back();
  LogFiles files;
  files.header.scheme = "none";
  files.header.ordinal = chain.ordinal;
  files.header.flags = chain.flags;
  return files;
}

// Makes the directory and the file of the history. Refuses unless tables can be exported to the
// directory, and a history to the file. In all of these functions an empty name means that this
// export is not wanted.
void claim_exports(const std::string& directory, const std::string& history_file) {
  if (!history_file.empty()) {
    claim_replaced("--export_history", history_file, "an exported history", {"{:index 0,"});
  }
  if (directory.empty()) return;
  std::error_code none;
  const auto parent = std::filesystem::weakly_canonical(directory, none).parent_path();
  if (std::filesystem::exists(parent / "manifest", none)) {
    platform::refuse("cannot export to " + directory + ", which is inside a log's directory");
  }
  const std::string why = claim_export_directory(directory);
  if (!why.empty()) platform::refuse(why);
}

// Refuses if the columns of a table are not known.
void refuse_undescribed_tables(Database& database, const std::string& directory) {
  if (directory.empty()) return;
  if (const std::string why = undescribed_table(database); !why.empty()) platform::refuse(why);
}

// Writes the tables. Ends the process (kExitFailed) if the files cannot be written.
void export_tables(Database& database, const std::string& directory) {
  if (directory.empty()) return;
  export_csv(database, directory);
  std::printf("exported               %zu tables to %s\n", database.tables().size(),
              directory.c_str());
}

// Writes the history, as export_tables() writes tables. Refuses a history that cannot be exported.
void export_history(Workload& workload, Database& database, const std::string& history,
                    const std::string& file) {
  if (file.empty()) return;
  const std::string why = workload.export_history(database, history, file);
  if (!why.empty()) platform::refuse(why);
  std::printf("exported               the history to %s\n", file.c_str());
}

}  // namespace

int recover_command() {
  const RecoverOptions given = recover_options();
  const bool checkpoints = !given.checkpoint.empty();
  const DirectoryLocks locks(given.recovery.directories,
                             checkpoints ? DirectoryUse::kWrite : DirectoryUse::kRead);
  const LogChain chain = open_log(given.recovery);
  if (!given.history.empty()) {
    refuse_if(adopt_history(given.history, chain.manifest.log, chain.ordinal));
    refuse_if(gap_in_history(given.history, chain.ordinal));
  }
  ChainOptions options = chain_options(given.recovery, chain);
  options.goes_on = checkpoints;
  options.before_run = take_recovery_flags;
  const LogFiles files = newest_files(chain);
  for (const LogFiles& run : chain.starts.front().runs) refuse_contradictions(run.header);
  take_recovery_flags(files.header);
  refuse_too_large(options.make_workload()->spec().expected_bytes, {});
  given.files.claim(make_row(given.recovery, {}, files, ""));
  claim_exports(given.export_tables, given.export_history);
  print_log(files.header);
  RecoveredChain recovered = recover_chain(chain, options);
  const LogFileHeader& run = files.header;
  std::printf("workload               %s; loaded in %.1f s\n",
              (run.scale.empty() ? chain.flags.at("workload") : run.scale).c_str(),
              recovered.load_seconds);
  Database& database = *recovered.database;
  refuse_undescribed_tables(database, given.export_tables);
  const bool commands = options.protocol != nullptr;
  const bool usable = print_recovered(recovered, given.recovery.accept_damage,
                                      how_replayed(given.recovery, commands));
  const bool good = usable && check(given, *recovered.workload, database, files.paths.size());
  given.files.append(make_row(given.recovery, recovered, files, verdict(given, good)));
  if (usable) {
    export_tables(database, given.export_tables);
    export_history(*recovered.workload, database, given.history, given.export_history);
  }
  if (good && checkpoints) take_checkpoint(given.checkpoint, chain, recovered);
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
