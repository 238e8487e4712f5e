// Threads that replay commands, in an interleaving that the test prescribes.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/recovery/commands/replay_commands.h"
#include "platform/spin.h"
#include "tests/engine/command_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

// The commands of a script, and a record of its replay. The replay executes the first command only
// after the second one.
struct Script {
  enum Type : uint32_t {
    kAdd,     // adds 1 to row 0
    kCopy,    // copies row 0 to row 1
    kInsert,  // inserts row 9
    kUpdate,  // adds 1 to row 9, which must be there
  };
  std::vector<Type> commands;
  bool replayed = false;
  std::atomic<uint32_t> executed[2] = {};  // executions of each of the first two commands
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
  // Runs the script, and then calls before(database) and replays it on two threads.
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

// A workload would end the process if a row is missing that it knows to be inserted.
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
