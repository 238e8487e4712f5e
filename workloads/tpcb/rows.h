// TPC-B's four tables (specification 2.0, clause 3.2): rows of 100 bytes, history rows of 50.
//
// A branch has ten tellers and, unless a test wants fewer, 100,000 accounts. All are numbered from
// 0: teller t belongs to branch t / 10, account a to branch a / accounts.
#pragma once

#include <cstdint>

#include "engine/storage/database.h"

namespace logjam::tpcb {

inline constexpr uint64_t kTellers = 10;  // of a branch

// Packed to the sizes the specification asks for; rows are 8-byte aligned, and so are all numbers.
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
  uint64_t time;  // counts its worker's transactions, so that a run is a function of its seed
  uint32_t teller;
  uint32_t branch;  // the teller's; the account may be of another
  int32_t delta;
  char filler[22];
};
#pragma pack(pop)
static_assert(sizeof(Branch) == 100 && sizeof(Teller) == 100 && sizeof(Account) == 100);
static_assert(sizeof(History) == 50);

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

}  // namespace logjam::tpcb
