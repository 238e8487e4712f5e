#include "cli/round_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <set>

#include "cli/flags.h"
#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/device/device.h"
#include "logging/scheme_registry.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"

namespace logjam {
namespace {

bool can_be_explored(const SchemeInfo& scheme) { return scheme.stream_count(1, LogConfig{}) != 0; }

std::string draw_scheme(Draws& draws, const std::string& wanted, const std::string& cc) {
  const ProtocolInfo* protocol = find_protocol(cc);
  const bool commands = protocol == nullptr || protocol->serial_in_commit_order;
  std::vector<std::string> names;
  for (const SchemeInfo& scheme : all_schemes()) {
    // Leaves out logs in non-volatile memory: they need one directory, and a round may have two.
    // A log of commands needs a protocol whose commits are in a serial order.
    if (!can_be_explored(scheme) || scheme.traits.in_place) continue;
    if (commands || !scheme.traits.commands) names.emplace_back(scheme.name);
  }
  std::string drawn = names[draws.below(names.size())];
  if (wanted == "every") return drawn;
  const SchemeInfo* scheme = find_scheme(wanted);
  if (scheme == nullptr) {
    platform::refuse("--log=" + wanted + " is not a scheme" +
                     platform::instead_of(wanted, {names.begin(), names.end()}));
  }
  if (!can_be_explored(*scheme)) {
    platform::refuse("--log=" + wanted + " cannot be explored: it keeps no log");
  }
  return wanted;
}

std::string draw_protocol(Draws& draws, const std::string& wanted, bool commands) {
  const auto& all = all_protocols();
  const ProtocolInfo& drawn = all[draws.below(all.size())];
  if (wanted == "every")
    return commands && !drawn.serial_in_commit_order ? "occ" : std::string(drawn.name);
  if (find_protocol(wanted) == nullptr) {
    std::vector<std::string_view> names;
    for (const ProtocolInfo& protocol : all) names.push_back(protocol.name);
    platform::refuse("--cc=" + wanted + " is not a protocol" + platform::instead_of(wanted, names));
  }
  return wanted;
}

std::string draw_flush(Draws& draws) {
  switch (draws.below(4)) {
    case 0:
      return "txns:" + draws.number_of({2, 8}) + ",us:50";
    case 1:
      return "bytes:" + draws.number_of({512, 4096}) + ",us:200";
    case 2:
      return "us:" + draws.number_of({1, 20, 300});
    default:
      return "";  // the default: flush whenever the device is idle
  }
}

std::string draw_ledger(Draws& draws) {
  const std::string slots = draws.number_of({1, 4});
  return "keys:" + draws.number_of({8, 12, 40, 150}) + ",cells:" + draws.number_of({4, 8}) +
         ",slots:" + slots + ",reads:" + draws.number_of({0, 2, 4}) +
         ",writes:" + draws.number_of({1, 2, 4}) + ",theta:" + draws.one_of({"0", "0.9"});
}

// Returns the names of the given flags. Make the first call before a round sets flags.
const std::set<std::string>& given_flags() {
  static const std::set<std::string> given = [] {
    std::set<std::string> names;
    for (const auto& flag : own_flags()) {
      if (!flag.is_default) names.insert(flag.name);
    }
    return names;
  }();
  return given;
}

// A small scale of a workload, so that its load is short, and its transactions often conflict.
struct Scale {
  std::string_view workload;
  RoundFlags flags;
};

const std::vector<Scale>& scales() {
  static const std::vector<Scale> all = {
      {"smallbank", {{"smallbank_accounts", "3"}}},
      {"tatp", {{"tatp_subscribers", "3"}}},
      {"tpcb", {{"tpcb_branches", "1"}, {"tpcb_accounts", "5"}}},
      {"ycsb",
       {{"ycsb_records", "12"},
        {"ycsb_value_bytes", "40"},
        {"ycsb_ops", "3"},
        {"ycsb_index", "ordered"},
        {"ycsb_scan_length", "5"},
        {"ycsb_ratios", "read:0.2,scan:0.3"}}},
      {"ycsb",
       {{"ycsb_records", "6"},
        {"ycsb_value_bytes", "40"},
        {"ycsb_workload", "rows-16"},
        {"ycsb_ops", "4"}}},
      {"oltp", {{"oltp_rows", "12"}, {"oltp_range_size", "4"}, {"oltp_distribution", "uniform"}}},
      {"micro-update",
       {{"micro_update_rows", "12"},
        {"micro_update_row_bytes", "40"},
        {"micro_update_kind", "update-5-read-5"}}},
  };
  return all;
}

// Draws the workload of a round. If --workload was given, returns a scale of the workload `given`.
// Otherwise returns the ledger with probability 5/6, and else one of scales().
Scale draw_workload(Draws& draws, const std::string& given) {
  const bool other = draws.below(6) == 0;
  const uint64_t drawn = draws.below(scales().size());
  const Scale ledger = {"ledger", {}};
  if (!given_flags().contains("workload")) {
    return other && !given_flags().contains("ledger") ? scales()[drawn] : ledger;
  }
  std::vector<Scale> wanted;
  for (const Scale& scale : scales()) {
    if (scale.workload == given) wanted.push_back(scale);
  }
  return wanted.empty() ? Scale{given, {}} : wanted[drawn % wanted.size()];
}

}  // namespace

RoundFlags flags_of_round(uint64_t seed, const WantedRound& wanted) {
  Draws draws(seed);
  RoundFlags flags;
  const auto give = [&flags](const std::string& name, const std::string& value) {
    if (!given_flags().contains(name)) flags.emplace_back(name, value);
  };
  const std::string log = draw_scheme(draws, wanted.scheme, wanted.protocol);
  const bool commands = find_scheme(log)->traits.commands,
             in_memory = find_scheme(log)->traits.in_place;
  flags.emplace_back("log", log);
  const std::string protocol = draw_protocol(draws, wanted.protocol, commands);
  flags.emplace_back("cc", protocol);
  const std::string commit = draws.one_of({"sync", "pipelined", "pipelined", "async"});
  give("commit", commit);
  const std::string records = draws.one_of({"txn", "op", "txn,range", "op,range"});
  if (commands) {
    flags.emplace_back("log_records", "txn");  // the only value that a log of commands has
  } else {
    give("log_records", records);
  }
  give("threads", draws.number_of({2, 2, 3, 4}));
  const std::string transactions = draws.number_of({2, 5, 10, 30});
  give("pipeline_depth", draws.number_of({1, 4, 16}));
  give("locks", draws.one_of({"early", "early", "write", "all"}));
  give("sockets", "2");
  give("flush", draw_flush(draws));
  give("flush_help", draws.one_of({"true", "false"}));
  give("silo_epoch_ms", "1");
  give("pwal_ngroup", draws.number_of({0, 2}));
  const std::string ledger = draw_ledger(draws);
  const char* directories = draws.one_of({"a", "a,b"});
  give("wal_dir", in_memory ? "a" : directories);
  const char* checkpoint = draws.one_of({"", "", "s:0.00003", "s:0.0002"});
  flags.emplace_back("seed", std::to_string(seed));
  give("device", in_memory ? "nvm:0" : "sync");
  if (!in_memory) give("sync", std::string(kSyncMethods[seed % 3]));  // each method that is safe
  give("seconds", "20");
  give("warmup", "0");
  give("log_buffer_mb", "1");
  give("log_prealloc_mb", draws.number_of({0, 1}));
  give("history_mb", "1");
  // Chooses small rings and segments: a few transactions fill them, and a recovery reads them fast.
  std::string test = "log_segment_kb:16" + std::string(draws.one_of({"", ",log_buffer_kb:4"}));
  give("verify", "false");
  const Scale workload = draw_workload(draws, wanted.workload);
  give("workload", std::string(workload.workload));
  if (workload.workload == "ledger") give("ledger", ledger);
  for (const auto& [name, value] : workload.flags) give(name, value);
  // A transaction of another workload takes more steps than a transaction of the ledger.
  const std::string fewer = draws.number_of({2, 4, 8});
  give("transactions", workload.workload == "ledger" ? transactions : fewer);
  // In half of the rounds, makes P-WAL flush a full group only after it releases the locks, and
  // gives other schemes small limits. A round has so few workers and transactions that they reach
  // only small limits: a window that is full, locks that two workers want, bytes to steal.
  if (draws.below(2) == 0) {
    if (log == "pwal") test += ",pwal_unlocked_flush:1";
    if (log == "innodb") test += ",innodb_window:128";
    if (log == "postgres") test += ",postgres_insert_locks:2";
    if (log == "autonomous") test += ",autonomous_steal_bytes:256";
  }
  // Adds a read-only worker, which scans ranges while other workers insert and erase.
  if (draws.below(6) == 0 && workload.workload == "ledger") test += ",ledger_readers:1";
  give("test", test);
  // Of the rounds with checkpoints, one in four takes checkpoints without a break. In the other
  // rounds the checkpoint daemon sleeps for most of the time.
  const bool busy = draws.below(4) == 0 && *checkpoint != 0;
  if (commands) {
    flags.emplace_back("checkpoint", "");  // no run takes checkpoints while it logs commands
  } else {
    give("checkpoint", busy ? "s:0.00000001" : checkpoint);
  }
  give("log_parts", draws.one_of({"", "none", "all"}));
  const std::string snapshot = draws.one_of({"acknowledged", "durable", "committed"});
  const bool waits = (given_flags().contains("commit") ? FLAGS_commit : commit) != "async";
  if (find_protocol(protocol)->keeps_old_versions) {
    give("snapshot", waits || snapshot != "durable" ? snapshot : "acknowledged");
  }
  return flags;
}

bool stays_in_later_lives(const std::string& flag) {
  if (flag == "wal_dir" || flag == "workload") return true;
  return std::ranges::any_of(all_workloads(), [&flag](const WorkloadInfo& workload) {
    std::string prefix(workload.name);
    std::ranges::replace(prefix, '-', '_');
    return flag.starts_with(prefix);
  });
}

}  // namespace logjam
