#include "workloads/smallbank/smallbank.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

using namespace smallbank;

constexpr uint64_t kCustomers = 50;  // of small_scale()

// A transaction's input, as in its command.
struct Input {
  uint64_t first = 0, second = 0;
  bool withdraws = false;
  PreviousUpdate before;
};

class SmallBankTest : public WorkloadTest {
 protected:
  SmallBankTest() { set(small_scale("smallbank")); }
};

// Calls `show` with the type and the input of each of `count` transactions that write.
void draw(uint64_t count, const std::function<void(uint32_t type, const Input&)>& show) {
  const auto workload = make_workload("smallbank");
  const auto database = load(*workload, 1);
  const auto client = workload->make_client(*database, 5, 6, 1);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t type = client->next();
    if (type == kBalance) continue;
    Input input;
    CommandFields fields(client->command());
    fields(input.first, input.second, input.withdraws, input.before);
    EXPECT_TRUE(fields.ended());
    show(type, input);
  }
}

// A loaded bank, whose one worker executes the transactions of the test.
struct Bank {
  int64_t cents(Kind kind, Key customer) {
    return row<smallbank::Balance>(tables.of(kind), customer).cents;
  }
  void give(Kind kind, Key customer, int64_t cents) {
    auto& balance = row<smallbank::Balance>(tables.of(kind), customer);
    balance.cents = balance.outside = cents;
  }
  int64_t outside() {
    int64_t sum = 0;
    for (const Kind kind : {kSavings, kChecking}) {
      each<smallbank::Balance>(
          tables.of(kind), [&](Key, const smallbank::Balance& balance) { sum += balance.outside; });
    }
    return sum;
  }
  Status execute(Type type, uint64_t first, uint64_t second = 49, bool withdraws = false) {
    return one.worker.execute(*one.client, type, first, second, withdraws, PreviousUpdate{});
  }

  OneClient one{"smallbank"};
  Tables tables{*one.database};
};

TEST_F(SmallBankTest, CustomersDiffer) {
  std::vector<uint64_t> first(kCustomers), second(kCustomers), withdraws(2);
  draw(100'000, [&](uint32_t type, const Input& input) {
    ++first.at(input.first);
    ++second.at(input.second);
    EXPECT_NE(input.first, input.second);
    if (type == kTransactSavings) {
      ++withdraws[input.withdraws];
    } else {
      EXPECT_FALSE(input.withdraws);
    }
  });
  expect_uniform(first, "the first customer");
  expect_uniform(second, "the second customer");
  expect_uniform(withdraws, "savings that grow and shrink");
}

TEST_F(SmallBankTest, HotCustomersHaveTheirShareOfTransactions) {
  set({{"smallbank_hot", "accounts:4,percent:90"}});
  std::vector<uint64_t> hot(4), cold(kCustomers - 4);
  uint64_t of_hot = 0, all = 0;
  draw(100'000, [&](uint32_t, const Input& input) {
    ++all;
    of_hot += input.first < 4;
    ++(input.first < 4 ? hot[input.first] : cold.at(input.first - 4));
    EXPECT_EQ(input.first < 4, input.second < 4) << "a transaction is hot or it is not";
  });
  expect_share(of_hot, all, 0.9, "hot transactions");
  expect_uniform(hot, "hot customers");
  expect_uniform(cold, "all others");
}

TEST_F(SmallBankTest, LoadsBalancesThatNeverRunOut) {
  Bank bank;
  std::map<int64_t, int> seen;
  for (const Kind kind : {kSavings, kChecking}) {
    each<smallbank::Balance>(bank.tables.of(kind), [&](Key, const smallbank::Balance& balance) {
      EXPECT_GE(balance.cents, 10'000'00);
      EXPECT_LE(balance.cents, 50'000'00);
      EXPECT_EQ(balance.cents % 100, 0);
      ++seen[balance.cents];
    });
  }
  EXPECT_GT(seen.size(), 90u);
  const auto& account = row<Account>(bank.tables.account, 42);
  EXPECT_EQ(std::string(account.name.data(), 64), std::string(62, '0') + "42");
  EXPECT_EQ(account.customer, 42u);
}

TEST_F(SmallBankTest, AmalgamateMovesAllMoneyToAnotherCustomer) {
  Bank bank;
  bank.give(kSavings, 3, 7'00);
  bank.give(kChecking, 3, -2'50);
  bank.give(kChecking, 8, 1'00);
  const int64_t savings = bank.cents(kSavings, 8), outside = bank.outside();
  EXPECT_EQ(bank.execute(kAmalgamate, 3, 8), Status::kOk);
  EXPECT_EQ(bank.cents(kSavings, 3), 0);
  EXPECT_EQ(bank.cents(kChecking, 3), 0);
  EXPECT_EQ(bank.cents(kSavings, 8), savings);
  EXPECT_EQ(bank.cents(kChecking, 8), 5'50);
  EXPECT_EQ(bank.outside(), outside);
}

TEST_F(SmallBankTest, SendPaymentMovesFiveDollarsIfThePayerHasThem) {
  Bank bank;
  bank.give(kChecking, 3, 5'00);
  bank.give(kChecking, 8, 1'00);
  const int64_t outside = bank.outside();
  EXPECT_EQ(bank.execute(kSendPayment, 3, 8), Status::kOk);
  EXPECT_EQ(bank.cents(kChecking, 3), 0);
  EXPECT_EQ(bank.cents(kChecking, 8), 6'00);
  EXPECT_EQ(bank.outside(), outside);
  bank.give(kChecking, 3, 4'99);
  EXPECT_EQ(bank.execute(kSendPayment, 3, 8), Status::kRollback);
  EXPECT_EQ(bank.cents(kChecking, 3), 4'99);
  EXPECT_EQ(bank.cents(kChecking, 8), 6'00);
}

TEST_F(SmallBankTest, DepositCheckingBringsMoney) {
  Bank bank;
  bank.give(kChecking, 3, -10'00);
  const int64_t outside = bank.outside();
  EXPECT_EQ(bank.execute(kDepositChecking, 3), Status::kOk);
  EXPECT_EQ(bank.cents(kChecking, 3), -8'70);
  EXPECT_EQ(bank.outside(), outside + 1'30);
}

TEST_F(SmallBankTest, TransactSavingsNeverMakesSavingsNegative) {
  Bank bank;
  bank.give(kSavings, 3, 20'19);
  EXPECT_EQ(bank.execute(kTransactSavings, 3, 49, true), Status::kRollback);
  EXPECT_EQ(bank.cents(kSavings, 3), 20'19);
  bank.give(kSavings, 3, 20'20);
  const int64_t outside = bank.outside();
  EXPECT_EQ(bank.execute(kTransactSavings, 3, 49, true), Status::kOk);
  EXPECT_EQ(bank.cents(kSavings, 3), 0);
  EXPECT_EQ(bank.execute(kTransactSavings, 3, 49, false), Status::kOk);
  EXPECT_EQ(bank.cents(kSavings, 3), 20'20);
  EXPECT_EQ(bank.outside(), outside);
}

// The penalty depends on both balances. So it is the money of SmallBank that a lost update of
// savings, or a read of an old balance, changes.
TEST_F(SmallBankTest, WriteCheckHasAPenaltyIfBothBalancesDoNotCoverIt) {
  const auto after = [](int64_t savings, int64_t checking) {
    Bank bank;
    bank.give(kSavings, 3, savings);
    bank.give(kChecking, 3, checking);
    const int64_t outside = bank.outside();
    EXPECT_EQ(bank.execute(kWriteCheck, 3), Status::kOk);
    EXPECT_EQ(bank.cents(kSavings, 3), savings);
    EXPECT_EQ(bank.outside() - outside, bank.cents(kChecking, 3) - checking);
    return bank.cents(kChecking, 3);
  };
  EXPECT_EQ(after(0, 5'00), 0);
  EXPECT_EQ(after(4'00, 1'00), -4'00);
  EXPECT_EQ(after(10'00, -5'00), -10'00);
  EXPECT_EQ(after(4'00, 99), -5'01);
  EXPECT_EQ(after(0, 0), -6'00);
}

TEST_F(SmallBankTest, BalanceChangesNothing) {
  Bank bank;
  const uint64_t before = fingerprint(*bank.one.database);
  while (bank.one.client->next() != kBalance) {
  }
  EXPECT_EQ(bank.one.worker.execute(*bank.one.client), Status::kOk);
  EXPECT_EQ(fingerprint(*bank.one.database), before);
}

TEST_F(SmallBankTest, TakesOnlyCommandsThatAClientDraws) {
  Bank bank;
  const auto takes = [&](uint32_t type, uint64_t first, uint64_t second) {
    std::vector<std::byte> command;
    CommandFields encode(&command);
    bool withdraws = false;
    PreviousUpdate before;
    encode(first, second, withdraws, before);
    return bank.one.client->take(type, command);
  };
  EXPECT_TRUE(takes(kSendPayment, 0, 49));
  EXPECT_FALSE(takes(kSendPayment, 0, 50));
  EXPECT_FALSE(takes(kSendPayment, 7, 7));
  EXPECT_FALSE(takes(kBalance, 0, 49));
  EXPECT_FALSE(takes(6, 0, 49));
}

TEST_F(SmallBankTest, VerifyFindsPlantedErrors) {
  using Row = smallbank::Balance;
  const PlantedErrors<Tables> planted = {
      {"every row is there", [](Tables& t) { erase(t.account, 7); }},
      {"every row is there", [](Tables& t) { erase(t.savings, 7); }},
      {"every row is there", [](Tables& t) { erase(t.checking, 7); }},
      {"every row is there", [](Tables& t) { row<Account>(t.account, 7).name[63] = '8'; }},
      {"every row is there", [](Tables& t) { row<Account>(t.account, 7).customer = 8; }},
      {"balances add up", [](Tables& t) { ++row<Row>(t.savings, 7).cents; }},
      {"balances add up", [](Tables& t) { --row<Row>(t.checking, 7).cents; }},
      {"balances add up", [](Tables& t) { ++row<Row>(t.savings, 7).outside; }},
      {"no savings", [](Tables& t) { row<Row>(t.savings, 7).cents = -1; }},
      {"rows count", [](Tables& t) { ++row<Row>(t.savings, 7).updates; }},
      {"balances have every",  // a deposit that only its row knows
       [](Tables& t) {
         auto& balance = row<Row>(t.savings, 7);
         ++balance.cents;
         ++balance.outside;
       }},
  };
  expect_each_caught("smallbank", 50, planted);
}

// A recovery with several streams may lose a transaction of a worker before a later one (`taurus`).
TEST_F(SmallBankTest, WithoutAnOrderALostDepositIsNoError) {
  Bank bank;
  const auto before = row<smallbank::Balance>(bank.tables.checking, 3);
  ASSERT_EQ(bank.execute(kDepositChecking, 3), Status::kOk);
  while (bank.one.client->next() != kWriteCheck) {
  }
  ASSERT_EQ(bank.one.worker.execute(*bank.one.client), Status::kOk);
  row<smallbank::Balance>(bank.tables.checking, 3) = before;
  const auto recovered = make_workload("smallbank");
  EXPECT_EQ(failing(*recovered, *bank.one.database),
            std::vector<std::string>{"no update is lost before one that is there"});
  recovered->note_any_order();
  expect_consistent(*recovered, *bank.one.database);
}

// The test undoes the last update of one balance. For each transaction and balance, it expects the
// checks that a recovery has, which do not know what was acknowledged, to find the loss: half of a
// transfer by the sums, and a whole transaction by the worker's next update.
TEST_F(SmallBankTest, VerifyFindsLostUpdatesAfterARecovery) {
  struct Lost {
    Type type;
    Kind kind;
    Key customer;
  };
  const std::vector<Lost> all = {
      {kAmalgamate, kSavings, 3},      {kAmalgamate, kChecking, 3},
      {kAmalgamate, kChecking, 8},     {kSendPayment, kChecking, 3},
      {kSendPayment, kChecking, 8},    {kDepositChecking, kChecking, 3},
      {kTransactSavings, kSavings, 3}, {kWriteCheck, kChecking, 3},
  };
  for (const auto& [type, kind, customer] : all) {
    SCOPED_TRACE(std::to_string(type) + " " + std::to_string(kind));
    Bank bank;
    const auto before = row<smallbank::Balance>(bank.tables.of(kind), customer);
    ASSERT_EQ(bank.execute(type, 3, 8), Status::kOk);
    while (bank.one.client->next() != kWriteCheck) {
    }
    ASSERT_EQ(bank.one.worker.execute(*bank.one.client), Status::kOk);
    const auto recovered = make_workload("smallbank");
    expect_consistent(*recovered, *bank.one.database);
    auto& lost = row<smallbank::Balance>(bank.tables.of(kind), customer);
    ASSERT_EQ(lost.updates, 1u) << "the next check is of another customer";
    lost = before;
    EXPECT_NE(failing(*recovered, *bank.one.database), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace logjam
