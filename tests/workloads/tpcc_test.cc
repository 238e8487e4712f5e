// TPC-C: its flags, its population, and its five transactions under every protocol.
#include <gtest/gtest.h>

#include <algorithm>
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
  static std::string refusal(const Flags& flags) {
    const gflags::FlagSaver saver;
    set(flags);
    return find_workload("tpcc")->check_flags();
  }
};

TEST_F(TpccTest, RefusesBadFlagsInOneSentence) {
  EXPECT_EQ(refusal({}), "");
  for (const char* mix : {"standard", "np", "neworder", "45,43,4,4,4", "0,1,0,0,0"}) {
    EXPECT_EQ(refusal({{"tpcc_mix", mix}}), "") << mix;
  }
  for (const char* mix : {"", "50", "50,", "50,50", ",50,0,0,0", "50,50,0,0,", "0,0,0,0,0",
                          "50,x,0,0,0", "-1,2,0,0,0", "1,2,3,4", "1 ,2,3,4,5", "1,1,0,0,0,0",
                          "99999999999,1,0,0,0", "2000000,1,0,0,0", "45/43/4/4/4", "full"}) {
    EXPECT_NE(refusal({{"tpcc_mix", mix}}), "") << mix;
  }
  EXPECT_EQ(refusal({{"tpcc_mix", "50,50"}}),
            "--tpcc_mix is standard, np, neworder, or five weights like 45,43,4,4,4, not "
            "\"50,50\"");
  EXPECT_NE(refusal({{"tpcc_home", "away"}}), "");
  EXPECT_NE(refusal({{"tpcc_warehouses", "0"}}), "");
  EXPECT_NE(refusal({{"tpcc_warehouses", "1048576"}}), "");
  EXPECT_NE(refusal({{"tpcc_items", "0"}}), "");
  EXPECT_NE(refusal({{"tpcc_customers", "3001"}}), "");
}

TEST_F(TpccTest, PopulationFollowsClause4_3_3) {
  set({{"tpcc_customers", "1100"}, {"tpcc_warehouses", "1"}, {"tpcc_items", "20003"}});
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  EXPECT_EQ(tables.warehouse.count_rows(), 1u);
  EXPECT_EQ(tables.district.count_rows(), 10u);
  EXPECT_EQ(tables.customer.count_rows(), 11'000u);
  EXPECT_EQ(tables.history.count_rows(), 11'000u);
  EXPECT_EQ(tables.order.count_rows(), 11'000u);
  EXPECT_EQ(tables.new_order.count_rows(), 3'300u);
  EXPECT_EQ(tables.item.count_rows(), 20'003u);
  EXPECT_EQ(tables.stock.count_rows(), 20'003u);
  EXPECT_NEAR(static_cast<double>(tables.order_line.count_rows()), 110'000, 2'000);
  expect_consistent(*workload, *database);

  EXPECT_EQ(row<Warehouse>(tables.warehouse, warehouse_key(1)).ytd, 110'000'00);
  EXPECT_EQ(row<District>(tables.district, district_key(1, 10)).next_order, 1101u);
  std::map<Key, std::set<std::string>> names;
  uint64_t bad_credit = 0;
  each<Customer>(tables.customer, [&](Key key, const Customer& customer) {
    names[district_of_customer(key)].emplace(text(customer.last));
    bad_credit += text(customer.credit) == "BC";
    EXPECT_EQ(customer.balance, -10'00);
    EXPECT_GE(text(customer.data).size(), 300u);
  });
  EXPECT_EQ(names.size(), 10u);
  for (const auto& [district, all] : names) EXPECT_EQ(all.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(bad_credit), 1100, 150);
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

TEST_F(TpccTest, ExpectedBytesAreNearTheRows) {
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  uint64_t rows = 0;
  for (const auto& table : database->tables()) rows += table->count_rows() * table->row_bytes();
  EXPECT_GT(workload->spec().expected_bytes, rows);
  EXPECT_LT(workload->spec().expected_bytes, 2 * rows);
}

TEST_F(TpccTest, LoadDoesNotDependOnTheNumberOfParts) {
  set({{"tpcc_items", "12000"}});
  const auto workload = make_workload("tpcc");
  const auto one = load(*workload, 1), four = load(*workload, 4), many = load(*workload, 64);
  EXPECT_EQ(fingerprint(*one), fingerprint(*four));
  EXPECT_EQ(fingerprint(*one), fingerprint(*many)) << "more parts than units to load";
}

TEST_F(TpccTest, RunsUnderEveryProtocolOnOneThread) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
    const auto workload = make_workload("tpcc");
    const auto database = load(*workload, 1);
    Tables tables(*database);
    const uint64_t orders = tables.order.count_rows(), paid = tables.history.count_rows();
    const uint64_t delivered = orders - tables.new_order.count_rows();
    Outcome outcome;
    run(*workload, *database, protocol, 1, 4000, 1, outcome);
    EXPECT_EQ(outcome.aborts, 0u);
    EXPECT_EQ(outcome.commits + outcome.rollbacks, 4000u);
    EXPECT_GT(outcome.rollbacks, 0u);
    EXPECT_LT(outcome.rollbacks, 40u);
    EXPECT_NEAR(static_cast<double>(tables.order.count_rows() - orders + outcome.rollbacks), 1800,
                150);
    EXPECT_NEAR(static_cast<double>(tables.history.count_rows() - paid), 1720, 150);
    // Each Delivery delivers ten orders while undelivered orders remain.
    EXPECT_NEAR(
        static_cast<double>(tables.order.count_rows() - tables.new_order.count_rows() - delivered),
        1600, 350);
    expect_consistent(*workload, *database);
  }
}

TEST_F(TpccTest, RunsUnderEveryProtocolOnSeveralThreads) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    for (const char* home : {"split", "fixed", "any"}) {
      SCOPED_TRACE(std::string(protocol.name) + " " + home);
      set({{"tpcc_home", home}});
      const auto workload = make_workload("tpcc");
      const auto database = load(*workload, 2);
      Outcome outcome;
      run(*workload, *database, protocol, 4, 400, 7, outcome);
      EXPECT_EQ(outcome.commits + outcome.rollbacks, 1600u);
      expect_consistent(*workload, *database);
    }
  }
}

TEST_F(TpccTest, EveryCommitInsertsItsRow) {
  set({{"tpcc_mix", "np"}});
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
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

TEST_F(TpccTest, DrawsTheSharesOfTheSpecification) {
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  std::map<uint32_t, double> drawn;
  {
    const auto client = workload->make_client(*database, 0, 1, 3);
    for (int i = 0; i < 100'000; ++i) drawn[client->next()] += 0.001;
  }
  const Specification spec = workload->spec();
  const uint32_t standard[] = {45, 43, 4, 4, 4};
  for (uint32_t type = 0; type < 5; ++type) {
    EXPECT_EQ(spec.types[type].specified->share_pct, standard[type]);
    EXPECT_NEAR(drawn[type], standard[type], 0.6);
  }
  for (const Share& share : workload->shares()) {
    if (share.all == 0) continue;  // the test only draws, so no Delivery has skipped a district
    EXPECT_NEAR(100.0 * static_cast<double>(share.hits) / static_cast<double>(share.all),
                share.specified_pct, 0.6)
        << share.name;
  }
  EXPECT_EQ(spec.headline->name, "NewOrders a minute");
  EXPECT_TRUE(spec.headline->with_rollbacks);
}

// The same seed gives the same database, even if every transaction is executed twice, where the
// first execution is aborted.
TEST_F(TpccTest, IsAFunctionOfTheSeedEvenWithRetries) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
    const auto workload = make_workload("tpcc");
    const auto once = load(*workload, 1), twice = load(*workload, 1), other = load(*workload, 1);
    Outcome outcome;
    run(*workload, *once, protocol, 1, 500, 3, outcome);
    run(*workload, *twice, protocol, 1, 500, 3, outcome, true);
    run(*workload, *other, protocol, 1, 500, 4, outcome);
    EXPECT_EQ(fingerprint(*once), fingerprint(*twice));
    EXPECT_NE(fingerprint(*once), fingerprint(*other));
    expect_consistent(*workload, *twice);
  }
}

TEST_F(TpccTest, NewOrderTakesStockAndCountsRemoteOrders) {
  set({{"tpcc_mix", "neworder"}});
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 3000, 5, outcome);
  uint64_t remote_lines = 0, remote_orders = 0, remote_stock = 0;
  each<OrderLine>(tables.order_line, [&](Key key, const OrderLine& line) {
    const Key district = district_of_order(order_of_line(key));
    remote_lines += line.supply_warehouse != warehouse_of_district(district);
    if (number_of_order(order_of_line(key)) <= 20) return;
    const Item& item = row<Item>(tables.item, item_key(line.item));
    EXPECT_EQ(line.amount, item.price * line.quantity);
    const Stock& stock = row<Stock>(tables.stock, stock_key(line.supply_warehouse, line.item));
    EXPECT_EQ(std::memcmp(line.dist_info, stock.dist[number_of_district(district) - 1], 24), 0);
  });
  each<Order>(tables.order, [&](Key, const Order& order) { remote_orders += !order.all_local; });
  each<Stock>(tables.stock, [&](Key, const Stock& stock) {
    remote_stock += stock.remote_orders;
    EXPECT_GE(stock.quantity, 10);
    EXPECT_LE(stock.quantity, 100);
  });
  EXPECT_EQ(remote_stock, remote_lines);
  EXPECT_NEAR(static_cast<double>(remote_lines), 300, 100);
  EXPECT_GT(remote_orders, 0u);
  EXPECT_LE(remote_orders, remote_lines);
  expect_consistent(*workload, *database);
}

TEST_F(TpccTest, PaymentUpdatesTheCustomerAndNotesBadCredit) {
  set({{"tpcc_mix", "0,1,0,0,0"}});
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 2000, 5, outcome);
  std::map<Key, Cents> paid;
  std::map<Key, uint32_t> payments;
  uint64_t remote = 0;
  each<History>(tables.history, [&](Key, const History& history) {
    const Key customer =
        customer_key(history.customer_warehouse, history.customer_district, history.customer);
    paid[customer] += history.amount;
    ++payments[customer];
    remote += history.customer_warehouse != history.warehouse;
  });
  EXPECT_NEAR(static_cast<double>(remote), 300, 80);
  each<Customer>(tables.customer, [&](Key key, const Customer& customer) {
    EXPECT_EQ(customer.ytd_payment, paid[key]);
    EXPECT_EQ(customer.balance, -paid[key]);
    EXPECT_EQ(customer.payments, payments[key]);
    const std::string number = std::to_string(low_bits(key, kCustomerBits)) + " ";
    const bool noted = std::string_view(customer.data, number.size()) == number;
    EXPECT_EQ(noted, text(customer.credit) == "BC" && customer.payments > 1);
  });
}

// Customers with added numbers, which no draw reaches, pay only when they are chosen by last name.
// Only the customer in the middle may be chosen.
TEST_F(TpccTest, PaymentByLastNameChoosesTheMiddleFirstName) {
  set({{"tpcc_mix", "0,1,0,0,0"}, {"tpcc_warehouses", "1"}, {"tpcc_customers", "10"}});
  struct Case {
    std::vector<std::string> namesakes;  // first names; the loaded customer's sorts between ! and ~
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
