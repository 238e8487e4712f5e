// Transactions under OCC in all schedules with few preemptions.
#include <gtest/gtest.h>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr Key kX = 0, kY = 1, kZ = 2;  // in ascending order of the rows' addresses
constexpr uint32_t kRows = 3, kWorkers = 2;

// A row of two words. A transaction stores its number in both words.
struct Row {
  uint64_t first = 0, second = 0;
};

struct Worker {
  Worker(uint32_t number, LogScheme& log) : context{.id = number} {
    context.log = &log;
    context.arena = &arena;
    context.breakdown = &breakdown;
    transaction = find_protocol("occ")->make(context);
  }
  Arena arena;
  Breakdown breakdown;
  WorkerContext context;
  std::unique_ptr<ProtocolTransaction> transaction;
};

// A table without a log, and its workers, shared by all schedules. The state of the workers lies in
// the host's memory and does not grow after the first schedule. The rows lie in the simulated
// memory. So only accesses to the rows and the index are steps.
struct World {
  World() {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(Row);
    table = &database.create_table(std::move(schema));
    for (Key key = 0; key < kRows; ++key) {
      table->load(key, std::make_unique<Row>().get(), arena);
      rows[key] = Table::tuple_of(table->primary().find(key, nullptr));
    }
    for (const auto& worker : workers) {
      worker->transaction->begin(false);
      Row* row = nullptr;
      for (Key key = 0; key < kRows; ++key) {
        EXPECT_EQ(worker->transaction->update(*table, key, &row), Status::kOk);
      }
      EXPECT_EQ(worker->transaction->commit(), Status::kOk);
    }
  }

  Row& row(Key key) { return *reinterpret_cast<Row*>(rows[key]->row()); }
  void restart() {
    for (Key key = 0; key < kRows; ++key) {
      rows[key]->version.store(0);
      row(key) = {};
    }
  }

  Arena arena;
  Database database;
  Table* table = nullptr;
  std::array<Tuple*, kRows> rows{};
  std::unique_ptr<LogScheme> log = find_scheme("none")->make(LogConfig{.workers = kWorkers});
  std::array<std::unique_ptr<Worker>, kWorkers> workers{std::make_unique<Worker>(0, *log),
                                                        std::make_unique<Worker>(1, *log)};
};

World& world() {
  static World& all = []() -> World& {
    const Unexplored in_the_hosts_memory;
    return *new World;
  }();
  return all;
}

// The transactions of a program. Each call returns false if its transaction must abort.
class Transactions {
 public:
  Transactions() { world().restart(); }

 protected:
  bool read(uint32_t worker, Key key, uint64_t* number) {
    const Row* row = nullptr;
    if (of(worker).read(*world().table, key, &row) != Status::kOk) return false;
    if (row->first != row->second) wrong_ = "a transaction reads a torn row";
    *number = row->first;
    return true;
  }
  bool update(uint32_t worker, Key key, uint64_t number) {
    Row* row = nullptr;
    if (of(worker).update(*world().table, key, &row) != Status::kOk) return false;
    if (row->first != row->second) wrong_ = "a transaction updates a torn row";
    *row = {number, number};
    return true;
  }
  // Runs a transaction. Returns whether it has committed.
  template <class Body>
  bool run(uint32_t worker, const Body& body) {
    of(worker).begin(false);
    if (body() && of(worker).commit() == Status::kOk) return true;
    of(worker).abort();
    return false;
  }

  const char* wrong_ = nullptr;

 private:
  static ProtocolTransaction& of(uint32_t worker) { return *world().workers[worker]->transaction; }
};

// One transaction changes x and y, and must commit. Another transaction reads x and y, and may then
// change z. Checked: if the second transaction commits, it has read both rows before the change, or
// both rows after the change.
class WriterBesideReader : public Transactions {
 public:
  WriterBesideReader(std::array<Key, 2> order, bool changes) : order_(order), changes_(changes) {}
  std::vector<Body> threads() {
    const Body writes = [this] {
      written_ = run(0, [this] { return update(0, kX, 1) && update(0, kY, 1); });
    };
    const Body reads = [this] {
      committed_ = run(1, [this] {
        return read(1, order_[0], &seen_[0]) && read(1, order_[1], &seen_[1]) &&
               (!changes_ || update(1, kZ, 2));
      });
    };
    return {writes, reads};
  }
  std::string wrong() const {
    if (wrong_ != nullptr) return wrong_;
    if (!written_) return "the writer aborts";
    return committed_ && seen_[0] != seen_[1] ? "a transaction has read half of another" : "";
  }

 private:
  const std::array<Key, 2> order_;
  const bool changes_;
  std::array<uint64_t, 2> seen_{};
  bool written_ = false, committed_ = false;
};

TEST(OccSteps, AReaderSeesAllOfAWriterOrNothing) {
  for (const bool changes : {false, true}) {
    search_all<WriterBesideReader>(2, std::array{kX, kY}, changes);
    search_all<WriterBesideReader>(2, std::array{kY, kX}, changes);
  }
}

// Each of two transactions reads a row, adds 1, and stores the sum in a row. Checked: the rows are
// as if the committed transactions had run one after the other.
class TwoIncrements : public Transactions {
 public:
  struct Increment {
    Key from, to;
  };
  TwoIncrements(Increment first, Increment second) : increments_{first, second} {}
  std::vector<Body> threads() {
    return {[this] { increment(0); }, [this] { increment(1); }};
  }
  std::string wrong() const {
    if (wrong_ != nullptr) return wrong_;
    return is_left_by({0, 1}) || is_left_by({1, 0}) ? "" : "two transactions are not serializable";
  }

 private:
  void increment(uint32_t worker) {
    const auto [from, to] = increments_[worker];
    uint64_t number = 0;
    committed_[worker] =
        run(worker, [&] { return read(worker, from, &number) && update(worker, to, number + 1); });
  }
  bool is_left_by(std::array<uint32_t, 2> order) const {
    std::array<uint64_t, kRows> rows{};
    for (const uint32_t worker : order) {
      if (committed_[worker]) rows[increments_[worker].to] = rows[increments_[worker].from] + 1;
    }
    return std::ranges::all_of(std::array{kX, kY, kZ}, [&](Key key) {
      const Row& row = world().row(key);
      return row.first == rows[key] && row.second == rows[key];
    });
  }

  const std::array<Increment, 2> increments_;
  std::array<bool, 2> committed_{};
};

TEST(OccSteps, TwoTransactionsLeaveWhatOneAfterTheOtherWould) {
  using Increment = TwoIncrements::Increment;
  search_all<TwoIncrements>(2, Increment{kX, kY}, Increment{kY, kX});
  search_all<TwoIncrements>(2, Increment{kX, kX}, Increment{kX, kX});
}

}  // namespace
}  // namespace logjam::sim
