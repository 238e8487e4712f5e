// The ledger under every protocol, several threads on few keys: the history of a run without a
// crash must be serializable, and everything acknowledged must be there.
#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "engine/run/run.h"
#include "platform/spin.h"
#include "workloads/ledger/checker.h"

namespace logjam {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kTransactions = 500;  // of each worker: a race needs few, and they are slow
#else
constexpr uint64_t kTransactions = 4'000;
#endif

void set_flag(const char* name, const std::string& value) {
  ASSERT_NE(gflags::SetCommandLineOption(name, value.c_str()), "") << name;
}

// Gives the core away between locking and installing a transaction's writes, a window that is too
// short for two cores to meet in by chance.
class Dawdler final : public LogScheme {
 public:
  explicit Dawdler(const LogConfig& config)
      : LogScheme(config.workers), scheme_(find_scheme("none")->make(config)) {}
  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    if (calls_.fetch_add(1) % 5 == 0) platform::yield();
    const Ticket ticket = scheme_->reserve(worker, deps, bytes);
    if (calls_.fetch_add(1) % 5 == 0) platform::yield();
    return ticket;
  }
  Point publish(uint32_t worker, const Ticket& ticket, bool ok, bool commits) override {
    return scheme_->publish(worker, ticket, ok, commits);
  }
  Point observe(uint32_t worker, const Dependencies& deps) override {
    return scheme_->observe(worker, deps);
  }
  Traits traits() const override { return scheme_->traits(); }
  bool is_durable(const Point& point) const override { return scheme_->is_durable(point); }
  void tick(uint32_t worker) override { scheme_->tick(worker); }
  void flush(uint32_t flusher, bool stopping) override { scheme_->flush(flusher, stopping); }
  bool idle() const override { return scheme_->idle(); }
  uint64_t max_record_bytes() const override { return scheme_->max_record_bytes(); }
  Cut cut(const std::vector<StreamTail>& tails) const override { return scheme_->cut(tails); }
  bool survives(const RecordHeader& header, uint32_t stream, const Cut& cut) const override {
    return scheme_->survives(header, stream, cut);
  }

 private:
  std::unique_ptr<LogScheme> scheme_;
  platform::atomic<uint64_t> calls_{0};
};

class LedgerRun : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    set_flag("history", path_);
    set_flag("history_mb", "16");
    set_flag("commit", "pipelined");
    set_flag("ledger_yield", "7");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Runs, and lets the workload prove itself.
  void run_and_verify(bool early_lock_release, uint64_t transactions) {
    const WorkloadInfo* info = find_workload("ledger");
    ASSERT_EQ(info->check_flags(), "");
    RunOptions options;
    options.threads = 4;
    options.pin = false;
    options.pipeline_depth = 8;
    options.early_lock_release = early_lock_release;
    options.transactions = transactions;
    options.seconds = 60;  // `transactions` ends it
    Database database;
    const auto workload = info->make();
    load(*workload, database, options.threads);
    LogConfig config;
    config.workers = options.threads;
    Dawdler scheme(config);
    run(*workload, database, *find_protocol(GetParam()), scheme, options);
    const auto checks = workload->verify(database);
    ASSERT_EQ(checks.size(), 2u);
    for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.detail;
    const auto proof = check_history(database, path_);
    EXPECT_TRUE(proof.passed) << proof.violation;
    EXPECT_GE(proof.acknowledged, transactions);
  }

  gflags::FlagSaver saver_;
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("logjam-ledger-" + std::to_string(getpid()));
};

TEST_P(LedgerRun, FewKeys) {
  set_flag("ledger_keys", "16");
  run_and_verify(true, kTransactions);
}

TEST_P(LedgerRun, LocksKeptUntilDurable) {
  set_flag("ledger_keys", "16");
  run_and_verify(false, kTransactions);
}

TEST_P(LedgerRun, ManyReadsAndWrites) {
  set_flag("ledger_keys", "500");
  set_flag("ledger_reads", "8");
  set_flag("ledger_writes", "20");
  set_flag("ledger_theta", "0.9");
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

TEST(Ledger, RefusesFlags) {
  const gflags::FlagSaver saver;
  const WorkloadInfo* info = find_workload("ledger");
  EXPECT_EQ(info->check_flags(), "");
  set_flag("ledger_keys", "3");
  EXPECT_EQ(info->check_flags(), "--ledger_keys is from 4 (the keys of a transfer) to 100000000");
  set_flag("ledger_keys", "4");
  set_flag("ledger_writes", "0");
  EXPECT_EQ(info->check_flags(), "--ledger_writes is from 1 to 64");
  set_flag("ledger_writes", "1");
  set_flag("ledger_theta", "9");
  EXPECT_EQ(info->check_flags(), "--ledger_theta is from 0 to 2");
}

}  // namespace
}  // namespace logjam
