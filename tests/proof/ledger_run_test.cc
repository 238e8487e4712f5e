// The ledger under every protocol, with several threads on few keys. The history of a run without a
// crash must be serializable, and every acknowledged transaction must be in the database.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/run/run.h"
#include "platform/spin.h"
#include "proof/ledger/checker.h"
#include "tests/draw.h"
#include "tests/forwarding_scheme.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// Of each worker. Few show a race to ThreadSanitizer, where they are slow.
#if defined(__SANITIZE_THREAD__)
const uint64_t kTransactions = 500;
#else
const uint64_t kTransactions = tries_all() ? 4'000 : 1'500;
#endif

void set_flag(const char* name, const std::string& value) {
  ASSERT_NE(gflags::SetCommandLineOption(name, value.c_str()), "") << name;
}

// A log scheme that yields the core after a transaction has locked its writes and before it
// installs them. Without the yield this window is too short for two cores to meet in it by chance.
class Dawdler final : public ForwardingScheme {
 public:
  using ForwardingScheme::ForwardingScheme;

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    if (calls_.fetch_add(1) % 5 == 0) platform::yield();
    const LogReservation reservation = ForwardingScheme::reserve(worker, deps, bytes);
    if (calls_.fetch_add(1) % 5 == 0) platform::yield();
    return reservation;
  }

 private:
  platform::atomic<uint64_t> calls_{0};
};

class LedgerRun : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    set_flag("history", path_);
    set_flag("history_mb", "16");
    set_flag("commit", "pipelined");
    set_flag("test", "ledger_yield:7");
  }

  // Runs the ledger, and expects its own check and the check of its history to pass.
  void run_and_verify(bool early_lock_release, uint64_t transactions) {
    const WorkloadInfo* info = find_workload("ledger");
    ASSERT_EQ(info->check_flags(), "");
    RunOptions options;
    options.threads = 4;
    options.pin = false;
    options.pipeline_depth = 8;
    options.early_lock_release = early_lock_release;
    options.transactions = transactions;
    options.seconds = 3600;  // not reached: the run ends after `transactions`
    Database database;
    const auto workload = info->make();
    load(*workload, database, options.threads);
    Dawdler scheme(options.threads);
    workload->start_history(options.threads, {});
    workload->keep_history();
    run(*workload, database, *find_protocol(GetParam()), scheme, options);
    const auto checks = workload->verify(database);
    ASSERT_EQ(checks.size(), 2u);
    for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.detail;
    const auto proof = check_history(database, path_);
    EXPECT_TRUE(proof.passed) << proof.violation;
    EXPECT_GE(proof.acknowledged, transactions);
  }

  gflags::FlagSaver saver_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
};

TEST_P(LedgerRun, IsSerializableOnFewKeys) {
  set_flag("ledger", "keys:16");
  run_and_verify(true, kTransactions);
}

TEST_P(LedgerRun, IsSerializableWithLocksKeptUntilDurable) {
  set_flag("ledger", "keys:16");
  run_and_verify(false, kTransactions);
}

// A checker proves nothing about cases that do not occur.
TEST_P(LedgerRun, RowsComeBackOverAnEraseOften) {
  set_flag("ledger", "slots:4");
  run_and_verify(true, kTransactions / 2);
  uint64_t over_an_erase = 0, write_only = 0;
  const ledger::History history = ledger::open_history(path_);
  for (const auto& transaction : history.transactions) {
    bool only_blind = transaction.reads.empty() && !transaction.writes.empty();
    for (const ledger::Access& write : transaction.writes) {
      const bool insert = write.op == ledger::Op::kInsert;
      over_an_erase += insert && write.writer != 0;
      only_blind = only_blind && (insert || write.op == ledger::Op::kBlind);
    }
    write_only += only_blind;
  }
  EXPECT_GT(over_an_erase, history.transactions.size() / 50);
  EXPECT_GT(write_only, history.transactions.size() / 20);
}

TEST_P(LedgerRun, IsSerializableWithManyReadsAndWrites) {
  set_flag("ledger", "keys:500,reads:8,writes:20,theta:0.9");
  run_and_verify(true, kTransactions / 2);
}

std::vector<std::string_view> protocol_names() {
  std::vector<std::string_view> names;
  for (const ProtocolInfo& protocol : all_protocols()) names.push_back(protocol.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Protocols, LedgerRun, testing::ValuesIn(protocol_names()),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Ledger, RefusesBadFlagsInOneSentence) {
  const gflags::FlagSaver saver;
  const WorkloadInfo* info = find_workload("ledger");
  EXPECT_EQ(info->check_flags(), "");
  const auto refusal = [&](const char* list) {
    set_flag("ledger", list);
    return info->check_flags();
  };
  EXPECT_EQ(refusal("keys:4"), "");
  EXPECT_EQ(refusal("keys:3"),
            "--ledger needs at least as many keys as a transfer reads and writes: 4");
  EXPECT_EQ(refusal("writes:0"), "--ledger=writes:0: writes needs a whole number from 1 to 64");
  EXPECT_EQ(refusal("theta:9"), "--ledger=theta:9: theta needs a number from 0 to 2");
  EXPECT_EQ(refusal("slots:65"), "--ledger needs a cell for each of its slots");
  EXPECT_EQ(refusal("cells:0"), "--ledger=cells:0: cells needs a whole number from 1 to 1000000");
  set_flag("ledger", "");
  set_flag("test", "ledger_die_early:1");
  EXPECT_EQ(info->check_flags(),
            "--test=ledger_die_early needs a --history, which numbers the transactions");
}

}  // namespace
}  // namespace logjam
