// TPC-B (specification 2.0): a transaction moves money at a teller. It updates the balances of an
// account, of the teller and of the teller's branch, and inserts a row of history.
#include "workloads/tpcb/tpcb.h"

#include <gflags/gflags.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/workload.h"
#include "platform/text.h"
#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/parallel_check.h"
#include "workloads/random.h"
#include "workloads/table_checks.h"
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
// The rows of HISTORY: 100 B for each of at most 2,000,000 transactions a second.
constexpr uint64_t kGrowthBytesS = 200'000'000;
enum Type : uint32_t { kHome, kAway };  // the account belongs to the teller's branch, or does not

// Aether's Fig. 3 varies "the skew of zipfian-distributed data accesses". Its program, Shore-Kits
// (tpcb_input.cpp), skews three draws: of the branch, of the teller in the branch, and of the
// account in the account's branch. Row 0 is the hottest of each.
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
  // Makes a client. `last_history` is the key of the worker's last history row of earlier lives.
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
  // belongs to the teller's branch. Otherwise it belongs to any other branch.
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
    Account* account;
    if (!found_or_die(txn.update(tables_.account, input_.account, &account), "tpcb: an account")) {
      return Status::kAbort;
    }
    account->balance += input_.delta;
    balance_shown_ = account->balance;

    const uint64_t branch_number = input_.teller / kTellers;
    History history{.account = input_.account,
                    .time = count_of(input_.history),
                    .teller = input_.teller,
                    .branch = static_cast<uint32_t>(branch_number),
                    .delta = input_.delta,
                    .filler = {}};
    if (!inserted_or_die(txn.insert(tables_.history, input_.history, history),
                         "tpcb: a history row")) {
      return Status::kAbort;
    }

    Teller* teller;
    if (!found_or_die(txn.update(tables_.teller, input_.teller, &teller), "tpcb: a teller")) {
      return Status::kAbort;
    }
    teller->balance += input_.delta;

    Branch* branch;
    if (!found_or_die(txn.update(tables_.branch, branch_number, &branch), "tpcb: a branch")) {
      return Status::kAbort;
    }
    branch->balance += input_.delta;
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

class Tpcb : public Workload {
 public:
  Tpcb(const Scale& scale, double theta) : scale_(scale), theta_(theta), choose_(scale, theta) {}

  void create_tables(Database& database) override {
    const uint64_t branches = scale_.branches, tellers = branches * kTellers;
    database.create_table(
        {"branch", sizeof(Branch), IndexKind::kHash, branches, {}, branch_columns()});
    database.create_table(
        {"teller", sizeof(Teller), IndexKind::kHash, tellers, {}, teller_columns()});
    database.create_table(
        {"account", sizeof(Account), IndexKind::kHash, accounts(), {}, account_columns()});
    database.create_table(
        {"history", sizeof(History), IndexKind::kOrdered, 1024, {}, history_columns()});
  }

  // Loads all rows with balances of 0. The history is empty.
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
    for (Key a = accounts() * part / parts; a < accounts() * (part + 1) / parts; ++a) {
      const Account account{.id = a, .branch = a / scale_.accounts, .balance = 0, .filler = {}};
      tables.account.load(a, &account, arena);
    }
  }

  void resume(Database& database) override {
    Table& history = Tables(database).history;
    last_history_ = last_keys_of_workers(history, kCountBits, ~Key{0});
    ack_counter_.resume(count_rows(history));
  }

  Specification spec() const override {
    const double away = scale_.branches > 1 ? 15 : 0;
    return {.description = description(),
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
  std::string description() const {
    char text[200];
    std::snprintf(text, sizeof text, "tpcb: %lu branch%s, %lu tellers, %lu accounts, %s",
                  scale_.branches, scale_.branches == 1 ? "" : "es", scale_.branches * kTellers,
                  accounts(),
                  theta_ == 0 ? "uniform"
                              : ("branches, their tellers and their accounts zipfian, theta " +
                                 platform::shortest(theta_))
                                    .c_str());
    return text;
  }

  // Returns a sentence if the run breaks clause 4, scaling: the database has a branch, with its
  // tellers and accounts, for each transaction a second that is reported.
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
  if (FLAGS_tpcb_branches < 1 || FLAGS_tpcb_branches > kMaxBranches) {
    return "--tpcb_branches is 1 to " + std::to_string(kMaxBranches);
  }
  if (FLAGS_tpcb_accounts < 1 || FLAGS_tpcb_accounts > kMaxAccounts) {
    return "--tpcb_accounts is 1 to " + std::to_string(kMaxAccounts);
  }
  if (!(FLAGS_tpcb_theta >= 0 && FLAGS_tpcb_theta <= 5)) return "--tpcb_theta is 0 to 5";
  return "";
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
