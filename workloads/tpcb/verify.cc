#include <algorithm>
#include <map>
#include <string>

#include "platform/atomic.h"
#include "workloads/parallel_check.h"
#include "workloads/tpcb/tpcb.h"

namespace logjam::tpcb {
namespace {

using Sums = std::vector<int64_t>;

// The balances, by row. Threads set the elements of different rows, or add to an element
// atomically.
struct Books {
  explicit Books(const Scale& scale)
      : branches(scale.branches),
        tellers(scale.branches * kTellers),
        accounts(scale.branches * scale.accounts) {}
  Sums branches, tellers, accounts;
};

struct Counts {
  uint64_t rows = 0;
  BrokenRows strays;  // rows under keys that were never loaded, and rows that contradict their key
  void stray(const char* table, Key key) {
    strays.note([&] { return std::string("; first: ") + table + " " + std::to_string(key); });
  }
  void add(const Counts& other) {
    rows += other.rows;
    strays.add(other.strays);
  }
};

// The history rows of one worker.
struct Counted {
  uint64_t rows = 0, last = 0;
};

struct HistoryCounts : Counts {
  std::map<uint64_t, Counted> by_worker;
  void add(const HistoryCounts& other) {
    Counts::add(other);
    for (const auto& [worker, counted] : other.by_worker) {
      Counted& sum = by_worker[worker];
      sum.rows += counted.rows;
      sum.last = std::max(sum.last, counted.last);
    }
  }
};

template <size_t N>
bool is_blank(const char (&filler)[N]) {
  return std::ranges::count(filler, '\0') == N;
}

template <class Row>
const Row& as(const std::byte* row) {
  return *reinterpret_cast<const Row*>(row);
}

void add(int64_t& sum, int64_t amount) {
  platform::atomic_ref<int64_t>(sum).fetch_add(amount, platform::memory_order_relaxed);
}

Counts read_balances(Tables& tables, const Scale& scale, Books* books) {
  return sum_of_parts(Counts{}, [&](uint32_t part, uint32_t parts, Counts* counts) {
    const auto note = [&](const char* table, Sums& sums, Key key, bool sound, int64_t balance) {
      ++counts->rows;
      if (key < sums.size() && sound) {
        sums[key] = balance;
      } else {
        counts->stray(table, key);
      }
    };
    tables.branch.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Branch>(bytes);
      note("branch", books->branches, key, row.id == key && is_blank(row.filler), row.balance);
    });
    tables.teller.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Teller>(bytes);
      const bool sound = row.id == key && row.branch == key / kTellers && is_blank(row.filler);
      note("teller", books->tellers, key, sound, row.balance);
    });
    tables.account.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<Account>(bytes);
      const bool sound =
          row.id == key && row.branch == key / scale.accounts && is_blank(row.filler);
      note("account", books->accounts, key, sound, row.balance);
    });
  });
}

HistoryCounts add_up_history(Tables& tables, Books* books) {
  return sum_of_parts(HistoryCounts{}, [&](uint32_t part, uint32_t parts, HistoryCounts* counts) {
    tables.history.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = as<History>(bytes);
      ++counts->rows;
      Counted& counted = counts->by_worker[worker_of(key)];
      ++counted.rows;
      counted.last = std::max(counted.last, count_of(key));
      if (row.account >= books->accounts.size() || row.teller >= books->tellers.size() ||
          row.branch != row.teller / kTellers || row.time != count_of(key) ||
          !is_blank(row.filler)) {
        return counts->stray("history", key);
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

// Checks that the numbers of each worker's rows are 1, 2, 3, ... without a gap. A missing row was
// lost although a later row was not. This holds after a recovery too (workloads/previous_update.h).
Check consecutive(const HistoryCounts& history) {
  BrokenRows gaps;
  for (const auto& [worker, counted] : history.by_worker) {
    if (counted.rows == counted.last) continue;
    gaps.note([&, worker = worker, counted = counted] {
      return "; first: of worker " + std::to_string(worker) + "'s " + std::to_string(counted.last) +
             " there are " + std::to_string(counted.rows);
    });
  }
  return {"no history row of a worker is missing before a later one", gaps.count == 0,
          std::to_string(history.by_worker.size()) + " workers, " + std::to_string(gaps.count) +
              " with gaps" + gaps.first};
}

}  // namespace

std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& ack_counter) {
  Tables tables(database);
  Books is(scale), should_be(scale);
  const Counts balances = read_balances(tables, scale, &is);
  const HistoryCounts history = add_up_history(tables, &should_be);
  const uint64_t loaded = scale.branches * (1 + kTellers + scale.accounts);
  Sums by_tellers(scale.branches);
  for (size_t i = 0; i < is.tellers.size(); ++i) by_tellers[i / kTellers] += is.tellers[i];
  std::vector<Check> checks = {
      {"rows loaded are there", balances.rows == loaded && balances.strays.count == 0,
       std::to_string(balances.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
           std::to_string(balances.strays.count) + " strays" + balances.strays.first},
      {"history is of rows that exist", history.strays.count == 0,
       std::to_string(history.rows) + " rows, " + std::to_string(history.strays.count) + " strays" +
           history.strays.first},
      consecutive(history),
      same("branch balance = sum(teller balances)", is.branches, by_tellers, "branch"),
      same("branch balance = sum(history deltas)", is.branches, should_be.branches, "branch"),
      same("teller balance = sum(history deltas)", is.tellers, should_be.tellers, "teller"),
      same("account balance = sum(history deltas)", is.accounts, should_be.accounts, "account"),
  };
  ack_counter.check("a history row a transaction", history.rows, &checks);
  return checks;
}

}  // namespace logjam::tpcb
