// SmallBank's three tables (Alomari et al., "The Cost of Serializability on Platforms That Use
// Snapshot Isolation", ICDE 2008). A customer has an account, a savings balance and a checking
// balance. Customers are numbered from 0. The key of `account` is the number in the customer's
// name, and the keys of `savings` and `checking` are the customer's number.
#pragma once

#include <array>

#include "engine/storage/database.h"
#include "workloads/previous_update.h"
#include "workloads/random.h"

namespace logjam::smallbank {

// The types of transactions, as a command and a trace number them.
enum Type : uint32_t {
  kAmalgamate,
  kBalance,
  kDepositChecking,
  kSendPayment,
  kTransactSavings,
  kWriteCheck,
  kTypeCount
};

using Name = std::array<char, 64>;  // a number in decimal, padded with zeros

struct Account {
  uint64_t customer;
  Name name;
};

// A row of `savings` or of `checking`. Besides the balance, it has members for verify(). `outside`
// is the part of the balance that did not come from another balance: the loaded amount, plus
// deposits, minus withdrawals, checks and penalties. So the sum of `outside` over all rows is the
// sum of all balances, unless half of a transaction between two balances is lost.
struct Balance {
  int64_t cents;
  int64_t outside;
  uint64_t updates;
  PreviousUpdate previous;
};
static_assert(std::has_unique_object_representations_v<Account> &&
              std::has_unique_object_representations_v<Balance>);

enum Kind : uint32_t { kSavings, kChecking };

// Returns the name of a balance in a PreviousUpdate.
constexpr uint32_t balance_key(Key customer, Kind kind) {
  return static_cast<uint32_t>(customer << 1 | kind);
}

inline constexpr int64_t kLeastLoaded = 10'000'00, kMostLoaded = 50'000'00;  // cents

// Returns the cents of a balance after the load: a whole amount, and any amount is as likely.
constexpr int64_t loaded_cents(Key customer, Kind kind) {
  constexpr uint64_t kAmounts = (kMostLoaded - kLeastLoaded) / 100 + 1;
  const uint64_t drawn = mix64(balance_key(customer, kind)) % kAmounts;
  return kLeastLoaded + static_cast<int64_t>(drawn) * 100;
}

inline Name name_of(uint64_t customer) {
  Name name;
  for (size_t i = name.size(); i > 0; customer /= 10) {
    name[--i] = static_cast<char>('0' + customer % 10);
  }
  return name;
}

struct Tables {
  explicit Tables(Database& database_in) : database(database_in) {}
  Table& of(Kind kind) { return kind == kSavings ? savings : checking; }

  Database& database;
  Table& account = database.table("account");
  Table& savings = database.table("savings");
  Table& checking = database.table("checking");
};

}  // namespace logjam::smallbank
