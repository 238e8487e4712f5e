// The tests leave transactions out when they recover a log, or change rows. The checker of the
// history of writes must find each error, for every workload that has no history of its own.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "engine/recovery/recover.h"
#include "engine/run/run.h"
#include "logging/format/record.h"
#include "proof/history/file.h"
#include "proof/history/with_history.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint64_t kTransactions = 60;  // of each worker

const SchemeInfo& scheme() { return *find_scheme("centr"); }

struct Scale {
  const WorkloadInfo* info;
  Flags flags;
};

std::vector<Scale> scales() {
  std::vector<Scale> all;
  for (const WorkloadInfo& info : all_workloads()) {
    if (info.keeps_history) continue;
    for (const Flags& flags : small_scales(info.name)) all.push_back({&info, flags});
  }
  return all;
}

void PrintTo(const Scale& scale, std::ostream* out) { *out << scale.info->name; }

class WriteHistory : public WorkloadTest, public testing::WithParamInterface<Scale> {
 protected:
  using Left = std::function<bool(const RecordHeader&)>;

  void SetUp() override {
    set({{"history", path_}, {"history_mb", "2"}});
    set(GetParam().flags);
  }

  // Runs the workload with a log and a history. Verifies the database, and returns it.
  std::unique_ptr<Database> run_and_log(const std::string& unsafe = "") {
    const auto workload = make_with_history(info());
    workload->start_history(kWorkers, {.unsafe = unsafe});
    workload->keep_history();
    LogOptions log_options = logjam::log_options(scheme(), directory_, "file", kWorkers);
    log_options.header.flags["workload"] = std::string(info().name);
    Log log(log_options);
    auto database = load(*workload, 1);
    log.start();
    // The run ends after its transactions, long before its time.
    run(*workload, *database, all_protocols()[1], log.scheme(),
        {.threads = kWorkers,
         .seconds = 3600,
         .transactions = kTransactions,
         .pipeline_depth = 16,
         .pin = false});
    log.drain();
    log.stop();
    std::filesystem::copy_file(path_, killed_, std::filesystem::copy_options::overwrite_existing);
    expect_consistent(*workload, *database);
    return database;
  }

  // Recovers the log, without the transactions for which `leave_out` is true.
  std::unique_ptr<Database> recover_without(const Left& leave_out) {
    const auto workload = info().make();
    auto database = load(*workload, 1);
    RecoveryRule rule = scheme().recovery;
    rule.survives = [survives = rule.survives, &leave_out](const RecordHeader& record,
                                                           const Cut& cut) {
      return survives(record, cut) && !leave_out(record);
    };
    const LogFiles files = find_log_files({directory_.path()});
    EXPECT_EQ(files.error, "");
    EXPECT_EQ(recover(*database, files, rule, 1, ReplayOrder::kParallel).error, "");
    return database;
  }

  // Returns the numbers of the logged transactions, in log order.
  std::vector<uint64_t> logged() {
    std::vector<uint64_t> numbers;
    recover_without([&](const RecordHeader& record) {
      if (record.kind == RecordKind::kTransaction &&
          std::ranges::find(numbers, record.txn) == numbers.end()) {
        numbers.push_back(record.txn);
      }
      return false;
    });
    return numbers;
  }

  Check check(Database& database, const std::string& path) {
    return make_with_history(info())->verify_history(database, path).at(0);
  }
  Check check(Database& database) { return check(database, path_); }

  void expect_fails(Database& database, std::string_view message) {
    const Check result = check(database);
    EXPECT_FALSE(result.passed);
    EXPECT_NE(result.detail.find(message), std::string::npos) << result.detail;
    std::cout << info().name << ": " << result.detail << std::endl;
  }

  static const WorkloadInfo& info() { return *GetParam().info; }

  LogDirectory directory_;
  const TemporaryDirectory files_;
  const std::string path_ = files_.path_of("history");
  // A copy of the history from the time between the last acknowledgement and the end of the run.
  const std::string killed_ = files_.path_of("killed");
};

TEST_P(WriteHistory, PassesOnAWholeRecovery) {
  const auto database = run_and_log();
  const auto recovered = recover_without([](const RecordHeader&) { return false; });
  EXPECT_EQ(fingerprint(*recovered), fingerprint(*database));
  const Check result = check(*recovered);
  EXPECT_TRUE(result.passed) << result.detail;
}

TEST_P(WriteHistory, FailsOnARecoveryOfNothing) {
  run_and_log();
  const auto empty = recover_without([](const RecordHeader&) { return true; });
  expect_fails(*empty, "nothing of the run is there: ");
}

// If all rows of a transaction were overwritten, no row shows that the transaction is left out. The
// checker must report every other transaction that is left out.
TEST_P(WriteHistory, MissesEachTransactionWithoutWhichTheRowsDiffer) {
  const uint64_t whole = fingerprint(*run_and_log());
  const std::vector<uint64_t> numbers = logged();
  ASSERT_GT(numbers.size(), 2u);
  uint64_t missed = 0;
  for (size_t i = 0; i < numbers.size(); i += 1 + numbers.size() / 16) {
    const uint64_t number = numbers[numbers.size() - 1 - i];
    const auto recovered =
        recover_without([number](const RecordHeader& r) { return r.txn == number; });
    const bool differs = fingerprint(*recovered) != whole;
    const Check result = check(*recovered);
    EXPECT_EQ(result.passed, !differs) << "without " << number << ": " << result.detail;
    if (!differs) continue;
    EXPECT_NE(result.detail.find("R1: 1 of "), std::string::npos) << result.detail;
    if (missed++ == 0) std::cout << info().name << ": " << result.detail << std::endl;
  }
  EXPECT_GT(missed, 0u);
}

// No transaction has overwritten the rows of the last transaction in the log, so these rows show
// that the last transactions of its worker are left out.
TEST_P(WriteHistory, MissesTheLastTransactionsOfAWorker) {
  run_and_log();
  const std::vector<uint64_t> numbers = logged();
  const uint32_t worker = worker_of(numbers.back());
  const auto recovered = recover_without([&](const RecordHeader& record) {
    return worker_of(record.txn) == worker && record.txn + 5 > numbers.back();
  });
  expect_fails(*recovered, "acknowledged transactions that write are lost (worker " +
                               std::to_string(worker) + ": ");
}

// The test changes a byte of a row, or erases the row, so no transaction has left this state.
TEST_P(WriteHistory, FindsARowThatNoTransactionLeftSo) {
  const auto database = run_and_log();
  const HistoryFile history = open_history_file(path_);
  const auto writes_of = [](const HistoryEntry& entry) {
    const auto* header = reinterpret_cast<const write_history::WritesHeader*>(entry.payload.data());
    const auto* first = reinterpret_cast<const write_history::RecordedWrite*>(header + 1);
    return std::span(first, header->writes);
  };
  const write_history::RecordedWrite& write = writes_of(history.entries[0])[0];
  // The row's first write.
  const write_history::RecordedWrite* first = &write;
  for (const HistoryEntry& entry : history.entries) {
    for (const write_history::RecordedWrite& other : writes_of(entry)) {
      const bool same = other.table == write.table && other.key == write.key;
      if (same && other.order < first->order) first = &other;
    }
  }
  Table& table = *database->table(static_cast<uint16_t>(write.table));
  Keyed* entry = table.primary().find(write.key, nullptr);
  ASSERT_NE(entry, nullptr);
  Tuple& tuple = *Table::tuple_of(entry);
  if (!tuple.load_version().absent()) {
    tuple.row()[table.row_bytes() - 1] ^= std::byte{1};
    // If the row's first write was blind, the history does not know the row's loaded contents.
    expect_fails(*database, first->before == write_history::kUnknownRow
                                ? "which is as the load left it, or as no transaction did"
                                : "is as neither the load nor a transaction left it");
    tuple.row()[table.row_bytes() - 1] ^= std::byte{1};
  }
  EXPECT_TRUE(check(*database).passed);
}

TEST_P(WriteHistory, LetsAnUnsafeRunThatWasKilledLoseWhatItAcknowledged) {
  run_and_log("commit=async");
  const auto empty = recover_without([](const RecordHeader&) { return true; });
  // The run has ended by itself, so no transaction may be lost.
  expect_fails(*empty, "nothing of the run is there: ");
  const Check result = check(*empty, killed_);
  EXPECT_TRUE(result.passed) << result.detail;
  EXPECT_NE(result.detail.find("UNSAFE, acknowledged transactions may be lost (commit=async)"),
            std::string::npos)
      << result.detail;
}

INSTANTIATE_TEST_SUITE_P(Scales, WriteHistory, testing::ValuesIn(scales()), [](const auto& info) {
  std::string name = std::string(info.param.info->name) + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A workload that records the calls of its functions.
struct Inner final : Workload {
  void create_tables(Database&) override {}
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override {
    return {.description = "inner", .expected_bytes = 42, .types = {{"one"}}};
  }
  std::vector<Share> shares() const override { return {{.name = "share"}}; }
  std::unique_ptr<Client> make_client(Database&, uint32_t, uint32_t, uint64_t) override {
    return nullptr;
  }
  void resume(Database&) override { calls += "resume, "; }
  void start_history(uint32_t workers, const HistoryOrigin& origin) override {
    calls += std::to_string(workers) + " workers of " + origin.unsafe + " run " +
             std::to_string(origin.ordinal) + ", ";
  }
  void keep_history() override { calls += "kept, "; }
  void note_any_order() override { calls += "any order"; }
  std::vector<Check> verify(Database&) override { return {{"inner", true, ""}}; }

  static inline std::string calls;
};

TEST(WithHistory, PassesOnAllCalls) {
  const TemporaryDirectory directory;
  ScopedFlags flags;
  flags.set("history", directory.path_of("history"));
  flags.set("history_mb", 2);
  const WorkloadInfo info{
      .name = "inner", .what = "", .memory = "", .load_flags = {}, .check_flags = {}, .make = [] {
        return std::make_unique<Inner>();
      }};
  const auto workload = make_with_history(info);
  ASSERT_EQ(dynamic_cast<Inner*>(workload.get()), nullptr) << "the workload keeps no history";
  Database database;
  workload->resume(database);
  workload->start_history(3, {.unsafe = "async"});
  workload->keep_history();
  workload->note_any_order();
  EXPECT_EQ(Inner::calls, "resume, 3 workers of async run 1, kept, any order");
  const Specification spec = workload->spec();
  EXPECT_EQ(spec.description, "inner, history in " + directory.path_of("history"));
  EXPECT_EQ(spec.expected_bytes, 42u);
  EXPECT_EQ(workload->shares().at(0).name, "share");
}

}  // namespace
}  // namespace logjam
