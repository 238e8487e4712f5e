// The number of transactions that a worker has in flight.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run/run.h"
#include "platform/clock.h"
#include "tests/forwarding_scheme.h"

namespace logjam {
namespace {

constexpr uint32_t kTransactions = 1000;

// A log scheme without files, in which nothing becomes durable until a worker waits for it. Counts
// how many transactions are in flight when the worker waits.
class WhenWaitedFor final : public ForwardingScheme {
 public:
  WhenWaitedFor() : ForwardingScheme(1) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t) override {
    return {.sequence = ++last_};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole) override {
    return CommitPoint::in_stream(0, reservation.sequence);
  }
  bool is_durable(const CommitPoint& point) const override { return point.sequence <= durable_; }
  void wait_durable(uint32_t, const CommitPoint& point) override {
    most_ = std::max(most_, last_ - durable_);
    durable_ = point.sequence;
    // The drain makes the last waits.
    if (last_ == kTransactions) durable_ = last_;
  }

  uint64_t most() const { return most_; }

 private:
  uint64_t last_ = 0, durable_ = 0, most_ = 0;
};

// Each transaction inserts a row.
struct Inserts : Workload {
  struct Worker : Client {
    explicit Worker(Database& database) : table(database.table("rows")) {}
    uint32_t next() override {
      ++key;
      return 0;
    }
    Status execute(Transaction& txn) override { return txn.insert(table, key, key); }

    Table& table;
    Key key = 0;
  };

  void create_tables(Database& database) override {
    database.create_table({"rows", sizeof(uint64_t), IndexKind::kHash, kTransactions, {}});
  }
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override { return {.description = "inserts", .types = {{"insert"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Worker>(database);
  }
  std::vector<Check> verify(Database&) override { return {}; }
};

TEST(Pipeline, AWorkerGoesOnUntilPipelineDepthIsExceeded) {
  for (const uint32_t depth : {1u, 7u, 100u}) {
    SCOPED_TRACE(depth);
    WhenWaitedFor log;
    Inserts workload;
    Database database;
    load(workload, database, 1);
    run(workload, database, all_protocols().front(), log,
        {.threads = 1,
         .seconds = 3600,
         .transactions = kTransactions,
         .pipeline_depth = depth,
         .pin = false});
    EXPECT_EQ(log.most(), depth + 1);
  }
}

TEST(Pipeline, ATransactionWorksForAsLongAsItIsToHoldItsLocks) {
  WhenWaitedFor log;
  Inserts workload;
  Database database;
  load(workload, database, 1);
  const uint64_t begun_ns = platform::now_ns();
  run(workload, database, all_protocols().front(), log,
      {.threads = 1,
       .seconds = 3600,
       .hold_ns = 100'000,
       .transactions = kTransactions,
       .pin = false});
  EXPECT_GE(platform::now_ns() - begun_ns, kTransactions * 100'000u);
}

}  // namespace
}  // namespace logjam
