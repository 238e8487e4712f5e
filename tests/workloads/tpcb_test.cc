#include "workloads/tpcb/tpcb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

using namespace tpcb;

constexpr uint64_t kBranches = 3, kAccounts = 50;  // of small_scale()

class TpcbTest : public WorkloadTest {
 protected:
  TpcbTest() { set(small_scale("tpcb")); }
};

// A transaction's input, as in its command.
struct Input {
  Key history = 0, account = 0;
  uint32_t teller = 0;
  int32_t delta = 0;

  uint64_t home() const { return teller / kTellers; }
  uint64_t branch_of_account() const { return account / kAccounts; }
};

Input drawn_by(Client& client) {
  Input input;
  CommandFields fields(client.command());
  fields(input.history, input.account, input.teller, input.delta);
  EXPECT_TRUE(fields.ended());
  return input;
}

// Calls `show` with the type and the input of `count` transactions of worker 5.
void draw(uint64_t count, const std::function<void(uint32_t type, const Input&)>& show) {
  const auto workload = make_workload("tpcb");
  const auto database = load(*workload, 1);
  const auto client = workload->make_client(*database, 5, 6, 1);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t type = client->next();
    show(type, drawn_by(*client));
  }
}

TEST_F(TpcbTest, WarnsWhenTheRateWantsMoreBranches) {
  const auto workload = make_workload("tpcb");
  EXPECT_EQ(workload->spec().caution(3), "");
  EXPECT_EQ(workload->spec().caution(3.6),
            "TPC-B wants a branch for each transaction a second (clause 4): 4 branches for this "
            "rate, and --tpcb_branches=3");
}

// The input follows clause 5.3. The input's delta follows clause 1.3.
TEST_F(TpcbTest, InputFollowsTheSpecification) {
  constexpr uint64_t kDraws = 100'000;
  constexpr int64_t kMaxDelta = 999'999;
  std::vector<uint64_t> tellers(kBranches * kTellers), accounts(kAccounts), others(kBranches - 1),
      deltas(100);
  uint64_t away = 0, count = 0;
  int32_t least = 0, most = 0;
  draw(kDraws, [&](uint32_t type, const Input& input) {
    ++tellers.at(input.teller);
    ++accounts.at(input.account % kAccounts);
    const bool is_away = input.branch_of_account() != input.home();
    EXPECT_EQ(type, is_away);
    away += is_away;
    if (is_away) {
      const uint64_t other = input.branch_of_account();
      ASSERT_LT(other, kBranches);
      ++others.at(other < input.home() ? other : other - 1);
    }
    ASSERT_LE(std::abs(input.delta), kMaxDelta);
    ++deltas.at(static_cast<size_t>((input.delta + kMaxDelta) * 100 / (2 * kMaxDelta + 1)));
    least = std::min(least, input.delta);
    most = std::max(most, input.delta);
    EXPECT_EQ(worker_of(input.history), 5u);
    EXPECT_EQ(count_of(input.history), ++count);
  });
  expect_uniform(tellers, "tellers");
  expect_uniform(accounts, "accounts of a branch");
  expect_share(away, kDraws, 0.15, "accounts of another branch");
  expect_uniform(others, "the other branch, before and after the teller's");
  expect_uniform(deltas, "delta");
  EXPECT_LT(least, -999'900);
  EXPECT_GT(most, 999'900);
}

TEST_F(TpcbTest, WithOneBranchEveryAccountIsAtHome) {
  set({{"tpcb_branches", "1"}});
  draw(1'000, [&](uint32_t type, const Input& input) {
    EXPECT_EQ(type, 0u);
    ASSERT_LT(input.account, kAccounts);
  });
}

TEST_F(TpcbTest, ThetaSkewsBranchesTheirTellersAndTheirAccounts) {
  const auto zipfian = [](uint64_t n, double theta) {
    std::vector<double> exact;
    double sum = 0;
    for (uint64_t i = 1; i <= n; ++i) {
      exact.push_back(std::pow(static_cast<double>(i), -theta));
      sum += exact.back();
    }
    for (double& probability : exact) probability /= sum;
    return exact;
  };
  for (const char* theta : {"0.5", "0.85", "1", "2"}) {
    set({{"tpcb_theta", theta}});
    std::vector<uint64_t> branches(kBranches), tellers(kTellers), accounts(kAccounts);
    uint64_t away = 0;
    constexpr uint64_t kDraws = 100'000;
    draw(kDraws, [&](uint32_t type, const Input& input) {
      ++branches.at(input.home());
      ++tellers.at(input.teller % kTellers);
      ++accounts.at(input.account % kAccounts);
      away += type;
    });
    const double exponent = std::stod(theta);
    expect_follows(branches, zipfian(kBranches, exponent), std::string("branches, ") + theta);
    expect_follows(tellers, zipfian(kTellers, exponent), std::string("tellers, ") + theta);
    expect_follows(accounts, zipfian(kAccounts, exponent), std::string("accounts, ") + theta);
    expect_share(away, kDraws, 0.15, theta);
  }
}

// One transaction changes all the rows of clause 1.2.
TEST_F(TpcbTest, ATransactionMovesItsDeltaAndWritesHistory) {
  OneClient one("tpcb");
  auto& [workload, database, worker, client] = one;
  Tables tables(*database);
  const Input input{history_key(5, 1), 149, 11, -1234};  // the account is of branch 2
  EXPECT_EQ(worker.execute(*client, 1, input.history, input.account, input.teller, input.delta),
            Status::kOk);
  each<Account>(tables.account, [&](Key key, const Account& row) {
    EXPECT_EQ(row.balance, key == 149 ? -1234 : 0) << key;
  });
  each<Teller>(tables.teller, [&](Key key, const Teller& row) {
    EXPECT_EQ(row.balance, key == 11 ? -1234 : 0) << key;
  });
  each<Branch>(tables.branch, [&](Key key, const Branch& row) {
    EXPECT_EQ(row.balance, key == 1 ? -1234 : 0) << key;
  });
  EXPECT_EQ(tables.history.count_rows(), 1u);
  const History& row = logjam::row<History>(tables.history, input.history);
  EXPECT_EQ(row.account, 149u);
  EXPECT_EQ(row.teller, 11u);
  EXPECT_EQ(row.branch, 1u);
  EXPECT_EQ(row.delta, -1234);
  EXPECT_EQ(row.time, 1u);
}

TEST_F(TpcbTest, VerifyFindsPlantedErrors) {
  const PlantedErrors<Tables> planted = {
      {"rows loaded are there", [](Tables& t) { erase(t.account, 7); }},
      {"rows loaded are there", [](Tables& t) { row<Account>(t.account, 7).filler[75] = 'x'; }},
      {"rows loaded are there", [](Tables& t) { row<Account>(t.account, 7).branch ^= 1; }},
      {"rows loaded are there", [](Tables& t) { row<Teller>(t.teller, 7).filler[0] = 'x'; }},
      {"rows loaded are there", [](Tables& t) { row<Branch>(t.branch, 1).filler[83] = 'x'; }},
      {"branch balance = sum(t", [](Tables& t) { ++row<Branch>(t.branch, 2).balance; }},
      {"branch balance = sum(h", [](Tables& t) { ++row<Branch>(t.branch, 2).balance; }},
      {"teller balance", [](Tables& t) { --row<Teller>(t.teller, 11).balance; }},
      {"account balance", [](Tables& t) { row<Account>(t.account, 149).balance += 5; }},
      {"account balance", [](Tables& t) { ++row<History>(t.history, 3).delta; }},
      {"account balance",
       [](Tables& t) {
         History& moved = row<History>(t.history, 3);
         moved.account ^= 1;
       }},
      {"history is of", [](Tables& t) { row<History>(t.history, 3).branch ^= 1; }},
      {"history is of", [](Tables& t) { ++row<History>(t.history, 3).time; }},
      {"history is of", [](Tables& t) { row<History>(t.history, 3).filler[21] = 'x'; }},
      {"no history row", [](Tables& t) { erase(t.history, 3); }},
      {"a history row", [](Tables& t) { erase(t.history, 50); }},  // the last row: no gap
  };
  expect_each_caught("tpcb", 50, planted);
}

// The test undoes a whole transaction, so all sums stay right. The gap in the worker's history rows
// shows the loss, also after a recovery.
TEST_F(TpcbTest, VerifyFindsALostTransactionAfterARecovery) {
  const auto workload = make_workload("tpcb");
  const auto database = load(*workload, 1);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 2, 50, 1, outcome);
  const auto recovered = make_workload("tpcb");
  expect_consistent(*recovered, *database);
  Tables tables(*database);
  const History lost = row<History>(tables.history, history_key(1, 20));
  erase(tables.history, history_key(1, 20));
  row<Account>(tables.account, lost.account).balance -= lost.delta;
  row<Teller>(tables.teller, lost.teller).balance -= lost.delta;
  row<Branch>(tables.branch, lost.branch).balance -= lost.delta;
  const auto checks = recovered->verify(*database);
  const Check* check = find_check(checks, "no history row of a worker is missing");
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->detail, "2 workers, 1 with gaps; first: of worker 1's 50 there are 49");
  EXPECT_EQ(failing(*recovered, *database), (std::vector<std::string>{check->name}));
}

// For each row of a transaction, the test restores the contents from before the transaction.
TEST_F(TpcbTest, VerifyFindsAHalfTransactionAfterARecovery) {
  const std::vector<std::function<void(Tables&, const History&)>> undo = {
      [](Tables& t, const History& h) { row<Account>(t.account, h.account).balance -= h.delta; },
      [](Tables& t, const History& h) { row<Teller>(t.teller, h.teller).balance -= h.delta; },
      [](Tables& t, const History& h) { row<Branch>(t.branch, h.branch).balance -= h.delta; },
      [](Tables& t, const History&) { erase(t.history, history_key(0, 50)); },
  };
  for (const auto& undo_one : undo) {
    const auto workload = make_workload("tpcb");
    const auto database = load(*workload, 1);
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 1, 50, 1, outcome);
    Tables tables(*database);
    undo_one(tables, row<History>(tables.history, history_key(0, 50)));
    EXPECT_FALSE(failing(*make_workload("tpcb"), *database).empty());
  }
}

}  // namespace
}  // namespace logjam
