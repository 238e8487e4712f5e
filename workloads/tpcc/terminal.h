// The terminal that the five transaction types of a client share: its random numbers, tables and
// home warehouses. Also the interface and the list of the transaction types.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/transaction.h"
#include "workloads/command.h"
#include "workloads/random.h"
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
  void add(const Tries& other) {
    hits += other.hits;
    all += other.all;
  }
};

// The outcomes of draws for which the specification prescribes shares.
struct Drawn {
  Tries remote_lines, unused_items, remote_payments, named, skipped;

  void add(const Drawn& other) {
    remote_lines.add(other.remote_lines);
    unused_items.add(other.unused_items);
    remote_payments.add(other.remote_payments);
    named.add(other.named);
    skipped.add(other.skipped);
  }
};

// The output that a real terminal would display. Most values go into one sum, so that the compiler
// cannot drop their computation.
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

// The terminal of one client. Its worker alone uses it. Only TransactionType::draw() draws random
// numbers, so that a retry executes the same input.
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
  uint64_t payments = 0;  // drawn by this worker; each has a key of HISTORY
  Screen screen;
  Drawn drawn;
};

// One type of transaction at one terminal. The terminal's worker alone calls it.
class TransactionType {
 public:
  virtual ~TransactionType() = default;
  // Draws the input of the next transaction.
  virtual void draw() = 0;
  // Executes the transaction with the present input. The worker may call it several times for one
  // input. Returns kOk to commit, kAbort if the transaction must abort, or kRollback for a NewOrder
  // with an unused item.
  virtual Status execute(Transaction& txn) = 0;
  // Encodes the part of the input that determines the writes into a command, or decodes it.
  virtual void input(CommandFields& fields) = 0;
};

std::unique_ptr<TransactionType> make_new_order(Terminal& terminal);
std::unique_ptr<TransactionType> make_payment(Terminal& terminal);
std::unique_ptr<TransactionType> make_order_status(Terminal& terminal);
std::unique_ptr<TransactionType> make_delivery(Terminal& terminal);
std::unique_ptr<TransactionType> make_stock_level(Terminal& terminal);

// The five types in the order of clause 2. The shares of four types are the minimum shares of
// clause 5.2.3, and NewOrder has the rest.
struct TypeInfo {
  std::string_view name;
  std::unique_ptr<TransactionType> (*make)(Terminal& terminal);
  uint32_t standard_pct;
};
inline constexpr std::array<TypeInfo, 5> kTypes = {{
    {"new-order", make_new_order, 45},
    {"payment", make_payment, 43},
    {"order-status", make_order_status, 4},
    {"delivery", make_delivery, 4},
    {"stock-level", make_stock_level, 4},
}};

}  // namespace logjam::tpcc
