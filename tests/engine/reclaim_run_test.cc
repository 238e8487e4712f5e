// The run loop's part in reclamation: what a transaction has erased is the reclaimer's when it is
// durable, not before.
#include <gtest/gtest.h>

#include "engine/run/run.h"

namespace logjam {
namespace {

constexpr Key kRows = 300;

// Nothing is durable until somebody waits for it, at the end of the run, or allows it.
class HeldBack final : public LogScheme {
 public:
  HeldBack() : LogScheme(1) {}

  Traits traits() const override {
    return {.streams = 0, .flushers = 0, .serial_order = true, .logs = false, .unsafe = ""};
  }
  Ticket reserve(uint32_t, const Dependencies&, uint32_t) override { return {.sequence = ++last_}; }
  Point publish(uint32_t, const Ticket& ticket, bool, bool) override { return {ticket.sequence}; }
  Point observe(uint32_t, const Dependencies& deps) override { return {deps.max_read}; }
  bool is_durable(const Point& point) const override { return point.sequence <= durable_; }
  void tick(uint32_t) override {}
  void flush(uint32_t, bool) override {}
  void wait_durable(uint32_t, const Point&) override { allow(); }
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint64_t{0}; }
  Cut cut(const std::vector<StreamTail>&) const override { return {}; }
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return false; }

  void allow() { durable_ = last_; }

 private:
  uint64_t last_ = 0, durable_ = 0;
};

// Inserts each row, erases each, and reads on, with the log held back and then allowed; counts the
// index's entries at the end of either.
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
    std::span<const std::byte> command() override { return {}; }
    bool take(uint32_t, std::span<const std::byte>) override { return false; }
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
  std::vector<std::string_view> types() const override { return {"step"}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Worker>(*this, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }
  std::string describe() const override { return "queue"; }
  uint64_t expected_bytes() const override { return 0; }

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
           .seconds = 60,
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
