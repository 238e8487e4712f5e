#include "workloads/tpcb/verify.h"

#include <string>

namespace logjam::tpcb {
namespace {

using Sums = std::vector<int64_t>;

struct Books {
  explicit Books(const Scale& scale)
      : branches(scale.branches),
        tellers(scale.branches * kTellers),
        accounts(scale.branches * scale.accounts) {}
  Sums branches, tellers, accounts;
  uint64_t rows = 0;
  uint64_t strays = 0;  // rows under keys that do not exist, or that contradict their key
};

template <class Row>
const Row& as(const std::byte* row) {
  return *reinterpret_cast<const Row*>(row);
}

Books read_balances(Tables& tables, const Scale& scale) {
  Books books(scale);
  const auto note = [&](Sums& sums, Key key, bool sound, int64_t balance) {
    ++books.rows;
    if (key < sums.size() && sound) {
      sums[key] = balance;
    } else {
      ++books.strays;
    }
  };
  tables.branch.for_each_row([&](Key key, const std::byte* bytes) {
    const auto& row = as<Branch>(bytes);
    note(books.branches, key, row.id == key, row.balance);
  });
  tables.teller.for_each_row([&](Key key, const std::byte* bytes) {
    const auto& row = as<Teller>(bytes);
    note(books.tellers, key, row.id == key && row.branch == key / kTellers, row.balance);
  });
  tables.account.for_each_row([&](Key key, const std::byte* bytes) {
    const auto& row = as<Account>(bytes);
    note(books.accounts, key, row.id == key && row.branch == key / scale.accounts, row.balance);
  });
  return books;
}

Books add_up_history(Tables& tables, const Scale& scale) {
  Books books(scale);
  tables.history.for_each_row([&](Key, const std::byte* bytes) {
    const auto& row = as<History>(bytes);
    ++books.rows;
    if (row.account >= books.accounts.size() || row.teller >= books.tellers.size() ||
        row.branch != row.teller / kTellers) {
      ++books.strays;
      return;
    }
    books.accounts[row.account] += row.delta;
    books.tellers[row.teller] += row.delta;
    books.branches[row.branch] += row.delta;
  });
  return books;
}

Check same(const std::string& name, const Sums& balances, const Sums& sums, const char* what) {
  uint64_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < balances.size(); ++i) {
    if (balances[i] == sums[i] || wrong++ > 0) continue;
    first = std::string("; first: ") + what + " " + std::to_string(i) + " has " +
            std::to_string(balances[i]) + ", not " + std::to_string(sums[i]);
  }
  return {name, wrong == 0,
          wrong == 0 ? "holds, " + std::to_string(balances.size()) + " checked"
                     : std::to_string(wrong) + " of " + std::to_string(balances.size()) +
                           " differ" + first};
}

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale, const Tally& tally) {
  Tables tables(database);
  const Books is = read_balances(tables, scale);
  const Books should_be = add_up_history(tables, scale);
  const uint64_t loaded = scale.branches * (1 + kTellers + scale.accounts);
  Sums by_tellers(scale.branches);
  for (size_t i = 0; i < is.tellers.size(); ++i) by_tellers[i / kTellers] += is.tellers[i];
  std::vector<Check> checks = {
      {"rows loaded are there", is.rows == loaded && is.strays == 0,
       std::to_string(is.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
           std::to_string(is.strays) + " strays"},
      {"history is of rows that exist", should_be.strays == 0,
       std::to_string(should_be.rows) + " rows, " + std::to_string(should_be.strays) + " strays"},
      same("branch balance = sum(teller balances)", is.branches, by_tellers, "branch"),
      same("branch balance = sum(history deltas)", is.branches, should_be.branches, "branch"),
      same("teller balance = sum(history deltas)", is.tellers, should_be.tellers, "teller"),
      same("account balance = sum(history deltas)", is.accounts, should_be.accounts, "account"),
  };
  tally.check("a history row a transaction", should_be.rows, &checks);
  return checks;
}

}  // namespace logjam::tpcb
