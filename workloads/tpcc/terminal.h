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
#include "workloads/random.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// One client's; its random numbers are drawn in TransactionType::draw() only, so that a retry sees
// the same input.
struct Terminal {
  Terminal(Database& database, const Scale& scale_in, uint32_t worker_in, bool fixed_home,
           uint64_t seed)
      : scale(scale_in),
        tables(database),
        worker(worker_in),
        fixed_warehouse(fixed_home ? worker % scale.warehouses + 1 : 0),
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
  Random random;
  const NuRandConstants constants;
  Date clock = kLoadDate;
  // What a real terminal would display; keeps the compiler from dropping what computes it.
  uint64_t displayed = 0;
};

// One type of transaction at one terminal.
class TransactionType {
 public:
  virtual ~TransactionType() = default;
  virtual void draw() = 0;
  virtual Status execute(Transaction& txn) = 0;
};

std::unique_ptr<TransactionType> make_new_order(Terminal& terminal);
std::unique_ptr<TransactionType> make_payment(Terminal& terminal);

// The five types of clause 2, in its order, by which --tpcc_mix names them. Those to come have no
// `make`; they must be the last.
struct TypeInfo {
  std::string_view name;
  std::unique_ptr<TransactionType> (*make)(Terminal& terminal);
};
inline constexpr std::array<TypeInfo, 5> kTypes = {{
    {"new-order", make_new_order},
    {"payment", make_payment},
    {"order-status", nullptr},
    {"delivery", nullptr},
    {"stock-level", nullptr},
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
