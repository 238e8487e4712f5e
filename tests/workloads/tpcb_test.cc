#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/tpcb/rows.h"

namespace logjam {
namespace {

using namespace tpcb;

class TpcbTest : public WorkloadTest {
 protected:
  TpcbTest() { set(small_scale("tpcb")); }
};

TEST_F(TpcbTest, RefusesBadFlagsInOneSentence) {
  const auto refusal = [](const Flags& flags) { return refusal_of("tpcb", flags); };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"tpcb_branches", "0"}}), "--tpcb_branches is 1 to 100000000");
  EXPECT_NE(refusal({{"tpcb_accounts", "0"}}), "");
  EXPECT_NE(refusal({{"zipf_theta", "-1"}}), "");
  EXPECT_NE(refusal({{"zipf_theta", "nan"}}), "");
}

TEST_F(TpcbTest, InputFollowsTheSpecification) {
  const auto workload = make_workload("tpcb");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 20'000, 1, outcome);
  uint64_t away = 0, rows = 0;
  std::map<uint32_t, uint64_t> by_teller;
  int32_t least = 0, most = 0;
  each<History>(tables.history, [&](Key, const History& row) {
    ++rows;
    ++by_teller[row.teller];
    away += row.account / 50 != row.branch;
    least = std::min(least, row.delta);
    most = std::max(most, row.delta);
  });
  EXPECT_EQ(rows, 20'000u);
  EXPECT_NEAR(static_cast<double>(away) / 20'000, 0.15, 0.01);
  EXPECT_EQ(by_teller.size(), 30u);
  EXPECT_GE(least, -999'999);
  EXPECT_LE(most, 999'999);
  EXPECT_LT(least, -999'000);
  EXPECT_GT(most, 999'000);
}

TEST_F(TpcbTest, ZipfThetaSkewsTheTellers) {
  for (const char* theta : {"0.85", "1", "3"}) {
    set({{"zipf_theta", theta}});
    const auto workload = make_workload("tpcb");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 1, 10'000, 1, outcome);
    double first = 0, second = 0;
    each<History>(tables.history, [&](Key, const History& row) {
      first += row.teller == 0;
      second += row.teller == 1;
    });
    EXPECT_NEAR(first / second, std::pow(2, std::stod(theta)), 0.1 * first / second) << theta;
    expect_consistent(*workload, *database);
  }
}

TEST_F(TpcbTest, VerifyFindsPlantedErrors) {
  const std::vector<std::pair<std::string, std::function<void(Tables&)>>> planted = {
      {"rows loaded are there", [](Tables& t) { erase(t.account, 7); }},
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
      {"a history row", [](Tables& t) { erase(t.history, 3); }},
  };
  for (const auto& [caught_by, plant] : planted) {
    expect_caught("tpcb", 50, caught_by, [&plant = plant](Database& database) {
      Tables tables(database);
      plant(tables);
    });
  }
}

}  // namespace
}  // namespace logjam
