// SmallBank: a bank's customers, each with a savings balance and a checking balance, and six short
// transactions. The five transactions of Alomari et al. (ICDE 2008) do what the paper says. The
// sixth, SendPayment, the shares of all six, the amounts and the loaded balances are those of
// H-Store's and BenchBase's SmallBank.
//
// There are three deviations from BenchBase. Its Amalgamate loses and invents money: it adds
// balances of two customers, and subtracts the sum from a third balance; the paper's moves all
// money of one customer to another. Its TransactSavings only withdraws; the paper's deposits or
// withdraws, and here each is as likely, or savings would never grow again after an Amalgamate.
// BenchBase loads balances that are normally distributed, and here they are uniform.
#include "workloads/smallbank/smallbank.h"

#include <gflags/gflags.h>

#include "platform/flag_list.h"
#include "platform/text.h"
#include "workloads/ack_counter.h"
#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/flag_refusals.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"
#include "workloads/wrapping.h"

DEFINE_uint64(smallbank_accounts, 1'000'000,
              "customers, each with two balances; BenchBase has 1000000, Alomari et al. 18000");
DEFINE_string(smallbank_hot, "",
              "hot customers and their share of the transactions, as accounts:1000,percent:90 "
              "(Alomari et al.); empty: all customers are drawn uniformly, as in BenchBase");

namespace logjam::smallbank {
namespace {

constexpr uint64_t kMaxAccounts = 1'000'000'000;
static_assert(kMaxAccounts <= uint64_t{1} << 31, "balance_key() has 32 bits");

struct TypeInfo {
  std::string_view name;
  uint32_t share_pct;
  int64_t cents;  // the amount that it moves
};
// The weights of BenchBase's sample configurations, and the amounts of its SmallBankConstants.
constexpr std::array<TypeInfo, kTypeCount> kTypes = {{{"Amalgamate", 15, 0},
                                                      {"Balance", 15, 0},
                                                      {"DepositChecking", 15, 1'30},
                                                      {"SendPayment", 25, 5'00},
                                                      {"TransactSavings", 15, 20'20},
                                                      {"WriteCheck", 15, 5'00}}};
constexpr int64_t kPenalty = 1'00;  // of a check that the customer's two balances do not cover

struct Options {
  uint64_t accounts = 0;
  uint64_t hot = 0;        // the first customers; 0: all are drawn uniformly
  double hot_percent = 0;  // the share of transactions with hot customers only
};

// The acknowledged changes of all clients of a run.
struct Acknowledged {
  AckCounter updates;  // of balances
  AckCounter cents;    // that came from outside of the bank, minus those that left it
};

class SmallBankClient : public Client {
 public:
  SmallBankClient(const Options& options, Acknowledged& all, Database& database, uint32_t worker,
                  uint64_t seed)
      : options_(options), all_(all), tables_(database), random_(seed, worker) {}
  ~SmallBankClient() override {
    all_.updates.add(acknowledged_updates_);
    all_.cents.add(acknowledged_cents_);
  }

  uint32_t next() override {
    before_ = last_;
    uint64_t drawn = random_.below(100);
    uint32_t type = 0;
    while (drawn >= kTypes[type].share_pct) drawn -= kTypes[type++].share_pct;
    type_ = static_cast<Type>(type);
    const bool hot = options_.hot != 0 && random_.unit() * 100 < options_.hot_percent;
    first_ = draw_customer(hot);
    do second_ = draw_customer(hot);
    while (second_ == first_);
    withdraws_ = type_ == kTransactSavings && random_.percent(50);
    return type;
  }

  Status execute(Transaction& txn) override {
    last_ = before_;
    updates_ = 0;
    outside_ = 0;
    const Status status = perform(txn);
    if (status == Status::kRollback) last_ = before_;  // its updates are undone
    return status;
  }

  std::span<const std::byte> command() override {
    command_.clear();
    if (type_ == kBalance) return {};  // it only reads
    CommandFields fields(&command_);
    fields(first_, second_, withdraws_, before_);
    return command_;
  }
  bool take(uint32_t type, std::span<const std::byte> input) override {
    type_ = static_cast<Type>(type);
    CommandFields fields(input);
    fields(first_, second_, withdraws_, before_);
    fields.require(type_ < kTypeCount && type_ != kBalance && first_ != second_);
    fields.require(first_ < options_.accounts && second_ < options_.accounts);
    return fields.ended();
  }

  // Returns the number of updates, and in the lower half the cents from outside.
  uint64_t committing() override {
    return uint64_t{updates_} << 32 | static_cast<uint32_t>(outside_);
  }
  void acknowledged(uint64_t number) override {
    acknowledged_updates_ += number >> 32;
    acknowledged_cents_ += static_cast<uint64_t>(int64_t{static_cast<int32_t>(number)});
  }

 private:
  enum class From : uint8_t { kOutside, kAnotherBalance };

  uint64_t draw_customer(bool hot) {
    if (hot) return random_.below(options_.hot);
    return options_.hot + random_.below(options_.accounts - options_.hot);
  }

  Status perform(Transaction& txn) {
    switch (type_) {
      case kAmalgamate:
        return amalgamate(txn);
      case kBalance:
        return balance(txn);
      case kDepositChecking:
        return deposit_checking(txn);
      case kSendPayment:
        return send_payment(txn);
      case kTransactSavings:
        return transact_savings(txn);
      default:
        return write_check(txn);
    }
  }

  // Looks up the customer by the name. Returns false if the transaction must return kAbort at once.
  bool find(Transaction& txn, uint64_t number_in_name, Key* customer) {
    const auto* const account =
        read_or_die<Account>(txn, tables_.account, number_in_name, "smallbank: an account");
    if (account != nullptr) *customer = account->customer;
    return account != nullptr;
  }
  const Balance* look(Transaction& txn, Kind kind, Key customer) {
    return read_or_die<Balance>(txn, tables_.of(kind), customer, "smallbank: a balance");
  }
  Balance* open(Transaction& txn, Kind kind, Key customer) {
    return update_or_die<Balance>(txn, tables_.of(kind), customer, "smallbank: a balance");
  }

  // Adds `cents` to a balance that open() returned.
  void add(Balance* row, Kind kind, Key customer, int64_t cents, From from) {
    add_to(row->cents, cents);
    if (from == From::kOutside) {
      add_to(row->outside, cents);
      add_to(outside_, cents);
    }
    ++row->updates;
    ++updates_;
    row->previous = last_;
    last_ = {balance_key(customer, kind), static_cast<uint32_t>(row->updates)};
  }

  // Moves all money of the first customer to the checking balance of the second.
  Status amalgamate(Transaction& txn) {
    Key from, to;
    if (!find(txn, first_, &from) || !find(txn, second_, &to)) return Status::kAbort;
    int64_t all = 0;
    for (const Kind kind : {kSavings, kChecking}) {
      Balance* row = open(txn, kind, from);
      if (row == nullptr) return Status::kAbort;
      const int64_t cents = row->cents;
      add_to(all, cents);
      add(row, kind, from, wrapping_negative(cents), From::kAnotherBalance);
    }
    Balance* row = open(txn, kChecking, to);
    if (row == nullptr) return Status::kAbort;
    add(row, kChecking, to, all, From::kAnotherBalance);
    return Status::kOk;
  }

  Status balance(Transaction& txn) {
    Key customer;
    if (!find(txn, first_, &customer)) return Status::kAbort;
    for (const Kind kind : {kSavings, kChecking}) {
      const Balance* row = look(txn, kind, customer);
      if (row == nullptr) return Status::kAbort;
      add_to(shown_, row->cents);
    }
    return Status::kOk;
  }

  Status deposit_checking(Transaction& txn) {
    Key customer;
    if (!find(txn, first_, &customer)) return Status::kAbort;
    Balance* row = open(txn, kChecking, customer);
    if (row == nullptr) return Status::kAbort;
    add(row, kChecking, customer, kTypes[type_].cents, From::kOutside);
    return Status::kOk;
  }

  // Moves money between two checking balances. Rolls back if the payer has too little.
  Status send_payment(Transaction& txn) {
    Key from, to;
    if (!find(txn, first_, &from) || !find(txn, second_, &to)) return Status::kAbort;
    const int64_t cents = kTypes[type_].cents;
    Balance* payer = open(txn, kChecking, from);
    if (payer == nullptr) return Status::kAbort;
    if (payer->cents < cents) return Status::kRollback;
    add(payer, kChecking, from, -cents, From::kAnotherBalance);
    Balance* payee = open(txn, kChecking, to);
    if (payee == nullptr) return Status::kAbort;
    add(payee, kChecking, to, cents, From::kAnotherBalance);
    return Status::kOk;
  }

  // Deposits or withdraws. Rolls back if the savings would become negative.
  Status transact_savings(Transaction& txn) {
    Key customer;
    if (!find(txn, first_, &customer)) return Status::kAbort;
    const int64_t cents = withdraws_ ? -kTypes[type_].cents : kTypes[type_].cents;
    Balance* row = open(txn, kSavings, customer);
    if (row == nullptr) return Status::kAbort;
    if (withdraws_ && row->cents < -cents) return Status::kRollback;
    add(row, kSavings, customer, cents, From::kOutside);
    return Status::kOk;
  }

  // Takes a check off the checking balance, which may become negative, and a penalty if both
  // balances together do not cover the check.
  Status write_check(Transaction& txn) {
    Key customer;
    if (!find(txn, first_, &customer)) return Status::kAbort;
    const Balance* savings = look(txn, kSavings, customer);
    if (savings == nullptr) return Status::kAbort;
    int64_t both = savings->cents;
    Balance* row = open(txn, kChecking, customer);
    if (row == nullptr) return Status::kAbort;
    add_to(both, row->cents);
    const int64_t cents = kTypes[type_].cents;
    add(row, kChecking, customer, both < cents ? -cents - kPenalty : -cents, From::kOutside);
    return Status::kOk;
  }

  static int64_t wrapping_negative(int64_t cents) {
    return static_cast<int64_t>(-static_cast<uint64_t>(cents));
  }

  const Options& options_;
  Acknowledged& all_;
  Tables tables_;
  Random random_;
  uint64_t acknowledged_updates_ = 0, acknowledged_cents_ = 0;
  int64_t shown_ = 0;  // a member, so that the compiler cannot drop the reads

  Type type_ = kBalance;
  uint64_t first_ = 0, second_ = 0;  // the numbers in the customers' names
  bool withdraws_ = false;
  PreviousUpdate before_;  // the worker's last update before the drawn transaction
  std::vector<std::byte> command_;

  // Of the latest executed attempt.
  PreviousUpdate last_;  // the worker's last update
  uint32_t updates_ = 0;
  int64_t outside_ = 0;
};

// The result of verify()'s scan.
struct Found {
  uint64_t accounts = 0, balances = 0, updates = 0, loaded = 0;
  int64_t cents = 0, outside = 0;
  BrokenRows strays, negative, lost;
  auto members() {
    return std::tie(accounts, balances, updates, loaded, cents, outside, strays, negative, lost);
  }
};

void find_accounts(Table& table, uint64_t accounts, uint32_t part, uint32_t parts, Found* found) {
  table.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
    const auto& row = *reinterpret_cast<const Account*>(bytes);
    ++found->accounts;
    if (key < accounts && row.customer == key && row.name == name_of(key)) return;
    found->strays.note([&] { return "; first: account " + std::to_string(key); });
  });
}

void find_balances(Tables& tables, Kind kind, uint64_t accounts, uint32_t part, uint32_t parts,
                   Found* found) {
  const auto updates_of = [&](uint32_t key) {
    const auto* row = find_row<Balance>(tables.of(static_cast<Kind>(key & 1)), key >> 1);
    return row == nullptr ? 0 : row->updates;
  };
  Table& table = tables.of(kind);
  table.for_each_row(part, parts, [&](Key key, const std::byte* bytes) {
    const auto& row = *reinterpret_cast<const Balance*>(bytes);
    const auto described = [&] { return "; first: " + table.schema().name + std::to_string(key); };
    ++found->balances;
    found->updates += row.updates;
    found->loaded += static_cast<uint64_t>(loaded_cents(key, kind));
    add_to(found->cents, row.cents);
    add_to(found->outside, row.outside);
    check_previous(balance_key(key, kind), row.previous, updates_of, &found->lost);
    if (key >= accounts) found->strays.note(described);
    if (kind == kSavings && row.cents < 0) found->negative.note(described);
  });
}

Found look_at_rows(Database& database, uint64_t accounts) {
  Tables tables(database);
  return sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* found) {
    find_accounts(tables.account, accounts, part, parts, found);
    for (const Kind kind : {kSavings, kChecking}) {
      find_balances(tables, kind, accounts, part, parts, found);
    }
  });
}

class SmallBank : public Workload {
 public:
  explicit SmallBank(const Options& options) : options_(options) {}

  void create_tables(Database& database) override {
    const uint64_t n = options_.accounts;
    const auto number = [](Key key) { return key; };
    Columns account;
    account.field("name", &Account::name).field("custid", &Account::customer);
    database.create_table({"account", sizeof(Account), IndexKind::kHash, n, {}, account});
    for (const char* table : {"savings", "checking"}) {
      Columns columns;
      columns.key("custid", number).field("bal", &Balance::cents).decimals(2);
      columns.field("outside", &Balance::outside).decimals(2);
      columns.field("updates", &Balance::updates)
          .field("previous_key", &Balance::previous, &PreviousUpdate::key)
          .field("previous_updates", &Balance::previous, &PreviousUpdate::updates);
      database.create_table({table, sizeof(Balance), IndexKind::kHash, n, {}, columns});
    }
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Tables tables(database);
    for (const Key customer : part_of(options_.accounts, part, parts)) {
      const Account account{.customer = customer, .name = name_of(customer)};
      tables.account.load(customer, &account, arena);
      for (const Kind kind : {kSavings, kChecking}) {
        const int64_t cents = loaded_cents(customer, kind);
        const Balance row{.cents = cents, .outside = cents, .updates = 0, .previous = {}};
        tables.of(kind).load(customer, &row, arena);
      }
    }
  }

  void resume(Database& database) override {
    const Found found = look_at_rows(database, options_.accounts);
    acknowledged_.updates.resume(found.updates);
    acknowledged_.cents.resume(static_cast<uint64_t>(found.cents));
  }

  Specification spec() const override {
    std::string drawn = "drawn uniformly";
    if (options_.hot != 0) {
      drawn = std::to_string(options_.hot) + " of them in " +
              platform::short_number(options_.hot_percent) + " % of the transactions";
    }
    Specification spec{
        .description = "smallbank: " + std::to_string(options_.accounts) + " customers, " + drawn,
        .expected_bytes = table_bytes(options_.accounts, sizeof(Account)) +
                          2 * table_bytes(options_.accounts, sizeof(Balance))};
    for (const TypeInfo& type : kTypes) {
      spec.types.push_back({type.name, {{static_cast<double>(type.share_pct), std::nullopt}}});
    }
    return spec;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<SmallBankClient>(options_, acknowledged_, database, worker, seed);
  }

  void note_any_order() override { any_order_ = true; }

  // Checks that the bank's money changes exactly by what transactions brought or took: in the rows,
  // also after a recovery, and after a run by the acknowledged transactions, too.
  std::vector<Check> verify(Database& database) override {
    const uint64_t accounts = options_.accounts;
    const Found found = look_at_rows(database, accounts);
    std::vector<Check> checks = {
        {"every row is there",
         found.accounts == accounts && found.balances == 2 * accounts && found.strays.count == 0,
         std::to_string(found.accounts) + " accounts and " + std::to_string(found.balances) +
             " balances of " + std::to_string(accounts) + " customers, " +
             std::to_string(found.strays.count) + " strays" + found.strays.first},
        {"balances add up to what came from outside", found.cents == found.outside,
         std::to_string(found.cents) + " cents, and " + std::to_string(found.outside) +
             " from outside"},
        {"no savings are negative", found.negative.count == 0,
         std::to_string(found.negative.count) + " negative" + found.negative.first}};
    if (!any_order_) checks.push_back(no_update_lost(found.lost));
    acknowledged_.updates.check("rows count every update", found.updates, &checks);
    acknowledged_.cents.check("balances have every deposit, withdrawal, check and penalty",
                              static_cast<uint64_t>(found.cents), &checks, found.loaded);
    return checks;
  }

 private:
  const Options options_;
  Acknowledged acknowledged_;
  bool any_order_ = false;  // the recovered log may have lost a transaction before a later one
};

Options options_from_flags() {
  const auto listed = [](const char* key) { return platform::listed(FLAGS_smallbank_hot, key); };
  return {.accounts = FLAGS_smallbank_accounts,
          .hot = static_cast<uint64_t>(listed("accounts")),
          .hot_percent = listed("percent")};
}

std::string check_flags() {
  constexpr platform::ListKey kHot[] = {{"accounts", 2, kMaxAccounts}, {"percent", 0, 100, false}};
  std::string no_list = first_refusal(
      {refuse_outside("smallbank_accounts", FLAGS_smallbank_accounts, 2, kMaxAccounts),
       platform::check_list("smallbank_hot", FLAGS_smallbank_hot, kHot)});
  if (!no_list.empty() || FLAGS_smallbank_hot.empty()) return no_list;
  const Options options = options_from_flags();
  if (options.hot == 0 || options.hot_percent == 0) {
    return "--smallbank_hot=" + FLAGS_smallbank_hot +
           " needs both keys, as in accounts:1000,percent:90";
  }
  if (options.hot + 2 > options.accounts) {
    return "--smallbank_hot leaves less than two of --smallbank_accounts=" +
           std::to_string(options.accounts) + " that are not hot";
  }
  return "";
}

const WorkloadRegistration registration({
    .name = "smallbank",
    .what = "SmallBank's six transactions on customers' savings and checking balances",
    .memory = "0.3 kB a customer",
    .load_flags = {"smallbank_accounts", "smallbank_hot"},
    .check_flags = check_flags,
    .make = [] { return std::make_unique<SmallBank>(options_from_flags()); },
    .variants = {{"--smallbank_accounts=18000 --smallbank_hot=accounts:1000,percent:90",
                  "Alomari et al.: nine transactions of ten have one of 1000 hot customers"},
                 {"--smallbank_accounts=18000 --smallbank_hot=accounts:10,percent:90",
                  "Alomari et al., high contention: the same with 10 hot customers"}},
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::smallbank
