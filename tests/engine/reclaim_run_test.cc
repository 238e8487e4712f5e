// The run loop's part in reclamation: the rows that a transaction has erased are handed to the
// reclaimer when the transaction is durable, and not before.
#include <gtest/gtest.h>

#include "engine/run/run.h"
#include "tests/forwarding_scheme.h"

namespace logjam {
namespace {

constexpr Key kRows = 300;

// A log scheme without files. Transactions are durable when the test calls allow(), or when a
// worker waits for them at the end of the run.
class HeldBack final : public ForwardingScheme {
 public:
  HeldBack() : ForwardingScheme(1) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t) override {
    return {.sequence = ++last_};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole) override {
    return CommitPoint::in_stream(0, reservation.sequence);
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return CommitPoint::in_stream(0, deps.max_read);
  }
  bool is_durable(const CommitPoint& point) const override { return point.sequence <= durable_; }
  void wait_durable(uint32_t, const CommitPoint&) override { allow(); }

  void allow() { durable_ = last_; }

 private:
  uint64_t last_ = 0, durable_ = 0;
};

// Inserts all rows, erases all rows, and then only reads, first with the log held back and then
// with everything durable. Counts the entries of the index at the end of both phases.
struct Queue : Workload {
  explicit Queue(HeldBack& held) : log(held) {}

  struct Worker : Client {
    Worker(Queue& workload, Database& database) : queue(workload), table(database.table("queue")) {}

    uint32_t next() override {
      if (++step == 3 * kRows) {
        queue.entries_held_back = entries();
        queue.log.allow();
      }
      if (step == 4 * kRows) queue.entries_durable = entries();
      return 0;
    }
    Status execute(Transaction& txn) override {
      const uint64_t row = step;
      if (step < kRows) return txn.insert(table, step, row);
      if (step < 2 * kRows) return txn.erase(table, step - kRows);
      const uint64_t* nothing;
      return txn.read(table, step % kRows, &nothing);
    }
    bool exhausted() const override { return step == 4 * kRows; }

    size_t entries() {
      size_t count = 0;
      table.primary().for_each([&](Keyed*) { ++count; });
      return count;
    }

    Queue& queue;
    Table& table;
    Key step = ~Key{0};
  };

  void create_tables(Database& database) override {
    database.create_table({"queue", sizeof(uint64_t), IndexKind::kOrdered, kRows, {}});
  }
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override { return {.description = "queue", .types = {{"step"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Worker>(*this, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }

  HeldBack& log;
  size_t entries_held_back = 0, entries_durable = kRows;
};

TEST(ReclaimRun, ErasedRowsStayUntilTheyAreDurable) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
    for (const CommitPolicy commit : {CommitPolicy::kPipelined, CommitPolicy::kAsync}) {
      HeldBack log;
      Queue workload(log);
      Database database;
      load(workload, database, 1);
      run(workload, database, protocol, log,
          {.threads = 1,
           .seconds = 3600,
           .commit = commit,
           .pipeline_depth = 10 * kRows,
           .pin = false});
      EXPECT_EQ(workload.entries_held_back, kRows) << "some were not durable";
      EXPECT_EQ(workload.entries_durable, 0u);
    }
  }
}

}  // namespace
}  // namespace logjam
