#include "cli/recovered_log.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/flags.h"
#include "cli/options.h"
#include "engine/recovery/commands/replay_commands.h"
#include "logging/directory_locks.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/text.h"
#include "proof/history/with_history.h"

namespace logjam {
namespace {

void refuse_contradiction(const std::string& name, const std::string& value) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
    platform::refuse("the log was written with --" + name + "=" + value +
                     ", which this logjam does not have");
  }
  gflags::CommandLineFlagInfo of_log = info;
  of_log.current_value = value;
  if (!info.is_default && value_of(info) != value_of(of_log)) {
    platform::refuse("--" + name + "=" + value_of(info) +
                     " contradicts the log, which was written with --" + name + "=" +
                     value_of(of_log));
  }
}

bool has(const std::vector<std::string_view>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_load_flag(const WorkloadInfo& workload, const std::string& name) {
  return name == "workload" || has(workload.load_flags, name);
}

// Sets a flag to `value`, from a log's header. Refuses a value that a command line could not set.
void take_flag(const std::string& name, const std::string& value) {
  if (!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return;
  platform::refuse("the log was written with --" + name + "=" + value +
                   ", which is no value of it");
}

// Refuses a log whose header has flags that logjam stores in no header. Otherwise a foreign log
// could decide which files the command writes, or what the command checks.
void refuse_other_flags(const LogFileHeader& header) {
  const auto workload = header.flags.find("workload");
  for (const auto& [name, value] : header.flags) {
    if (workload != header.flags.end() && is_load_flag(workload_named(workload->second), name)) {
      continue;
    }
    if (has(scheme_named(header.scheme).recovery_flags, name)) continue;
    platform::refuse("the log sets --" + name + "=" + value +
                     ", which neither shapes its tables nor its recovery");
  }
}

void print_run(const RecoveredRun& run, bool one_of_several) {
  const RecoveryResult& result = run.result;
  if (one_of_several) {
    std::printf("run %-18u scheme %s, run %016lx: %lu transactions\n", run.files.header.ordinal,
                run.files.header.scheme.c_str(), run.files.header.run, result.transactions);
  }
  for (size_t s = 0; s < result.tails.size(); ++s) {
    const StreamTail& tail = result.tails[s];
    std::printf("stream %-15zu %lu bytes, %lu records; %s\n", s, tail.bytes, tail.records,
                tail.why.c_str());
  }
}

}  // namespace

LogChain open_log(const RecoveryOptions& recovery) {
  const std::vector<std::string>& directories = recovery.directories;
  LJ_ASSERT(!directories.empty());
  LogChain chain = find_log_chain(directories, recovery.accept_damage);
  if (chain.lost) platform::fatal(chain.error, platform::kExitViolation);
  refuse_if(chain.error);
  if (!chain.flags.contains("workload")) {
    platform::refuse("the log in " + platform::join(directories, ", ") +
                     " is of logjam micro: it holds no tables to recover");
  }
  for (const RecoveryStart& start : chain.starts) {
    for (const LogFiles& run : start.runs) {
      for (const auto& stream : run.paths) std::ranges::for_each(stream, wait_for_late_writes);
    }
  }
  const std::string name = chain.flags.at("workload");
  if (find_workload(name) == nullptr) {
    platform::refuse("the log is of the workload " + name + ", which this logjam does not have: " +
                     "recover it with a logjam that is built with the workload's file");
  }
  const WorkloadInfo& workload = workload_named(name);
  std::erase_if(chain.flags, [&](const auto& flag) { return !is_load_flag(workload, flag.first); });
  for (const auto& [name, value] : chain.flags) {
    refuse_contradiction(name, value);
    take_flag(name, value);
  }
  refuse_if(workload.check_flags());
  return chain;
}

void refuse_contradictions(const LogFileHeader& header) {
  refuse_other_flags(header);
  for (const auto& [name, value] : header.flags) refuse_contradiction(name, value);
}

void take_recovery_flags(const LogFileHeader& header) {
  refuse_other_flags(header);
  for (const auto& [name, value] : header.flags) take_flag(name, value);
  refuse_if(scheme_named(header.scheme).check_flags());
}

RecoveryOptions recovery_options() {
  RecoveryOptions options = {.directories = wal_directories(),
                             .protocol = FLAGS_cc,
                             .threads = FLAGS_threads,
                             .read_mb_s = FLAGS_read_mb_s,
                             .accept_damage = FLAGS_accept_damage};
  constexpr platform::ListKey kKeys[] = {{"parallel", 1, 1}, {"merge", 1, 1}, {"mb", 1, 1 << 30}};
  refuse_if(platform::check_list("replay", FLAGS_replay, kKeys));
  const bool merge = platform::listed(FLAGS_replay, "merge") != 0;
  if (merge && platform::listed(FLAGS_replay, "parallel") != 0) {
    platform::refuse("--replay=" + FLAGS_replay + " has two orders");
  }
  if (merge) options.order = ReplayOrder::kMerged;
  const double mb = platform::listed(FLAGS_replay, "mb", kRecoveryBytes >> 20);
  options.memory_bytes = static_cast<uint64_t>(mb) << 20;
  return options;
}

ChainOptions chain_options(const RecoveryOptions& recovery, const LogChain& chain) {
  const WorkloadInfo& workload = workload_named(chain.flags.at("workload"));
  const ProtocolInfo* protocol = nullptr;
  for (const RecoveryStart& start : chain.starts) {
    for (const LogFiles& run : start.runs) {
      // Only the replay of commands executes transactions, and so needs a protocol.
      const SchemeInfo& scheme = scheme_named(run.header.scheme);
      if (!scheme.traits.commands) continue;
      protocol = &protocol_named(recovery.protocol);
      refuse_if(check_commands(workload, *protocol, scheme));
      if (recovery.order != ReplayOrder::kMerged) continue;
      platform::refuse("--replay=merge is for values; the log of scheme " + run.header.scheme +
                       " holds commands, which are executed in their order anyway");
    }
  }
  return {.threads = recovery.threads,
          .order = recovery.order,
          .read_bytes_per_second = recovery.read_mb_s * 1e6,
          .memory_bytes = recovery.memory_bytes,
          .protocol = protocol,
          .progress = isatty(STDERR_FILENO) != 0,
          .make_workload = [&workload] { return make_with_history(workload); }};
}

RecoveredSums sums_of(const RecoveredChain& recovered) {
  RecoveredSums sums;
  for (const RecoveredRun& run : recovered.runs) {
    sums.transactions += run.result.transactions;
    sums.records += run.result.records;
    sums.bytes += run.result.bytes;
    sums.beyond_cut += run.result.beyond_cut;
    sums.incomplete += run.result.incomplete;
    sums.seconds += run.result.seconds;
    sums.most_memory = std::max(sums.most_memory, run.result.most_memory);
  }
  return sums;
}

bool print_recovered(const RecoveredChain& recovered, bool accept_damage,
                     const std::string& replay) {
  for (const std::string& note : recovered.notes) std::printf("note: %s\n", note.c_str());
  if (recovered.checkpoint) {
    const LoadResult& loaded = recovered.loaded;
    std::printf("checkpoint             %lu: %lu rows, %lu tombstones, %lu bytes in %.3f s\n",
                recovered.checkpoint->number, loaded.rows, loaded.tombstones, loaded.bytes,
                loaded.seconds);
  }
  for (const RecoveredRun& run : recovered.runs) {
    print_run(run, run.files.header.ordinal > 1 || recovered.runs.size() > 1);
  }
  if (!recovered.error.empty()) {
    std::printf("FAIL recovery: %s\n", recovered.error.c_str());
    return false;
  }
  if (!recovered.damage.empty()) {
    std::printf("%s: the log is damaged: %s%s\n",
                accept_damage ? "WARNING recovery" : "FAIL recovery", recovered.damage.c_str(),
                accept_damage ? "" : " (--accept_damage recovers what does not depend on it)");
    if (!accept_damage) return false;
    if (!recovered.dropped.empty()) {
      const std::string runs = platform::join(
          recovered.dropped, ", ", [](uint32_t ordinal) { return std::to_string(ordinal); });
      std::printf("WARNING recovery: of run %s nothing is used\n", runs.c_str());
    }
  }
  const RecoveredSums sums = sums_of(recovered);
  if (!recovered.runs.empty()) {
    std::printf("cut                    %s\n", recovered.runs.back().result.cut.why.c_str());
  }
  std::printf("recovered              %lu transactions, %lu records, %lu bytes\n",
              sums.transactions, sums.records, sums.bytes);
  std::printf("not used               %lu records beyond the cut, %lu transactions uncommitted\n",
              sums.beyond_cut, sums.incomplete);
  std::printf("replay                 %s\n", replay.c_str());
  std::printf("replay_seconds         %.3f\n", sums.seconds);
  if (sums.seconds > 0) std::printf("replay_gb_s            %.3f\n", sums.gb_per_second());
  if (sums.most_memory != 0) {  // a replay of commands does not count its memory
    std::printf("replay_memory_mb       %.2f\n",
                static_cast<double>(sums.most_memory) / (uint64_t{1} << 20));
  }
  return true;
}

void recover_continued(const Settings& settings, Continued* continued) {
  LJ_ASSERT(continued->recovered.database == nullptr && settings.protocol != nullptr);
  ChainOptions options = chain_options(continued->recovery, continued->chain);
  options.goes_on = true;
  if (options.protocol != nullptr) options.protocol = settings.protocol;
  // Each earlier run is recovered under its own flags. Then FlagSaver restores the new run's flags.
  options.before_run = take_recovery_flags;
  {
    const gflags::FlagSaver own;
    continued->recovered = recover_chain(continued->chain, options);
  }
  if (!print_recovered(continued->recovered, continued->recovery.accept_damage, "")) {
    platform::fatal("the log cannot be continued", platform::kExitViolation);
  }
}

}  // namespace logjam
