// --snapshot=durable in the run loop: a client finds each commit that it knows to be durable.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/run/run.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/cpu.h"
#include "tests/forwarding_scheme.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 2;
constexpr uint64_t kTransactions = 400;  // of each worker

// A log in which the commits of worker 0 are durable at once, and those of worker 1 after 0.2 ms.
// So the order in which commits become durable is not that of their stamps.
class LateLog final : public ForwardingScheme {
 public:
  LateLog() : ForwardingScheme(kWorkers) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t) override {
    return {.sequence = last_.fetch_add(1) + 1};
  }
  CommitPoint publish(uint32_t worker, const LogReservation&, RecordRole) override {
    const uint64_t durable_ns = worker == 0 ? 0 : platform::now_ns() + 200'000;
    if (worker == 1) late_until_.store(durable_ns);
    return CommitPoint::in_stream(worker, durable_ns);
  }
  // Returns whether a commit of worker 1 is not durable yet.
  bool is_late() const { return platform::now_ns() < late_until_.load(); }
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override {
    ADD_FAILURE() << "a transaction that only reads asks the log";
    return {};
  }
  bool is_durable(const CommitPoint& point) const override {
    return point.sequence <= platform::now_ns();
  }
  void wait_durable(uint32_t, const CommitPoint& point) override {
    while (!is_durable(point)) platform::sleep_ns(10'000);
  }

 private:
  platform::atomic<uint64_t> last_{0}, late_until_{0};
};

// Each client counts its transactions in a row of its own. Each fourth transaction only reads
// its row. Client 0 begins each transaction while a commit of worker 1 is not durable.
struct Counts : Workload {
  explicit Counts(const LateLog& with) : log(with) {}

  struct Counter : Client {
    Counter(Counts& with, Table& of, uint32_t own) : counts(with), table(of), id(own) {}
    uint32_t next() override {
      if (id == 1) counts.late_ended.store(step + 1 >= kTransactions);
      while (id == 0 && !counts.log.is_late() && !counts.late_ended.load()) platform::pause();
      ++step;
      return 0;
    }
    Status execute(Transaction& txn) override {
      const uint64_t* seen = nullptr;
      if (step % 4 == 0) {
        const Status status = txn.read(table, id, &seen);
        if (status == Status::kOk) {
          EXPECT_GE(*seen, acknowledged_count);
        }
        return status;
      }
      uint64_t* count = nullptr;
      const Status status = txn.update(table, id, &count);
      if (status != Status::kOk) return status;
      EXPECT_GE(*count, acknowledged_count);
      written = ++*count;
      return status;
    }
    uint64_t committing() override { return step % 4 == 0 ? 0 : written; }
    void acknowledged(uint64_t number) override {
      acknowledged_count = std::max(acknowledged_count, number);
    }

    Counts& counts;
    Table& table;
    const uint32_t id;
    uint64_t step = 0, written = 0, acknowledged_count = 0;
  };

  void create_tables(Database& database) override {
    database.create_table({.name = "counts", .row_bytes = 8});
  }
  void load(Database& database, uint32_t part, uint32_t, Arena& arena) override {
    const uint64_t zero = 0;
    for (Key key = 0; part == 0 && key < kWorkers; ++key) {
      database.table("counts").load(key, &zero, arena);
    }
  }
  Specification spec() const override { return {.description = "counts", .types = {{"count"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t id, uint32_t,
                                      uint64_t) override {
    return std::make_unique<Counter>(*this, database.table("counts"), id);
  }
  std::vector<Check> verify(Database&) override { return {}; }

  const LateLog& log;
  platform::atomic<bool> late_ended{false};
};

RunResult count(CommitPolicy commit) {
  Database database;
  LateLog log;
  Counts workload(log);
  load(workload, database, 1);
  return run(workload, database, *find_protocol("si"), log,
             {.threads = kWorkers,
              .seconds = 3600,
              .commit = commit,
              .snapshot = SnapshotRule::kDurable,
              .transactions = kTransactions,
              .pipeline_depth = 16,
              .pin = false});
}

TEST(DurableSnapshots, ContainEachAcknowledgedCommit) {
  for (const CommitPolicy commit : {CommitPolicy::kPipelined, CommitPolicy::kSync}) {
    const RunResult result = count(commit);
    EXPECT_EQ(result.transactions, kTransactions * kWorkers);
    EXPECT_EQ(result.reader_commit.count(), kTransactions / 4 * kWorkers);
    EXPECT_EQ(result.commit.count(), kTransactions * kWorkers);
  }
}

}  // namespace
}  // namespace logjam
