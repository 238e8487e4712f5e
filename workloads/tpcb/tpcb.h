// TPC-B's four tables (specification 2.0, clause 3.2). Rows of HISTORY have 50 bytes, and all other
// rows have 100 bytes.
//
// A branch has ten tellers and 100,000 accounts; tests may use fewer accounts. The numbers of
// branches, tellers and accounts begin at 0. Teller `t` belongs to branch `t / 10`, and account `a`
// belongs to branch `a / Scale::accounts`.
#pragma once

#include "engine/storage/database.h"
#include "platform/assert.h"
#include "platform/most_workers.h"

namespace logjam::tpcb {

inline constexpr uint64_t kTellers = 10;

// The structs are packed to the sizes of the specification. All numbers are aligned nevertheless,
// because rows begin at multiples of 8 bytes.
#pragma pack(push, 4)
struct Branch {
  uint64_t id;
  int64_t balance;
  char filler[84];
};
struct Teller {
  uint64_t id;
  uint64_t branch;
  int64_t balance;
  char filler[76];
};
struct Account {
  uint64_t id;
  uint64_t branch;
  int64_t balance;
  char filler[76];
};
#pragma pack(pop)
#pragma pack(push, 2)
struct History {
  uint64_t account;
  uint64_t time;  // the worker's count of transactions; a time would not follow from the run's seed
  uint32_t teller;
  uint32_t branch;  // the teller's branch; the account may belong to another branch
  int32_t delta;
  char filler[22];
};
#pragma pack(pop)
static_assert(sizeof(Branch) == 100 && sizeof(Teller) == 100 && sizeof(Account) == 100);
static_assert(sizeof(History) == 50);

// The key of a history row: a worker, and the worker's count of transactions, from 1. A retry uses
// the same count, so a worker's rows have consecutive counts.
inline constexpr int kCountBits = 40;
static_assert(platform::kMostWorkers <= ~Key{0} >> kCountBits);
constexpr Key history_key(uint32_t worker, uint64_t count) {
  LJ_ASSERT_IN_TESTS(count >> kCountBits == 0);
  return Key{worker} << kCountBits | count;
}
constexpr uint64_t worker_of(Key history) { return history >> kCountBits; }
constexpr uint64_t count_of(Key history) { return history & ((Key{1} << kCountBits) - 1); }

struct Scale {
  uint64_t branches = 1;
  uint64_t accounts = 100'000;  // in each branch
};

struct Tables {
  explicit Tables(Database& database_in) : database(database_in) {}
  Database& database;
  Table& branch = database.table("branch");
  Table& teller = database.table("teller");
  Table& account = database.table("account");
  Table& history = database.table("history");
};

}  // namespace logjam::tpcb
