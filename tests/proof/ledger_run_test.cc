// The ledger under every protocol, with several threads on few keys. The history of a run without a
// crash must be serializable, and every acknowledged transaction must be in the database.
#include <gtest/gtest.h>

#include <string>

#include "engine/run/run.h"
#include "platform/spin.h"
#include "proof/ledger/checker.h"
#include "tests/draw.h"
#include "tests/forwarding_scheme.h"
#include "tests/scoped_flags.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/harness.h"

namespace logjam {
namespace {

// The transactions of each worker. ThreadSanitizer is slow, but finds races in few transactions.
#if defined(__SANITIZE_THREAD__)
const uint64_t kTransactions = 500;
#else
const uint64_t kTransactions = tries_all() ? 4'000 : 1'500;
#endif

// A log scheme that yields the core after a transaction has locked the rows that it writes, and
// before it installs its writes. Without the yield, other transactions rarely run in this period.
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
    flags_.set("history", path_);
    flags_.set("history_mb", 16);
    flags_.set("commit", "pipelined");
    flags_.set("test", "ledger_yield:7");
  }

  void run_and_verify(const char* ledger, uint64_t transactions, bool early_lock_release = true) {
    flags_.set("ledger", ledger);
    const WorkloadInfo* info = find_workload("ledger");
    ASSERT_EQ(info->check_flags(), "");
    constexpr uint32_t kThreads = 4;
    Database database;
    const auto workload = info->make();
    load(*workload, database, kThreads);
    Dawdler scheme(kThreads);
    const ProtocolInfo& protocol = *find_protocol(GetParam());
    workload->start_history(kThreads, {.serializable = protocol.serializable});
    workload->keep_history();
    // The run ends after its transactions, long before its time.
    run(*workload, database, protocol, scheme,
        {.threads = kThreads,
         .seconds = 3600,
         .early_lock_release = early_lock_release,
         .transactions = transactions,
         .pipeline_depth = 8,
         .pin = false});
    const auto checks = workload->verify(database);
    ASSERT_EQ(checks.size(), 2u);
    for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.detail;
    const auto proof = check_history(database, path_);
    EXPECT_TRUE(proof.passed) << proof.violation;
    EXPECT_GE(proof.acknowledged, transactions);
  }

  ScopedFlags flags_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
};

TEST_P(LedgerRun, IsAsTheProtocolPromises) {
  run_and_verify("keys:16", kTransactions);
  run_and_verify("keys:16", kTransactions, false);  // locks are kept until the log is durable
  run_and_verify("keys:500,reads:8,writes:20,theta:0.9", kTransactions / 2);
}

// To test the checker, the runs must have inserts of erased rows, and write-only transactions.
TEST_P(LedgerRun, RowsComeBackOverAnEraseOften) {
  run_and_verify("slots:4", kTransactions / 2);
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
  const auto refusal = [](const char* list) { return refusal_of("ledger", {{"ledger", list}}); };
  EXPECT_EQ(refusal("keys:4"), "");
  EXPECT_EQ(refusal("keys:3"),
            "--ledger needs at least as many keys as a transfer reads and writes: 4");
  EXPECT_EQ(refusal("writes:0"), "--ledger=writes:0: writes needs a whole number from 1 to 64");
  EXPECT_EQ(refusal("theta:9"), "--ledger=theta:9: theta needs a number from 0 to 2");
  EXPECT_EQ(refusal("slots:65"), "--ledger needs a cell for each of its slots");
  EXPECT_EQ(refusal("cells:0"), "--ledger=cells:0: cells needs a whole number from 1 to 1000000");
  EXPECT_EQ(refusal_of("ledger", {{"test", "ledger_die_early:1"}}),
            "--test=ledger_die_early needs a --history, which numbers the transactions");
}

}  // namespace
}  // namespace logjam
