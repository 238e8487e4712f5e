// TPC-B (specification 2.0): a transaction moves money at a teller. It updates the balances of an
// account, of the teller and of the teller's branch, and inserts a row of history.
#include "workloads/tpcb/tpcb.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "platform/text.h"
#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/flag_refusals.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"
#include "workloads/wrapping.h"
#include "workloads/zipf.h"

DEFINE_uint64(tpcb_branches, 10, "branches, of ten tellers each");
DEFINE_uint64(tpcb_accounts, 100'000, "accounts of a branch; the specification has 100000");
DEFINE_double(tpcb_theta, 0,
              "zipfian skew of branches, tellers and accounts, 0 to 5, as in Aether's experiments; "
              "0 is uniform, as in the specification");

namespace logjam::tpcb {
namespace {

constexpr uint64_t kMaxBranches = 100'000'000, kMaxAccounts = 10'000'000;
constexpr int64_t kMaxDelta = 999'999;
// The growth of HISTORY: 100 B for each of at most 2,500,000 transactions per second.
constexpr uint64_t kGrowthBytesS = 250'000'000;
enum Type : uint32_t { kHome, kAway };  // kHome: the account belongs to the teller's branch

// Aether's Fig. 3 varies "the skew of zipfian-distributed data accesses". These choosers skew the
// three choices that Aether's program, Shore-Kits (tpcb_input.cpp), skews: the branch, the teller
// in this branch, and the account in the account's branch. Number 0 is always the most popular.
struct Choosers {
  Choosers(const Scale& scale, double theta)
      : branches(scale.branches, theta),
        tellers(kTellers, theta),
        accounts(scale.accounts, theta) {}
  ZipfTable branches;
  ZipfTable tellers;   // of a branch
  ZipfTable accounts;  // of a branch
};

class TpcbClient : public Client {
 public:
  // `last_history` is the last key of HISTORY that this worker used in earlier processes.
  TpcbClient(const Scale& scale, const Choosers& choose, AckCounter& ack_counter,
             Database& database, uint32_t worker, uint64_t seed, Key last_history)
      : scale_(scale),
        choose_(choose),
        ack_counter_(ack_counter),
        tables_(database),
        random_(seed, worker),
        last_history_(last_history) {}
  ~TpcbClient() override { ack_counter_.add(acknowledged_); }

  // Draws any teller (clause 5.3). In 85 of 100 cases, and if there is only one branch, the account
  // belongs to the teller's branch. Otherwise the account belongs to any other branch.
  uint32_t next() override {
    const uint64_t home = choose_.branches.draw(random_);
    const Key teller = home * kTellers + choose_.tellers.draw(random_);
    uint64_t branch = home;
    if (scale_.branches > 1 && !random_.percent(85)) {
      branch = random_.below(scale_.branches - 1);
      if (branch >= home) ++branch;
    }
    LJ_ASSERT_IN_TESTS(branch < scale_.branches && teller / kTellers == home);
    const Key account = branch * scale_.accounts + choose_.accounts.draw(random_);
    const auto delta = static_cast<int32_t>(random_.between(-kMaxDelta, kMaxDelta));
    input_ = {++last_history_, account, static_cast<uint32_t>(teller), delta};
    return branch == home ? kHome : kAway;
  }

  // Executes the transaction profile (clause 1.2).
  Status execute(Transaction& txn) override {
    auto* const account =
        update_or_die<Account>(txn, tables_.account, input_.account, "tpcb: an account");
    if (account == nullptr) return Status::kAbort;
    add_to(account->balance, input_.delta);
    balance_shown_ = account->balance;

    const uint64_t branch_number = input_.teller / kTellers;
    History history{.account = input_.account,
                    .time = count_of(input_.history),
                    .teller = input_.teller,
                    .branch = static_cast<uint32_t>(branch_number),
                    .delta = input_.delta,
                    .filler = {}};
    if (!ok_or_die(txn.insert(tables_.history, input_.history, history), "tpcb: a history row",
                   " exists already, under a key of this worker's own")) {
      return Status::kAbort;
    }

    auto* const teller =
        update_or_die<Teller>(txn, tables_.teller, input_.teller, "tpcb: a teller");
    if (teller == nullptr) return Status::kAbort;
    add_to(teller->balance, input_.delta);

    auto* const branch =
        update_or_die<Branch>(txn, tables_.branch, branch_number, "tpcb: a branch");
    if (branch == nullptr) return Status::kAbort;
    add_to(branch->balance, input_.delta);
    return Status::kOk;
  }

  std::span<const std::byte> command() override { return std::as_bytes(std::span(&input_, 1)); }
  bool take(uint32_t, std::span<const std::byte> input) override {
    CommandFields fields(input);
    fields(input_);
    return fields.ended();
  }
  void acknowledged(uint64_t) override { ++acknowledged_; }

 private:
  struct Input {
    Key history = 0;
    Key account = 0;
    uint32_t teller = 0;
    int32_t delta = 0;
  };

  const Scale& scale_;
  const Choosers& choose_;
  AckCounter& ack_counter_;
  Tables tables_;
  Random random_;
  uint64_t acknowledged_ = 0;

  Input input_;
  Key last_history_;           // the worker's last key of HISTORY
  int64_t balance_shown_ = 0;  // the balance that the teller's terminal would display
};

using Sums = std::vector<int64_t>;

// A balance, or a sum of deltas, for each row. Threads set different elements, or add to an element
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
  BrokenRows strays;  // rows that were never loaded, and rows whose columns are wrong
  void stray(const std::string& table, Key key) {
    strays.note([&] { return "; first: " + table + " " + std::to_string(key); });
  }
  auto members() { return std::tie(rows, strays); }
};

// The number of history rows of one worker, and the largest count in their keys.
struct Counted {
  uint64_t rows = 0, last = 0;
};

struct HistoryCounts {
  Counts rows;
  std::map<uint64_t, Counted> by_worker;
  void add(HistoryCounts& other) {
    add_part(rows, other.rows);
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

void add(int64_t& sum, int64_t amount) {
  platform::atomic_ref<int64_t>(sum).fetch_add(amount, platform::memory_order_relaxed);
}

// Reads the balances of part number `part` of a table. fits(key, row) returns whether the row's
// foreign keys are right for its key.
template <class Row, class Fits>
void read_balances(Table& table, uint32_t part, uint32_t parts, Sums* balances, Counts* counts,
                   const Fits& fits) {
  table.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
    const auto& row = *reinterpret_cast<const Row*>(bytes);
    ++counts->rows;
    if (key < balances->size() && row.id == key && is_blank(row.filler) && fits(key, row)) {
      (*balances)[key] = row.balance;
    } else {
      counts->stray(table.schema().name, key);
    }
  });
}

HistoryCounts add_up_history(Table& history, Books* books) {
  return sum_of_parts(HistoryCounts{}, [&](uint32_t part, uint32_t parts, HistoryCounts* counts) {
    history.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
      const auto& row = *reinterpret_cast<const History*>(bytes);
      ++counts->rows.rows;
      Counted& counted = counts->by_worker[worker_of(key)];
      ++counted.rows;
      counted.last = std::max(counted.last, count_of(key));
      if (row.account >= books->accounts.size() || row.teller >= books->tellers.size() ||
          row.branch != row.teller / kTellers || row.time != count_of(key) ||
          !is_blank(row.filler)) {
        return counts->rows.stray("history", key);
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

// Checks that the counts in each worker's keys are 1, 2, 3, ... without a gap. A recovery makes no
// gap either: it keeps a prefix of each worker's transactions (workloads/previous_update.h).
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

// Checks the consistency conditions of clause 2.3. Also checks that every balance is the sum of the
// history's deltas, and that the history has a row for each acknowledged transaction.
std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& ack_counter) {
  Tables tables(database);
  Books is(scale), should_be(scale);
  const Counts balances = sum_of_parts(Counts{}, [&](uint32_t part, uint32_t parts,
                                                     Counts* counts) {
    read_balances<Branch>(tables.branch, part, parts, &is.branches, counts,
                          [](Key, const Branch&) { return true; });
    read_balances<Teller>(tables.teller, part, parts, &is.tellers, counts,
                          [](Key key, const Teller& row) { return row.branch == key / kTellers; });
    read_balances<Account>(
        tables.account, part, parts, &is.accounts, counts,
        [&](Key key, const Account& row) { return row.branch == key / scale.accounts; });
  });
  const HistoryCounts history = add_up_history(tables.history, &should_be);
  const uint64_t loaded = scale.branches * (1 + kTellers + scale.accounts);
  Sums by_tellers(scale.branches);
  for (size_t i = 0; i < is.tellers.size(); ++i) {
    add_to(by_tellers[i / kTellers], is.tellers[i]);
  }
  std::vector<Check> checks = {
      {"rows loaded are there", balances.rows == loaded && balances.strays.count == 0,
       std::to_string(balances.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
           std::to_string(balances.strays.count) + " strays" + balances.strays.first},
      {"history is of rows that exist", history.rows.strays.count == 0,
       std::to_string(history.rows.rows) + " rows, " + std::to_string(history.rows.strays.count) +
           " strays" + history.rows.strays.first},
      consecutive(history),
      same("branch balance = sum(teller balances)", is.branches, by_tellers, "branch"),
      same("branch balance = sum(history deltas)", is.branches, should_be.branches, "branch"),
      same("teller balance = sum(history deltas)", is.tellers, should_be.tellers, "teller"),
      same("account balance = sum(history deltas)", is.accounts, should_be.accounts, "account"),
  };
  ack_counter.check("a history row a transaction", history.rows.rows, &checks);
  return checks;
}

class Tpcb : public Workload {
 public:
  Tpcb(const Scale& scale, double theta) : scale_(scale), theta_(theta), choose_(scale, theta) {}

  void create_tables(Database& database) override {
    const uint64_t branches = scale_.branches, tellers = branches * kTellers;
    constexpr IndexKind kHash = IndexKind::kHash, kOrdered = IndexKind::kOrdered;
    // Declares each id, which repeats the row's key, as a field and not as a part of the key.
    Columns branch, teller, account, history;
    branch.field("b_id", &Branch::id).field("b_balance", &Branch::balance);
    teller.field("t_id", &Teller::id).field("t_b_id", &Teller::branch);
    teller.field("t_balance", &Teller::balance);
    account.field("a_id", &Account::id).field("a_b_id", &Account::branch);
    account.field("a_balance", &Account::balance);
    history.field("h_t_id", &History::teller).field("h_b_id", &History::branch);
    history.field("h_a_id", &History::account).field("h_delta", &History::delta);
    history.field("h_time", &History::time);
    database.create_table({"branch", sizeof(Branch), kHash, branches, {}, branch});
    database.create_table({"teller", sizeof(Teller), kHash, tellers, {}, teller});
    database.create_table({"account", sizeof(Account), kHash, accounts(), {}, account});
    database.create_table({"history", sizeof(History), kOrdered, 1024, {}, history});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Tables tables(database);
    for (Key b = part; b < scale_.branches; b += parts) {
      const Branch branch{.id = b, .balance = 0, .filler = {}};
      tables.branch.load(b, &branch, arena);
      for (Key t = b * kTellers; t < (b + 1) * kTellers; ++t) {
        const Teller teller{.id = t, .branch = b, .balance = 0, .filler = {}};
        tables.teller.load(t, &teller, arena);
      }
    }
    for (const Key a : part_of(accounts(), part, parts)) {
      const Account account{.id = a, .branch = a / scale_.accounts, .balance = 0, .filler = {}};
      tables.account.load(a, &account, arena);
    }
  }

  void resume(Database& database) override {
    Table& history = Tables(database).history;
    last_history_ = last_keys_of_workers(history, kCountBits);
    ack_counter_.resume(count_rows(history));
  }

  Specification spec() const override {
    const double away = scale_.branches > 1 ? 15 : 0;
    char text[200];
    std::snprintf(text, sizeof text, "tpcb: %lu branch%s, %lu tellers, %lu accounts, %s",
                  scale_.branches, scale_.branches == 1 ? "" : "es", scale_.branches * kTellers,
                  accounts(),
                  theta_ == 0 ? "uniform"
                              : ("branches, their tellers and their accounts zipfian, theta " +
                                 platform::shortest(theta_))
                                    .c_str());
    return {.description = text,
            .expected_bytes =
                table_bytes(scale_.branches * (1 + kTellers) + accounts(), sizeof(Account)),
            .growth_bytes_s = kGrowthBytesS,
            .types = {{"home-account", {{100 - away, 100}}}, {"away-account", {{away, 100}}}},
            .caution = [this](double tps) { return caution(tps); }};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    const auto last = last_history_.find(worker);
    return std::make_unique<TpcbClient>(
        scale_, choose_, ack_counter_, database, worker, seed,
        last == last_history_.end() ? history_key(worker, 0) : last->second);
  }

  std::vector<Check> verify(Database& database) override {
    return tpcb::verify(database, scale_, ack_counter_);
  }

 private:
  // Returns a sentence if the run breaks clause 4, which demands a branch, with its tellers and
  // accounts, for each reported transaction per second.
  std::string caution(double tps) const {
    if (tps <= static_cast<double>(scale_.branches)) return "";
    char text[160];
    std::snprintf(text, sizeof text,
                  "TPC-B wants a branch for each transaction a second (clause 4): %.0f "
                  "branches for this rate, and --tpcb_branches=%lu",
                  tps, scale_.branches);
    return text;
  }

  uint64_t accounts() const { return scale_.branches * scale_.accounts; }

  const Scale scale_;
  const double theta_;
  const Choosers choose_;
  AckCounter ack_counter_;
  std::map<uint64_t, Key> last_history_;  // by worker of earlier processes
};

std::string check_flags() {
  return first_refusal(
      {refuse_outside("tpcb_branches", FLAGS_tpcb_branches, 1, kMaxBranches),
       refuse_outside("tpcb_accounts", FLAGS_tpcb_accounts, 1, kMaxAccounts),
       FLAGS_tpcb_theta >= 0 && FLAGS_tpcb_theta <= 5 ? "" : "--tpcb_theta is 0 to 5"});
}

const WorkloadRegistration registration({
    .name = "tpcb",
    .what = "TPC-B: an account, a teller and a branch updated, a history row inserted",
    .memory = "16 MB a branch of 100,000 accounts",
    .load_flags = {"tpcb_branches", "tpcb_accounts"},
    .check_flags = check_flags,
    .make =
        [] {
          const Scale scale{.branches = FLAGS_tpcb_branches, .accounts = FLAGS_tpcb_accounts};
          return std::make_unique<Tpcb>(scale, FLAGS_tpcb_theta);
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::tpcb
