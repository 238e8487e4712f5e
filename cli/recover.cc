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
#include "platform/clock.h"
#include "platform/fatal.h"
#include "proof/history/history_files.h"

DECLARE_string(export);
DECLARE_string(export_history);
DECLARE_string(history);
DECLARE_double(read_mb_s);
DECLARE_uint32(threads);
DECLARE_bool(verify);

namespace logjam {
namespace {

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(platform::now_ns() - start_ns) * 1e-9;
}

// Returns the number of threads that replay the log's records.
uint32_t replaying_threads(bool commands) {
  return commands ? logjam::replaying_threads(protocol_named(), FLAGS_threads) : FLAGS_threads;
}

std::string how_replayed(bool commands) {
  if (!commands) return replay_order();
  const ProtocolInfo& protocol = protocol_named();
  std::string how = "commands on " + std::to_string(replaying_threads(true)) + " of " +
                    std::to_string(FLAGS_threads) + " threads, under " + std::string(protocol.name);
  if (!protocol.optimistic) how += ", which executes nothing ahead of its turn";
  return how;
}

// Returns the row. A column with the same meaning has the same name as in `logjam run`. `verified`
// is the result of all checks; the first check is that the log can be recovered.
Row make_row(const RecoveredChain& recovered, const LogFiles& files, const std::string& verified) {
  const SchemeInfo& scheme = scheme_named(files.header.scheme);
  const bool commands = scheme.traits.commands;
  const RecoveredSums sums = sums_of(recovered);
  const std::string cut = recovered.runs.empty() ? "" : recovered.runs.back().result.cut.why;
  const bool loaded = recovered.checkpoint.has_value();
  Row row = {
      {"workload", files.header.flags.at("workload")},
      {"scale", files.header.scale},
      {"cc", commands ? std::string(protocol_named().name) : ""},
      {"unsafe", scheme.unsafe()},
  };
  add_log(files, &row);
  const Row rest = {
      {"threads", replaying_threads(commands)},
      {"replay", commands ? "commands" : replay_order()},
      {"read_mb_s", number(FLAGS_read_mb_s)},
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
bool check(Workload& workload, Database& database, size_t streams) {
  const uint64_t start = platform::now_ns();
  print_row_counts(database);
  // A single stream has each worker's transactions in their order, and is cut at one position.
  if (streams > 1) workload.note_any_order();
  bool good = true;
  if (FLAGS_verify) good = print_checks(workload.verify(database));
  if (!FLAGS_history.empty()) {
    good = print_checks(workload.verify_history(database, FLAGS_history)) && good;
  }
  VLOG(1) << "verified in " << seconds_since(start) << " s";
  return good;
}

// Returns the column `verified`. It is empty if the database is good and was not checked.
std::string verdict(bool good) {
  if (!good) return "FAILED";
  return FLAGS_verify || !FLAGS_history.empty() ? "passed" : "";
}

void print_log(const LogFileHeader& log) {
  std::printf("log                    scheme %s, device %s, records %s, run %016lx, revision %s\n",
              log.scheme.c_str(), log.device.c_str(), log.log_records.c_str(), log.run,
              log.revision.c_str());
  if (!log.given.empty()) std::printf("log_flags              %s\n", log.given.c_str());
}

// Writes a checkpoint of the recovered database.
void take_checkpoint(const LogChain& chain, const RecoveredChain& recovered) {
  if (recovered.runs.empty() && recovered.checkpoint) {
    std::printf("checkpoint             %lu holds all of the log already\n",
                recovered.checkpoint->number);
    return;
  }
  LogManifest log(chain.directories, chain.manifest);
  log.change([&recovered](Manifest& manifest) { settle(recovered, &manifest); });
  CheckpointOptions options = checkpoint_at_end_options(chain.directories);
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
  if (!FLAGS_export_history.empty() && FLAGS_history.empty()) {
    platform::refuse("--export_history exports the file of --history, which is missing");
  }
  const std::vector<std::string> directories = wal_directories();
  const bool checkpoints = checkpoint_at_end_wanted();
  if (checkpoints) checkpoint_at_end_options(directories);
  const DirectoryLocks locks(directories, checkpoints ? DirectoryUse::kWrite : DirectoryUse::kRead);
  const LogChain chain = open_log(directories);
  if (!FLAGS_history.empty()) {
    refuse_if(adopt_history(FLAGS_history, chain.manifest.log, chain.ordinal));
    refuse_if(gap_in_history(FLAGS_history, chain.ordinal));
  }
  ChainOptions options = chain_options(chain);
  options.goes_on = checkpoints;
  options.before_run = take_recovery_flags;
  const LogFiles files = newest_files(chain);
  for (const LogFiles& run : chain.starts.front().runs) refuse_contradictions(run.header);
  take_recovery_flags(files.header);
  refuse_too_large(options.make_workload()->spec().expected_bytes, {});
  claim_row_files(make_row({}, files, ""));
  claim_exports(FLAGS_export, FLAGS_export_history);
  print_log(files.header);
  RecoveredChain recovered = recover_chain(chain, options);
  const LogFileHeader& run = files.header;
  std::printf("workload               %s; loaded in %.1f s\n",
              (run.scale.empty() ? chain.flags.at("workload") : run.scale).c_str(),
              recovered.load_seconds);
  Database& database = *recovered.database;
  refuse_undescribed_tables(database, FLAGS_export);
  const bool commands = options.protocol != nullptr;
  const bool usable = print_recovered(recovered, how_replayed(commands));
  const bool good = usable && check(*recovered.workload, database, files.paths.size());
  append_row(make_row(recovered, files, verdict(good)));
  if (usable) {
    export_tables(database, FLAGS_export);
    export_history(*recovered.workload, database, FLAGS_history, FLAGS_export_history);
  }
  if (good && checkpoints) take_checkpoint(chain, recovered);
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
