// What the transaction types share: one client's random numbers, tables and home, and how a type
// is plugged in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/transaction.h"
#include "platform/fatal.h"
#include "workloads/command.h"
#include "workloads/random.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// How often something was drawn, of how many times it could have been.
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

// What the specification prescribes shares of.
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

// What a real terminal would display. Most of it is one sum, which keeps the compiler from dropping
// what computes it.
struct Screen {
  uint64_t text = 0;
  // Of the last Order-Status.
  Key customer = 0;
  uint64_t order = 0;
  uint32_t lines = 0;
  // Of the last Stock-Level.
  uint32_t low_stock = 0;
};

// One client's; its random numbers are drawn in TransactionType::draw() only, so that a retry sees
// the same input.
struct Terminal {
  Terminal(Database& database, const Scale& scale_in, uint32_t worker_in, bool fixed_home,
           uint64_t seed)
      : scale(scale_in),
        tables(database),
        worker(worker_in),
        fixed_warehouse(fixed_home ? worker % scale.warehouses + 1 : 0),
        fixed_district(worker / scale.warehouses % kDistricts + 1),
        random(seed, worker),
        constants(NuRandConstants::of_run(seed)) {}

  uint32_t draw_warehouse() {
    return fixed_warehouse != 0 ? fixed_warehouse : draw_number(scale.warehouses);
  }
  // Another warehouse than `home`; `home` if there is no other.
  uint32_t draw_remote_warehouse(uint32_t home) {
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
  // In [1, n].
  uint32_t draw_number(uint32_t n) { return static_cast<uint32_t>(random.below(n)) + 1; }
  Date draw_date() { return ++clock; }

  const Scale& scale;
  Tables tables;
  const uint32_t worker;
  const uint32_t fixed_warehouse;  // 0: any
  const uint32_t fixed_district;   // Stock-Level's
  Random random;
  const NuRandConstants constants;
  Date clock = kLoadDate;
  Screen screen;
  Drawn drawn;
};

// One type of transaction at one terminal.
class TransactionType {
 public:
  virtual ~TransactionType() = default;
  virtual void draw() = 0;
  virtual Status execute(Transaction& txn) = 0;
  // All of what draw() drew that decides what is written.
  virtual void input(CommandFields& fields) = 0;
};

std::unique_ptr<TransactionType> make_new_order(Terminal& terminal);
std::unique_ptr<TransactionType> make_payment(Terminal& terminal);
std::unique_ptr<TransactionType> make_order_status(Terminal& terminal);
std::unique_ptr<TransactionType> make_delivery(Terminal& terminal);
std::unique_ptr<TransactionType> make_stock_level(Terminal& terminal);

// The five types of clause 2, in its order, with the shares of clause 5.2.3: what it leaves of the
// least shares of the other four is NewOrder's.
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

// For rows that exist as long as the database does: false if the transaction must give up.
inline bool found(Status status, const char* table) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string("tpcc: a loaded row of table ") + table + " is missing",
                    platform::kExitViolation);
  }
  return true;
}

}  // namespace logjam::tpcc
