// Tests the replay of a log of commands. Replay rebuilds the run's database in the log's order. It
// also reports each command that has another effect than in the run.
#include "engine/recovery/commands/replay_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "engine/recovery/recover_chain.h"
#include "engine/run/run.h"
#include "platform/spin.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"
#include "workloads/random.h"

namespace logjam {
namespace {

const SchemeInfo& commands() { return *find_scheme("command"); }

// Returns a fingerprint of all rows and of their sequence numbers.
uint64_t state_of(Database& database) {
  uint64_t sum = fingerprint(database);
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte*) {
      Keyed* entry = table->primary().find(key, nullptr);
      sum += mix64(Table::tuple_of(entry)->load_version().word() ^ mix64(key + table->id()));
    });
  }
  return sum;
}

// The result of a run: a fingerprint of its database, and its log.
struct Left {
  uint64_t state = 0;
  uint64_t transactions = 0;
  LogFiles files;
};

Left run_and_log(Workload& workload, const ProtocolInfo& protocol, const LogDirectory& directory,
                 uint32_t threads, uint64_t transactions) {
  LogOptions log_options = logjam::log_options(commands(), directory, "sync", threads);
  log_options.header.flags["workload"] = "any";
  Log log(log_options);
  RunOptions options;
  options.threads = threads;
  options.pin = false;
  options.pipeline_depth = 1024;
  options.transactions = transactions;
  options.seconds = 3600;  // not reached: the run ends after `transactions`
  const auto database = load(workload, 1);
  log.start();
  workload.start_history(options.threads, {});
  workload.keep_history();
  const RunResult result = run(workload, *database, protocol, log.scheme(), options);
  log.drain();
  log.stop();
  return {state_of(*database), result.transactions, find_log_files({directory.path()})};
}

RecoveryResult replay(Workload& workload, Database& database, const LogFiles& files,
                      const ProtocolInfo& protocol, uint32_t threads = 1) {
  EXPECT_EQ(files.error, "");
  return replay_commands(workload, database, files, commands().recovery, protocol, threads);
}

class ReplayCommands : public WorkloadTest {};

// Each scale of a workload runs under one protocol. Scales repeat until every protocol has run.
TEST_F(ReplayCommands, RebuildsTheDatabaseOfTheRun) {
  for (const WorkloadInfo& info : all_workloads()) {
    if (!info.has_commands) continue;
    const std::vector<Flags> scales = small_scales(info.name);
    auto protocols = all_protocols();
    std::erase_if(protocols, [](const ProtocolInfo& one) { return !one.serial_in_commit_order; });
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
  EXPECT_EQ(check_commands(info, *find_protocol("occ"), commands()),
            "--log=command logs commands, and --workload=new has none");
  EXPECT_EQ(check_commands(info, *find_protocol("si"), *find_scheme("centr")), "");
  info.has_commands = true;
  EXPECT_EQ(check_commands(info, *find_protocol("occ"), commands()), "");
  EXPECT_EQ(check_commands(info, *find_protocol("si"), commands()),
            "--log=command logs commands, and --cc=si promises no serial order in which they could "
            "be executed again");
}

TEST_F(ReplayCommands, OnlyOptimisticProtocolsUseSeveralThreads) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    EXPECT_EQ(replaying_threads(protocol, 5), protocol.name == "occ" ? 5u : 1u) << protocol.name;
  }
}

// Nearly every command overwrites a row that the command before it has read.
TEST_F(ReplayCommands, ThreadsThatKeepConflictingRebuildTheDatabase) {
  const std::vector<std::pair<std::string, Flags>> few_rows = {
      {"ledger", {{"ledger", "keys:4,cells:8,slots:4"}}},
      {"smallbank", {{"smallbank_accounts", "3"}}},
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

// The transaction Delivery looks for the oldest row of NEW-ORDER. If erased rows stayed in the
// index, Delivery would have to skip all of them.
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
    // An insert's number must exceed the numbers of removed rows until the next run begins.
    EXPECT_GT(orders.removed_up_to(), 0u);
    reset_versions(*database, threads);
    EXPECT_EQ(orders.removed_up_to(), 0u);
  }
}

// A log of commands from a run with one worker. A test changes these commands and writes a new log.
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

  // Returns the error of a replay, which must be the same for any number of threads.
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
  const auto number = [&](size_t i) {
    return "the command of sequence number " + std::to_string(good[i].sequence) + " ";
  };
  std::swap(commands_[4], commands_[5]);
  EXPECT_EQ(error(), number(4) + "comes after a command of sequence number " +
                         std::to_string(good[5].sequence));
  const auto expect = [&](const std::function<void(Command&)>& change, const std::string& wrong) {
    commands_ = good;
    change(commands_[7]);
    EXPECT_EQ(error(), wrong.empty() ? "" : number(7) + wrong);
  };
  expect([](Command& c) { c.rows = 3; }, "changed 4 rows now, and 3 in the run");
  expect([](Command& c) { c.type = 9; },
         "is of type 9 with 24 bytes, which the workload does not know");
  expect([](Command& c) { c.input.resize(8); },
         "is of type " + std::to_string(good[7].type) +
             " with 8 bytes, which the workload does not know");
  expect([](Command& c) { c.kind = RecordKind::kTransaction; }, "contradicts itself, or is none");
  expect([](Command& c) { c.kind = RecordKind::kVoid; }, "");  // skipped, and not missed

  const auto workload = make_workload(name_);
  const auto database = load(*workload, 1);
  files_.paths[0][0] += ".gone";
  const RecoveryResult result = replay(*workload, *database, files_, *find_protocol("occ"));
  EXPECT_EQ(result.error,
            "cannot open the log file " + files_.paths[0][0] + ": No such file or directory");
}

// --- threads, in an order that the test prescribes ---

// Commands, and counts of their replay. In the replay, the first command waits for the second one.
struct Script {
  enum Type : uint32_t {
    kAdd,     // adds 1 to row 0
    kCopy,    // copies row 0 to row 1
    kInsert,  // inserts row 9
    kUpdate,  // adds 1 to row 9, which must be there
  };
  std::vector<Type> commands;
  bool replayed = false;
  std::atomic<uint32_t> executed[2] = {};  // replays of the first command, and of the second
  std::atomic<bool> missed = false;        // kUpdate found no row
};

class ScriptClient final : public Client {
 public:
  ScriptClient(Script& script, Database& database)
      : script_(script), table_(database.table("rows")) {}

  uint32_t next() override {
    at_ = next_++;
    return script_.commands[at_];
  }
  Status execute(Transaction& txn) override {
    if (script_.replayed && at_ == 0) {
      for (platform::SpinWait wait; script_.executed[1] == 0;) wait.once();
    }
    const Status status = execute(txn, script_.commands[at_]);
    if (script_.replayed && at_ < 2) ++script_.executed[at_];
    return status;
  }
  std::span<const std::byte> command() override { return std::as_bytes(std::span(&at_, 1)); }
  bool take(uint32_t, std::span<const std::byte> input) override {
    std::memcpy(&at_, input.data(), sizeof at_);
    return true;
  }

 private:
  Status execute(Transaction& txn, Script::Type type) {
    const uint64_t* read = nullptr;
    uint64_t* row = nullptr;
    Status status = Status::kOk;
    switch (type) {
      case Script::kAdd:
      case Script::kUpdate:
        status = txn.update(table_, type == Script::kAdd ? 0 : 9, &row);
        if (status == Status::kOk) ++*row;
        break;
      case Script::kCopy: {
        status = txn.read(table_, 0, &read);
        if (status != Status::kOk) break;
        const uint64_t value = *read;
        status = txn.update(table_, 1, &row);
        if (status == Status::kOk) *row = value;
        break;
      }
      case Script::kInsert:
        status = txn.insert(table_, 9, uint64_t{100});
    }
    if (status == Status::kNotFound) script_.missed = true;
    return status;
  }

  Script& script_;
  Table& table_;
  uint64_t at_ = 0, next_ = 0;
};

class ScriptWorkload final : public Workload {
 public:
  explicit ScriptWorkload(Script& script) : script_(script) {}
  void create_tables(Database& database) override {
    database.create_table({"rows", sizeof(uint64_t), IndexKind::kOrdered, 16});
  }
  void load(Database& database, uint32_t, uint32_t, Arena& arena) override {
    for (Key key = 0; key < 2; ++key) database.table("rows").load(key, &key, arena);
  }
  Specification spec() const override {
    return {.description = "a script", .types = {{"add"}, {"copy"}, {"insert"}, {"update"}}};
  }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<ScriptClient>(script_, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }

 private:
  Script& script_;
};

class ReplayOrder : public testing::Test {
 protected:
  // Runs the script. Then calls before(database), and replays the script's log on two threads.
  RecoveryResult play(const std::function<void(Database&)>& before = [](Database&) {}) {
    const ProtocolInfo& occ = *find_protocol("occ");
    ScriptWorkload workload(script_);
    const LogDirectory directory;
    const Left left = run_and_log(workload, occ, directory, 1, script_.commands.size());
    script_.replayed = true;
    ScriptWorkload again(script_);
    const auto database = load(again, 1);
    before(*database);
    const RecoveryResult result = replay(again, *database, left.files, occ, 2);
    same_ = state_of(*database) == left.state;
    return result;
  }

  const Watchdog watchdog_{"a replay of two commands has not ended"};
  Script script_;
  bool same_ = false;
};

TEST_F(ReplayOrder, WhatHasReadAnOverwrittenRowIsExecutedAgain) {
  script_.commands = {Script::kAdd, Script::kCopy};
  EXPECT_EQ(play().error, "");
  EXPECT_TRUE(same_);
  EXPECT_EQ(script_.executed[0], 1u);
  EXPECT_EQ(script_.executed[1], 2u);
}

TEST_F(ReplayOrder, WhatHasReadTheFinalStateIsExecutedOnce) {
  script_.commands = {Script::kCopy, Script::kInsert};
  EXPECT_EQ(play().error, "");
  EXPECT_TRUE(same_);
  EXPECT_EQ(script_.executed[0], 1u);
  EXPECT_EQ(script_.executed[1], 1u);
}

// A workload ends the process if it misses a row that must exist. So the client must not see that
// kInsert has not been replayed yet.
TEST_F(ReplayOrder, AClientDoesNotSeeThatARowIsNotInsertedYet) {
  script_.commands = {Script::kInsert, Script::kUpdate};
  EXPECT_EQ(play().error, "");
  EXPECT_TRUE(same_);
  EXPECT_FALSE(script_.missed);
  EXPECT_EQ(script_.executed[1], 2u);
}

TEST_F(ReplayOrder, ACommandThatIsAbortedThoughItRunsAloneIsAnError) {
  script_.commands = {Script::kAdd, Script::kCopy, Script::kCopy};
  const RecoveryResult result = play([](Database& database) {
    Table& rows = database.table("rows");
    Table::tuple_of(rows.primary().find(1, nullptr))->version |= Version::kLocked;
  });
  EXPECT_NE(result.error.find(" was aborted (lock_busy) though it runs alone"), std::string::npos)
      << result.error;
  EXPECT_EQ(result.transactions, 1u);
}

}  // namespace
}  // namespace logjam
