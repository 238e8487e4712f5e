// The replay of a log of commands, in the log's order, makes the database of the run. It reports
// commands whose effect differs from their effect in the run.
#include "engine/recovery/commands/replay_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "engine/recovery/recover_chain.h"
#include "proof/ledger/checker.h"
#include "tests/engine/command_log.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

class ReplayCommands : public WorkloadTest {};

// Each scale of a workload runs under one protocol. Where a workload has fewer scales than there
// are protocols, scales are repeated so that every protocol runs.
TEST_F(ReplayCommands, RebuildsTheDatabaseOfTheRun) {
  for (const WorkloadInfo& info : all_workloads()) {
    if (!info.has_commands) continue;
    const std::vector<Flags> scales = small_scales(info.name);
    const auto& protocols = all_protocols();
    for (size_t i = 0; i < std::max(scales.size(), protocols.size()); ++i) {
      const Flags& flags = scales[i % scales.size()];
      const ProtocolInfo& protocol = protocols[i % protocols.size()];
      const gflags::FlagSaver saver;
      set(flags);
      SCOPED_TRACE(std::string(info.name) + " " + std::string(protocol.name) +
                   (flags.empty() ? "" : " --" + flags.back().first + "=" + flags.back().second));
      const LogDirectory directory;
      const Left left = run_and_log(*make_workload(info.name), protocol, directory, 3, 150);
      const ProtocolInfo* const optimistic = find_protocol("occ");
      for (const auto& [replayer, threads] : {std::pair(&protocol, 1), {optimistic, 3}}) {
        SCOPED_TRACE(std::to_string(threads) + " threads");
        const auto workload = make_workload(info.name);
        const auto database = load(*workload, 2);
        const RecoveryResult result = replay(*workload, *database, left.files, *replayer, threads);
        EXPECT_EQ(result.error, "");
        EXPECT_EQ(result.tails[0].why, "end of log");
        EXPECT_LE(result.transactions, result.records);
        EXPECT_GT(result.transactions, 0u);
        EXPECT_EQ(state_of(*database), left.state);
        expect_consistent(*workload, *database);
      }
    }
  }
}

TEST_F(ReplayCommands, AWorkloadWithoutCommandsIsRefused) {
  WorkloadInfo info{
      .name = "new", .what = "", .memory = "", .load_flags = {}, .check_flags = {}, .make = {}};
  for (const SchemeInfo& scheme : all_schemes()) {
    EXPECT_EQ(
        check_commands(info, scheme),
        scheme.name == "command" ? "--log=command logs commands, and --workload=new has none" : "");
  }
  info.has_commands = true;
  EXPECT_EQ(check_commands(info, *find_scheme("command")), "");
}

// Commands may be replayed under another protocol than the run's, with the same result.
TEST_F(ReplayCommands, RebuildsTheDatabaseUnderAnyProtocol) {
  set(small_scale("tpcb"));
  const LogDirectory directory;
  const Left left = run_and_log(*make_workload("tpcb"), *find_protocol("occ"), directory, 2, 200);
  for (const ProtocolInfo& protocol : all_protocols()) {
    const auto workload = make_workload("tpcb");
    const auto database = load(*workload, 1);
    EXPECT_EQ(replay(*workload, *database, left.files, protocol, 2).error, "");
    EXPECT_EQ(state_of(*database), left.state);
  }
}

// Nearly every command overwrites a row that the previous command has read.
TEST_F(ReplayCommands, ThreadsThatKeepConflictingRebuildTheDatabase) {
  const std::vector<std::pair<std::string, Flags>> few_rows = {
      {"ledger", {{"ledger", "keys:4,cells:8,slots:4"}}},
      {"tpcb", {{"tpcb_branches", "1"}, {"tpcb_accounts", "5"}}},
      {"tpcc", {{"tpcc_warehouses", "1"}, {"tpcc_items", "20"}, {"tpcc_customers", "10"}}},
      {"ycsb", {{"ycsb_records", "8"}, {"ycsb_value_bytes", "100"}, {"ycsb_workload", "D"}}},
  };
  for (const auto& [name, flags] : few_rows) {
    SCOPED_TRACE(name);
    const gflags::FlagSaver saver;
    set(flags);
    const LogDirectory directory;
    const ProtocolInfo& occ = *find_protocol("occ");
    const Left left = run_and_log(*make_workload(name), occ, directory, 3, 500);
    for (const uint32_t threads : {1, 2, 4}) {
      const auto workload = make_workload(name);
      const auto database = load(*workload, 1);
      EXPECT_EQ(replay(*workload, *database, left.files, occ, threads).error, "");
      EXPECT_EQ(state_of(*database), left.state) << threads << " threads";
    }
  }
}

// Delivery looks for the oldest row of NEW-ORDER. If erased rows stayed in the index, it would walk
// through all of them.
TEST_F(ReplayCommands, ErasedRowsLeaveTheIndex) {
  set(small_scale("tpcc"));
  set({{"tpcc_mix", "50,0,0,50,0"}, {"tpcc_warehouses", "1"}});
  const LogDirectory directory;
  const ProtocolInfo& occ = *find_protocol("occ");
  const Left left = run_and_log(*make_workload("tpcc"), occ, directory, 1, 400);
  for (const uint32_t threads : {1, 2}) {
    const auto workload = make_workload("tpcc");
    const auto database = load(*workload, 1);
    Table& orders = database->table("new_order");
    const uint64_t before = orders.count_rows();
    EXPECT_EQ(replay(*workload, *database, left.files, occ, threads).error, "");
    uint64_t absent = 0;
    orders.primary().for_each(
        [&](Keyed* entry) { absent += Table::tuple_of(entry)->load_version().absent(); });
    EXPECT_LT(orders.count_rows(), before + 200);
    EXPECT_LT(absent, 100u) << "of some 200 erased rows and more";
    // The numbers of the next run begin again, and an insert must exceed those of removed rows.
    EXPECT_GT(orders.removed_up_to(), 0u);
    reset_versions(*database, threads);
    EXPECT_EQ(orders.removed_up_to(), 0u);
  }
}

TEST_F(ReplayCommands, OnlyOptimisticProtocolsUseSeveralThreads) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    EXPECT_EQ(replaying_threads(protocol, 5), protocol.name == "occ" ? 5u : 1u) << protocol.name;
  }
}

// A log of commands, written by a run with one worker. A test reads the commands, changes them, and
// writes the log again.
class ChangedLog : public ReplayCommands {
 protected:
  struct Command {
    RecordKind kind;
    uint64_t sequence;
    uint16_t type, rows;
    std::vector<std::byte> input;
  };

  void run_one(std::string_view workload, uint64_t transactions) {
    name_ = workload;
    files_ = run_and_log(*make_workload(name_), *find_protocol("occ"), directory_, 1, transactions)
                 .files;
    LogReader reader(files_.paths[0]);
    RecordBatch batch;
    while (reader.next(&batch)) {
      for (const RecordHeader* record : batch.records) {
        LoggedCommand command;
        ASSERT_TRUE(read_command(*record, &command));
        commands_.push_back({record->kind,
                             record->sequence,
                             command.type,
                             command.rows,
                             {command.input.begin(), command.input.end()}});
      }
    }
  }

  RecoveryResult replay_again(Database& database, Workload& workload, uint32_t threads = 1) {
    std::ofstream out(files_.paths[0][0], std::ios::binary | std::ios::trunc);
    const auto block = files_.header.encode();
    out.write(reinterpret_cast<const char*>(block.data()), static_cast<long>(block.size()));
    uint64_t position = 0;
    for (const Command& command : commands_) {
      StagedRecord record;
      record.add(LoggedCommand{command.type, command.rows, command.input});
      std::vector<std::byte> hole(record.bytes());
      record.fill({.sequence = command.sequence,
                   .position = position,
                   .hole = hole.data(),
                   .bytes = static_cast<uint32_t>(hole.size())},
                  command.kind, 1, 0, files_.header.run);
      out.write(reinterpret_cast<const char*>(hole.data()), static_cast<long>(hole.size()));
      position += hole.size();
    }
    out.close();
    return replay(workload, database, files_, *find_protocol("occ"), threads);
  }

  // Returns the error of a replay. It must be the same for any number of threads.
  std::string error() {
    std::string first;
    for (const uint32_t threads : {1, 3}) {
      const auto workload = make_workload(name_);
      const auto database = load(*workload, 1);
      const std::string found = replay_again(*database, *workload, threads).error;
      if (threads == 1) first = found;
      EXPECT_EQ(found, first);
    }
    return first;
  }

  std::string number(size_t i) const {
    return "the command of sequence number " + std::to_string(commands_[i].sequence) + " ";
  }

  std::string name_;
  LogDirectory directory_;
  LogFiles files_;
  std::vector<Command> commands_;
};

TEST_F(ChangedLog, ACommandWithAnotherEffectIsAnError) {
  set(small_scale("tpcb"));
  run_one("tpcb", 20);
  ASSERT_EQ(commands_.size(), 20u);
  EXPECT_EQ(error(), "");
  const auto good = commands_;

  std::swap(commands_[4], commands_[5]);
  EXPECT_EQ(error(), number(5) + "comes after a command of sequence number " +
                         std::to_string(commands_[4].sequence));
  commands_ = good;
  commands_[7].rows = 3;
  EXPECT_EQ(error(), number(7) + "changed 4 rows now, and 3 in the run");
  commands_ = good;
  commands_[7].type = 9;
  EXPECT_EQ(error(), number(7) + "is of type 9 with 24 bytes, which the workload does not know");
  commands_ = good;
  commands_[7].input.resize(8);
  EXPECT_EQ(error(), number(7) + "is of type " + std::to_string(good[7].type) +
                         " with 8 bytes, which the workload does not know");
  commands_ = good;
  commands_[7].kind = RecordKind::kTransaction;
  EXPECT_EQ(error(), number(7) + "contradicts itself, or is none");
  commands_ = good;
  commands_[7].kind = RecordKind::kVoid;  // a void record is skipped, not missed
  EXPECT_EQ(error(), "");
}

TEST_F(ChangedLog, ALogThatCannotBeOpenedIsAnError) {
  set(small_scale("tpcb"));
  run_one("tpcb", 5);
  const auto workload = make_workload(name_);
  const auto database = load(*workload, 1);
  files_.paths[0][0] += ".gone";
  const RecoveryResult result = replay(*workload, *database, files_, *find_protocol("occ"));
  EXPECT_EQ(result.error,
            "cannot open the log file " + files_.paths[0][0] + ": No such file or directory");
}

// Two commands have changed places: all rows are whole and present, but the database contradicts
// the history.
TEST_F(ChangedLog, CommandsOutOfOrderContradictTheHistory) {
  const TemporaryDirectory directory;
  const std::string history = directory.path_of("history");
  set({{"ledger", "keys:16"}, {"history", history}, {"history_mb", "4"}, {"commit", "pipelined"}});
  run_one("ledger", 60);
  set({{"history", ""}, {"test", "ledger_die_after:3"}});  // which recovery must survive
  const auto proof_of = [&] {
    const auto workload = make_workload("ledger");
    const auto database = load(*workload, 1);
    EXPECT_EQ(replay_again(*database, *workload).error, "");
    return check_history(*database, history).violation;
  };
  EXPECT_EQ(proof_of(), "");
  size_t noticed = 0, swapped = 0;
  const auto good = commands_;
  for (size_t i = 0; i + 1 < good.size() && swapped < 20; ++i, ++swapped) {
    commands_ = good;
    std::swap(commands_[i], commands_[i + 1]);
    std::swap(commands_[i].sequence, commands_[i + 1].sequence);
    noticed += !proof_of().empty();
  }
  EXPECT_GT(noticed, 0u) << "of " << swapped;
}

}  // namespace
}  // namespace logjam
