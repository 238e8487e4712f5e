// The terminal that the five transaction types of a client share: its random numbers, tables and
// home warehouses. This file also has the interface of the types, and their list.
#pragma once

#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/parallel_check.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// The number of draws with a certain outcome (`hits`), and of all draws (`all`).
struct Tries {
  uint64_t hits = 0;
  uint64_t all = 0;

  void count(bool hit) {
    hits += hit;
    ++all;
  }
  auto members() { return std::tie(hits, all); }
};

// The counts of draws, for the outcomes whose percentages the specification prescribes.
struct Drawn {
  Tries remote_lines, unused_items, remote_payments, named, skipped;
  auto members() { return std::tie(remote_lines, unused_items, remote_payments, named, skipped); }
};

// The output that a real terminal would display. Most values are added to `text`, so that the
// compiler cannot drop their computation.
struct Screen {
  uint64_t text = 0;
  // Output of the last NewOrder: the total amount, and the lines that are marked "B".
  Cents total = 0;
  uint32_t brand_lines = 0;
  // Output of the last Order-Status.
  Key customer = 0;
  uint64_t order = 0;
  uint32_t lines = 0;
  // Output of the last Stock-Level.
  int32_t threshold = 0;
  uint32_t low_stock = 0;
};

// The terminal of one client. Only the client's worker uses the terminal, and only
// TransactionType::draw() draws random numbers, so that a retry executes the same input.
struct Terminal {
  Terminal(Database& database, const Scale& scale_in, uint32_t worker_in, const Home& home_in,
           uint64_t seed)
      : scale(scale_in),
        tables(database),
        worker(worker_in),
        home(home_in),
        random(seed, worker),
        constants(NuRandConstants::of_run(seed)) {
    LJ_ASSERT(home.first >= 1 && home.first + home.count - 1 <= scale.warehouses);
  }

  uint32_t draw_warehouse() {
    return home.count == 1 ? home.first : home.first - 1 + draw_number(home.count);
  }
  // Draws a warehouse other than `home`, or returns `home` if it is the only warehouse.
  uint32_t draw_remote_warehouse(uint32_t home) {
    LJ_ASSERT_IN_TESTS(home >= 1 && home <= scale.warehouses);
    if (scale.warehouses == 1) return home;
    const uint32_t other = draw_number(scale.warehouses - 1);
    return other < home ? other : other + 1;
  }
  uint32_t draw_district() { return draw_number(kDistricts); }
  uint32_t draw_customer() { return nu_rand(random, 1023, constants.customer, 1, scale.customers); }
  uint32_t draw_item() { return nu_rand(random, 8191, constants.item, 1, scale.items); }
  void draw_last_name(char (&name)[16]) {
    make_last_name(nu_rand(random, 255, constants.last_name, 0, scale.names() - 1), name);
  }
  // Draws a number in [1, n].
  uint32_t draw_number(uint32_t n) { return static_cast<uint32_t>(random.below(n)) + 1; }
  Date draw_date() { return ++clock; }

  const Scale& scale;
  Tables tables;
  const uint32_t worker;
  const Home home;
  Random random;
  const NuRandConstants constants;
  Date clock = kLoadDate;
  uint64_t payments = 0;  // the number of payments drawn by this worker, for keys of HISTORY
  Screen screen;
  Drawn drawn;
};

// One type of transaction at one terminal. The terminal outlives the object. Only the terminal's
// worker calls its functions.
class TransactionType {
 public:
  explicit TransactionType(Terminal& terminal) : terminal_(terminal), tables_(terminal.tables) {}
  virtual ~TransactionType() = default;
  // Draws the input of the next transaction.
  virtual void draw() = 0;
  // Executes the transaction with the latest input, also for a retry. Returns kOk to commit, kAbort
  // to abort, or kRollback for a NewOrder with an unused item number.
  virtual Status execute(Transaction& txn) = 0;
  // Encodes the part of the input that determines the writes into a command, or decodes it. A type
  // that does not override this function writes nothing.
  virtual void input(CommandFields&) {}

 protected:
  // Reads a row that the load created and no transaction deletes. Returns null if the transaction
  // must return kAbort at once. read_head() and update() do the same.
  template <class Row>
  static const Row* read(Transaction& txn, Table& table, Key key) {
    const Row* row;
    return found(txn.read(table, key, &row), table) ? row : nullptr;
  }
  template <class Row>
  static const Row* read_head(Transaction& txn, Table& table, Key key, uint32_t bytes) {
    const Row* row;
    return found(txn.read_head(table, key, bytes, &row), table) ? row : nullptr;
  }
  template <class Row>
  static Row* update(Transaction& txn, Table& table, Key key) {
    Row* row;
    return found(txn.update(table, key, &row), table) ? row : nullptr;
  }
  static bool found(Status status, const Table& table) {
    if (status != Status::kOk && status != Status::kAbort) die(status, table);
    return status == Status::kOk;
  }
  // This function is never inlined, so that its callers stay small enough to be inlined.
  [[gnu::cold, gnu::noinline]] static void die(Status status, const Table& table) {
    (void)found_or_die(status, ("tpcc: a row of " + table.schema().name).c_str());
  }

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0, district_ = 0;  // part of the input
};

// The five types in the order of clause 2.
enum Type : uint32_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
struct TypeInfo {
  std::string_view name;
  std::unique_ptr<TransactionType> (*make)(Terminal& terminal);
};
extern const std::array<TypeInfo, 5> kTypes;

}  // namespace logjam::tpcc
