// TPC-C's population, and the rows that its transactions choose.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam {
namespace {

using namespace tpcc;

class TpccTest : public WorkloadTest {
 protected:
  TpccTest() { set(small_scale("tpcc")); }
};

TEST_F(TpccTest, PopulationFollowsClause4_3_3) {
  set({{"tpcc_customers", "1100"}, {"tpcc_warehouses", "1"}, {"tpcc_items", "20003"}});
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 64);
  Tables tables(*database);
  const std::pair<Table&, uint64_t> counts[] = {
      {tables.warehouse, 1},    {tables.district, 10},  {tables.customer, 11'000},
      {tables.history, 11'000}, {tables.order, 11'000}, {tables.new_order, 3'300},
      {tables.item, 20'003},    {tables.stock, 20'003}};
  for (const auto& [table, count] : counts) {
    EXPECT_EQ(table.count_rows(), count) << table.schema().name;
  }
  EXPECT_NEAR(static_cast<double>(tables.order_line.count_rows()), 110'000, 2'000);
  expect_consistent(*workload, *database);

  std::map<Key, std::set<std::string>> names;
  each<Customer>(tables.customer, [&](Key key, const Customer& customer) {
    names[district_of_customer(key)].emplace(text(customer.last));
  });
  EXPECT_EQ(names.size(), 10u);
  for (const auto& [district, all] : names) EXPECT_EQ(all.size(), 1000u);
  // Every customer has one order, and the orders are in a random permutation of the customers.
  std::map<Key, std::set<uint32_t>> customers;
  bool permuted = false;
  each<Order>(tables.order, [&](Key key, const Order& order) {
    customers[district_of_order(key)].insert(order.customer);
    permuted |= order.customer != number_of_order(key);
    EXPECT_EQ(order.carrier == 0, number_of_order(key) > 770);
  });
  for (const auto& [district, all] : customers) EXPECT_EQ(all.size(), 1100u);
  EXPECT_TRUE(permuted);
}

// So the workers do not begin to insert into the same leaf of HISTORY.
TEST_F(TpccTest, TheLoadedRowsOfAWorkersDistrictFollowItsPayments) {
  constexpr Scale kScale{.warehouses = 3, .items = 200, .customers = 20};
  set({{"tpcc_warehouses", "3"}, {"tpcc_customers", "20"}, {"tpcc_mix", "0,1,0,0,0"}});
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 2);
  constexpr uint32_t kWorkers = 30;
  std::map<uint64_t, uint32_t> loaded;  // by worker: the rows between its payments and the next's
  each<History>(Tables(*database).history, [&](Key key, const History& row) {
    ASSERT_TRUE(is_loaded_history(key));
    ASSERT_LT(worker_of_history(key), kWorkers);
    const auto worker = static_cast<uint32_t>(worker_of_history(key));
    ++loaded[worker];
    const Home home = Home::of(HomePolicy::kFixed, worker, kWorkers, kScale.warehouses);
    EXPECT_EQ(row.warehouse, home.first);
    EXPECT_EQ(row.district, home.district);
    EXPECT_GT(key, history_key(worker, kLoadedHistory - 1));
    EXPECT_LT(key, history_key(worker + 1, 0));
  });
  EXPECT_EQ(loaded.size(), kWorkers);
  for (const auto& [worker, rows] : loaded) EXPECT_EQ(rows, kScale.customers) << worker;
}

TEST_F(TpccTest, EveryCommitInsertsItsRowWhicheverWarehouseIsHome) {
  set({{"tpcc_mix", "np"}});
  for (const ProtocolInfo& protocol : all_protocols()) {
    for (const char* home : {"split", "fixed", "any"}) {
      SCOPED_TRACE(std::string(protocol.name) + " " + home);
      set({{"tpcc_home", home}});
      const auto workload = make_workload("tpcc");
      const auto database = load(*workload, 2);
      Tables tables(*database);
      const uint64_t before = tables.order.count_rows() + tables.history.count_rows();
      Outcome outcome;
      run(*workload, *database, protocol, 4, 250, 7, outcome);
      EXPECT_EQ(tables.order.count_rows() + tables.history.count_rows() - before, outcome.commits);
      expect_consistent(*workload, *database);
    }
  }
}

// The test adds customers with numbers that no transaction draws. Payment can choose them only by
// last name, and may choose only the customer in the middle.
TEST_F(TpccTest, PaymentByLastNameChoosesTheMiddleFirstName) {
  set({{"tpcc_mix", "0,1,0,0,0"}, {"tpcc_warehouses", "1"}, {"tpcc_customers", "10"}});
  struct Case {
    std::vector<std::string> namesakes;  // first names; the loaded name is between ! and ~
    std::string chosen;
  };
  for (const Case& one : std::vector<Case>{{{"!1"}, "!1"},
                                           {{"~1", "!1"}, "the loaded one"},
                                           {{"~1", "!2", "!1"}, "!2"},
                                           {{"~1", "!3", "!1", "!2"}, "!3"}}) {
    const auto workload = make_workload("tpcc");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    Arena arena;
    std::vector<std::pair<Key, Customer>> loaded;
    each<Customer>(tables.customer,
                   [&](Key key, const Customer& customer) { loaded.emplace_back(key, customer); });
    for (auto& [key, customer] : loaded) {
      for (const std::string& first : one.namesakes) {
        std::memset(customer.first, 0, sizeof customer.first);
        first.copy(customer.first, first.size());
        tables.customer.load(key += 10, &customer, arena);
      }
    }
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 1, 500, 1, outcome);
    std::map<std::string, uint32_t> paid;
    each<Customer>(tables.customer, [&](Key key, const Customer& customer) {
      if (low_bits(key, kCustomerBits) <= 10) return;
      paid[std::string(text(customer.first))] += customer.payments - 1;
    });
    for (const auto& [first, payments] : paid) {
      EXPECT_EQ(payments > 0, first == one.chosen) << first << " of " << one.namesakes.size() + 1;
    }
  }
}

}  // namespace
}  // namespace logjam
