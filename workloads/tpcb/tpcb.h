// TPC-B's four tables (specification 2.0, clause 3.2), and their checks. Rows have 100 bytes,
// history rows 50.
//
// A branch has ten tellers and 100,000 accounts; tests may use fewer accounts. The numbers of
// branches, tellers and accounts begin at 0. Teller t belongs to branch t / 10, and account a
// belongs to branch a / Scale::accounts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/storage/database.h"
#include "engine/workload.h"
#include "platform/assert.h"
#include "workloads/ack_counter.h"

namespace logjam::tpcb {

inline constexpr uint64_t kTellers = 10;  // of a branch

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
  uint64_t time;  // the worker's count of transactions, so that a run follows from its seed
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
constexpr Key history_key(uint32_t worker, uint64_t count) {
  LJ_ASSERT_IN_TESTS(count >> kCountBits == 0);
  return Key{worker} << kCountBits | count;
}
constexpr uint64_t worker_of(Key history) { return history >> kCountBits; }
constexpr uint64_t count_of(Key history) { return history & ((Key{1} << kCountBits) - 1); }

// Returns the columns, for exports. The column of an id is a member that repeats the row's key.
inline Columns branch_columns() {
  return Columns().field("b_id", &Branch::id).field("b_balance", &Branch::balance);
}
inline Columns teller_columns() {
  return Columns()
      .field("t_id", &Teller::id)
      .field("t_b_id", &Teller::branch)
      .field("t_balance", &Teller::balance);
}
inline Columns account_columns() {
  return Columns()
      .field("a_id", &Account::id)
      .field("a_b_id", &Account::branch)
      .field("a_balance", &Account::balance);
}
inline Columns history_columns() {
  return Columns()
      .field("h_t_id", &History::teller)
      .field("h_b_id", &History::branch)
      .field("h_a_id", &History::account)
      .field("h_delta", &History::delta)
      .field("h_time", &History::time);
}

struct Scale {
  uint64_t branches = 1;
  uint64_t accounts = 100'000;  // of a branch
};

struct Tables {
  explicit Tables(Database& database)
      : branch(database.table("branch")),
        teller(database.table("teller")),
        account(database.table("account")),
        history(database.table("history")) {}
  Table& branch;
  Table& teller;
  Table& account;
  Table& history;
};

// Checks the consistency conditions of clause 2.3. Also checks that every balance is the sum of the
// history's deltas, and that the history has a row for each acknowledged transaction. Call it when
// no transaction runs.
std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& ack_counter);

}  // namespace logjam::tpcb
