// Transactions under OCC, snapshot isolation and SSN in all schedules with few preemptions.
#include <gtest/gtest.h>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr Key kX = 0, kY = 1, kZ = 2;  // in ascending order of the rows' addresses
constexpr uint32_t kRows = 3, kWorkers = 3;

// A row of two words. A transaction stores its number in both words.
struct Row {
  uint64_t first = 0, second = 0;
};

// The state that workers share besides the rows. It lies in the simulated memory. So accesses to
// the commit clock, to the read stamps and to the reclaimers' epochs are steps.
struct Shared {
  Database database;
  ReadStamps read_stamps{6};
  Epochs epochs{kWorkers};
};

struct Worker {
  Worker(uint32_t number, const ProtocolInfo& protocol, LogScheme& log, Shared& shared)
      : reclaimer(shared.epochs, CommitPoint::kQueues, arena, protocol.keeps_old_versions) {
    context.id = number;
    context.database = &shared.database;
    context.log = &log;
    context.arena = &arena;
    context.breakdown = &breakdown;
    context.reclaimer = &reclaimer;
    context.read_stamps = &shared.read_stamps;
    transaction = protocol.make(context);
  }

  Arena arena;
  Breakdown breakdown;
  Reclaimer reclaimer;
  RunOptions options;
  WorkerContext context{.options = options};
  std::unique_ptr<ProtocolTransaction> transaction;
};

// A table without a log, and its workers. The state of the workers lies in the host's memory. The
// rows and their old versions lie in the simulated memory.
struct World {
  World(const ProtocolInfo& protocol, Shared& with) : shared(with) {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(Row);
    table = &shared.database.create_table(std::move(schema));
    for (Key key = 0; key < kRows; ++key) {
      table->load(key, std::make_unique<Row>().get(), arena);
      rows[key] = Table::tuple_of(table->primary().find(key, nullptr));
    }
    for (uint32_t id = 0; id < kWorkers; ++id) {
      workers[id] = std::make_unique<Worker>(id, protocol, *log, shared);
      shared.epochs.note_quiescent(id);
      warm_up(*workers[id]->transaction);
    }
    for (Tuple* const tuple : rows) {
      tuple->version.store(0);
      tuple->lock.store(0);
    }
  }

  // Makes the worker's containers as large as they become.
  void warm_up(ProtocolTransaction& transaction) {
    transaction.begin(false);
    Row* row = nullptr;
    for (Key key = 0; key < kRows; ++key) {
      EXPECT_EQ(transaction.update(*table, key, &row), Status::kOk);
    }
    EXPECT_EQ(transaction.commit(), Status::kOk);
  }
  Row& row(Key key) { return *reinterpret_cast<Row*>(rows[key]->row()); }

  Shared& shared;
  Arena arena;
  Table* table = nullptr;
  std::array<Tuple*, kRows> rows{};
  std::unique_ptr<LogScheme> log = find_scheme("none")->make(LogConfig{.workers = kWorkers});
  std::array<std::unique_ptr<Worker>, kWorkers> workers;
};

// The transactions of a program. Each call returns false if its transaction must abort.
class Transactions {
 public:
  explicit Transactions(const char* protocol) {
    const Unexplored in_the_hosts_memory;
    world_ = std::make_unique<World>(*find_protocol(protocol), *shared_);
  }

 protected:
  bool read(uint32_t worker, Key key, uint64_t* number) {
    const Row* row = nullptr;
    if (of(worker).read(*world_->table, key, &row) != Status::kOk) return false;
    if (row->first != row->second) wrong_ = "a transaction reads a torn row";
    *number = row->first;
    return true;
  }
  bool update(uint32_t worker, Key key, uint64_t number) {
    Row* row = nullptr;
    if (of(worker).update(*world_->table, key, &row) != Status::kOk) return false;
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

  World& world() const { return *world_; }

  const char* wrong_ = nullptr;

 private:
  ProtocolTransaction& of(uint32_t worker) { return *world_->workers[worker]->transaction; }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::unique_ptr<World> world_;
};

// One transaction changes x and y, and must commit. Another transaction reads x and y, and may then
// change z. Checked: if the second transaction commits, it has read both rows before the change, or
// both rows after the change.
class WriterBesideReader : public Transactions {
 public:
  WriterBesideReader(const char* protocol, std::array<Key, 2> order, bool changes)
      : Transactions(protocol), order_(order), changes_(changes) {}
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

TEST(TransactionSteps, AReaderSeesAllOfAWriterOrNothing) {
  for (const bool changes : {false, true}) {
    for (const auto& order : {std::array{kX, kY}, std::array{kY, kX}}) {
      search_all<WriterBesideReader>(2, "occ", order, changes);
      search_all<WriterBesideReader>(1, "si", order, changes);
      search_all<WriterBesideReader>(1, "ssn", order, changes);
    }
  }
}

// The protocols of snapshots take more steps. So a search with two preemptions delays no store.
struct WriterBesideSnapshot : WriterBesideReader {
  using WriterBesideReader::WriterBesideReader;
  static constexpr bool kStoresLandAtOnce = true;
};

TEST(TransactionSteps, ASnapshotHasAllOfAWriterOrNothing) {
  search_all<WriterBesideSnapshot>(2, "si", std::array{kX, kY}, false);
  search_all<WriterBesideSnapshot>(2, "ssn", std::array{kX, kY}, false);
}

// Each of some transactions reads a row, adds 1, and stores the sum in a row. Checked: the rows are
// as if the committed transactions had run one after the other.
class Increments : public Transactions {
 public:
  struct Increment {
    Key from, to;
  };
  Increments(const char* protocol, std::vector<Increment> increments)
      : Transactions(protocol), increments_(std::move(increments)) {}
  std::vector<Body> threads() {
    std::vector<Body> bodies;
    for (uint32_t worker = 0; worker < increments_.size(); ++worker) {
      bodies.emplace_back([this, worker] { increment(worker); });
    }
    return bodies;
  }
  std::string wrong() const {
    if (wrong_ != nullptr) return wrong_;
    std::vector<uint32_t> order;
    for (uint32_t worker = 0; worker < increments_.size(); ++worker) {
      if (committed_[worker]) order.push_back(worker);
    }
    do {
      if (is_left_by(order)) return "";
    } while (std::ranges::next_permutation(order).found);
    return "transactions are not serializable";
  }

 private:
  void increment(uint32_t worker) {
    const auto [from, to] = increments_[worker];
    uint64_t number = 0;
    committed_[worker] =
        run(worker, [&] { return read(worker, from, &number) && update(worker, to, number + 1); });
  }
  bool is_left_by(const std::vector<uint32_t>& order) const {
    std::array<uint64_t, kRows> rows{};
    for (const uint32_t worker : order) {
      rows[increments_[worker].to] = rows[increments_[worker].from] + 1;
    }
    return std::ranges::all_of(std::array{kX, kY, kZ}, [&](Key key) {
      const Row& row = world().row(key);
      return row.first == rows[key] && row.second == rows[key];
    });
  }

  const std::vector<Increment> increments_;
  std::array<bool, kWorkers> committed_{};
};

using Increment = Increments::Increment;
const std::vector<Increment> kSameRow = {{kX, kX}, {kX, kX}};
const std::vector<Increment> kTwo = {{kX, kY}, {kY, kX}};
const std::vector<Increment> kThree = {{kX, kY}, {kY, kZ}, {kZ, kX}};

TEST(TransactionSteps, SerializableTransactionsLeaveWhatOneAfterTheOtherWould) {
  search_all<Increments>(2, "occ", kTwo);
  for (const char* protocol : {"occ", "ssn"}) {
    search_all<Increments>(1, protocol, kTwo);
    search_all<Increments>(1, protocol, kThree);
  }
}

TEST(TransactionSteps, NoUpdateOfARowIsLost) {
  search_all<Increments>(2, "occ", kSameRow);
  for (const char* protocol : {"si", "ssn"}) search_all<Increments>(1, protocol, kSameRow);
}

TEST(TransactionSteps, WritesOfSnapshotsMaySkew) {
  EXPECT_NE(first_wrong<Increments>(1, "si", kTwo), "");
}

// A transaction reads x and y. Another worker overwrites both rows in each of three transactions,
// and its reclaimer frees old versions after each of them. Checked: the reader sees one version of
// both rows. Reads of freed memory are found, too.
class ReaderBesideReclaimer : public Transactions {
 public:
  explicit ReaderBesideReclaimer(const char* protocol) : Transactions(protocol) {
    // After the first transaction of the thread, a batch of old versions is complete.
    for (uint64_t number = 0; number < kBefore; ++number) overwrite(number);
  }
  std::vector<Body> threads() {
    const Body writes = [this] {
      for (uint64_t number = kBefore; number < kBefore + 3; ++number) overwrite(number);
    };
    const Body reads = [this] {
      committed_ = run(1, [this] { return read(1, kX, &seen_[0]) && read(1, kY, &seen_[1]); });
    };
    return {writes, reads};
  }
  std::string wrong() const {
    if (wrong_ != nullptr) return wrong_;
    if (!committed_) return "a reader aborts";
    return seen_[0] != seen_[1] ? "a snapshot has half of a transaction" : "";
  }

 private:
  static constexpr uint64_t kBefore = 15;

  void overwrite(uint64_t number) {
    run(0, [&] { return update(0, kX, number) && update(0, kY, number); });
    world().shared.epochs.note_quiescent(0);
    // A reclaimer asks for the epochs at each 16th call.
    for (int call = 0; call < 16; ++call) world().workers[0]->reclaimer.work();
  }

  std::array<uint64_t, 2> seen_{};
  bool committed_ = false;
};

TEST(TransactionSteps, NoVersionIsFreedUnderItsReader) {
  search_all<ReaderBesideReclaimer>(1, "si");
}

}  // namespace
}  // namespace logjam::sim
