#include "workloads/tpcb/verify.h"

#include <string>

#include "platform/atomic.h"

namespace logjam::tpcb {
namespace {

using Sums = std::vector<int64_t>;

// Threads fill different rows' places, or add to one place atomically.
struct Books {
  explicit Books(const Scale& scale)
      : branches(scale.branches),
        tellers(scale.branches * kTellers),
        accounts(scale.branches * scale.accounts) {}
  Sums branches, tellers, accounts;
};

struct Counts {
  uint64_t rows = 0;
  uint64_t strays = 0;  // rows under keys that do not exist, or that contradict their key
  void add(const Counts& other) {
    rows += other.rows;
    strays += other.strays;
  }
};

template <class Row>
const Row& as(const std::byte* row) {
  return *reinterpret_cast<const Row*>(row);
}

void add(int64_t& sum, int64_t amount) {
  platform::atomic_ref<int64_t>(sum).fetch_add(amount, platform::memory_order_relaxed);
}

Counts read_balances(Tables& tables, const Scale& scale, Books* books) {
  return sum_of_parts(Counts{}, [&](uint32_t part, uint32_t parts, Counts* counts) {
    const auto note = [&](Sums& sums, Key key, bool sound, int64_t balance) {
      ++counts->rows;
      if (key < sums.size() && sound) {
        sums[key] = balance;
      } else {
        ++counts->strays;
      }
    };
    tables.branch.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Branch>(bytes);
      note(books->branches, key, row.id == key, row.balance);
    });
    tables.teller.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Teller>(bytes);
      note(books->tellers, key, row.id == key && row.branch == key / kTellers, row.balance);
    });
    tables.account.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Account>(bytes);
      note(books->accounts, key, row.id == key && row.branch == key / scale.accounts, row.balance);
    });
  });
}

Counts add_up_history(Tables& tables, Books* books) {
  return sum_of_parts(Counts{}, [&](uint32_t part, uint32_t parts, Counts* counts) {
    tables.history.for_each_row(part, parts, [&](Key, const std::byte* bytes) {
      const auto& row = as<History>(bytes);
      ++counts->rows;
      if (row.account >= books->accounts.size() || row.teller >= books->tellers.size() ||
          row.branch != row.teller / kTellers) {
        ++counts->strays;
        return;
      }
      add(books->accounts[row.account], row.delta);
      add(books->tellers[row.teller], row.delta);
      add(books->branches[row.branch], row.delta);
    });
  });
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

std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& ack_counter) {
  Tables tables(database);
  Books is(scale), should_be(scale);
  const Counts balances = read_balances(tables, scale, &is);
  const Counts history = add_up_history(tables, &should_be);
  const uint64_t loaded = scale.branches * (1 + kTellers + scale.accounts);
  Sums by_tellers(scale.branches);
  for (size_t i = 0; i < is.tellers.size(); ++i) by_tellers[i / kTellers] += is.tellers[i];
  std::vector<Check> checks = {
      {"rows loaded are there", balances.rows == loaded && balances.strays == 0,
       std::to_string(balances.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
           std::to_string(balances.strays) + " strays"},
      {"history is of rows that exist", history.strays == 0,
       std::to_string(history.rows) + " rows, " + std::to_string(history.strays) + " strays"},
      same("branch balance = sum(teller balances)", is.branches, by_tellers, "branch"),
      same("branch balance = sum(history deltas)", is.branches, should_be.branches, "branch"),
      same("teller balance = sum(history deltas)", is.tellers, should_be.tellers, "teller"),
      same("account balance = sum(history deltas)", is.accounts, should_be.accounts, "account"),
  };
  ack_counter.check("a history row a transaction", history.rows, &checks);
  return checks;
}

}  // namespace logjam::tpcb
