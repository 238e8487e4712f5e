// TPC-C's transactions one by one, under every protocol.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/terminal.h"

namespace logjam {
namespace {

using namespace tpcc;

// A terminal, and a worker that executes the terminal's transactions.
class Session {
 public:
  Session(Database& database, const ProtocolInfo& protocol, const Scale& scale)
      : terminal(database, scale, 0, Home::of(HomePolicy::kFixed, 0, 1, scale.warehouses), 1),
        worker_(database, protocol) {}

  std::unique_ptr<TransactionType> make(Type type) { return kTypes[type].make(terminal); }
  // Chooses and executes a transaction. Returns whether the transaction has committed.
  bool try_one(TransactionType& type) {
    type.draw();
    ProtocolTransaction& txn = worker_.transaction();
    txn.begin(false);
    if (type.execute(txn) == Status::kOk) return txn.commit() == Status::kOk;
    txn.abort();
    return false;
  }
  void perform(TransactionType& type) { ASSERT_TRUE(try_one(type)); }

  Terminal terminal;

 private:
  LoneWorker worker_;
};

class TpccTransactions : public WorkloadTest, public testing::WithParamInterface<std::string> {
 protected:
  TpccTransactions() {
    set({{"tpcc_warehouses", "1"}, {"tpcc_items", "100"}, {"tpcc_customers", "10"}});
    workload = make_workload("tpcc");
    database = load(*workload, 1);
    tables = std::make_unique<Tables>(*database);
  }

  std::unique_ptr<Session> session() {
    return std::make_unique<Session>(*database, *find_protocol(GetParam()), scale);
  }
  // Returns the number of a customer's latest order.
  uint64_t latest_of(Key district, uint32_t c) {
    uint64_t latest = 0;
    each<Order>(tables->order, [&](Key key, const Order& order) {
      if (district_of_order(key) == district && order.customer == c) {
        latest = std::max(latest, number_of_order(key));
      }
    });
    return latest;
  }

  const Scale scale{.warehouses = 1, .items = 100, .customers = 10};
  std::unique_ptr<Workload> workload;
  std::unique_ptr<Database> database;
  std::unique_ptr<Tables> tables;
};

TEST_P(TpccTransactions, DeliveryTakesTheOldestOrdersAndSkipsEmptyDistricts) {
  const auto one = session();
  const auto delivery = one->make(kDelivery);
  ASSERT_EQ(tables->new_order.count_rows(), 30u) << "orders 8, 9 and 10 of each district wait";
  // Without this row of NEW-ORDER, district 4 is the first district that has no undelivered order.
  in_transaction(*database, *find_protocol(GetParam()), [&](Transaction& txn) {
    EXPECT_EQ(txn.erase(tables->new_order, order_key(1, 4, 8)), Status::kOk);
  });
  const uint32_t customer = row<Order>(tables->order, order_key(1, 2, 8)).customer;
  const Cents balance = row<Customer>(tables->customer, customer_key(1, 2, customer)).balance;
  Cents sum = 0;
  each<OrderLine>(tables->order_line, [&](Key key, const OrderLine& line) {
    if (order_of_line(key) == order_key(1, 2, 8)) sum += line.amount;
  });

  one->perform(*delivery);
  EXPECT_EQ(tables->new_order.count_rows(), 19u);
  for (uint32_t d = 1; d <= kDistricts; ++d) {
    const uint64_t gone = d == 4 ? 9 : 8;
    const Order& order = row<Order>(tables->order, order_key(1, d, gone));
    EXPECT_GE(order.carrier, 1);
    EXPECT_LE(order.carrier, 10);
    for (uint32_t number = 1; number <= order.lines; ++number) {
      EXPECT_NE(
          row<OrderLine>(tables->order_line, line_key(order_key(1, d, gone), number)).delivered,
          kNoDate);
    }
    EXPECT_EQ(row<Order>(tables->order, order_key(1, d, gone + 1)).carrier, 0);
  }
  const Customer& paid = row<Customer>(tables->customer, customer_key(1, 2, customer));
  EXPECT_GT(sum, 0);
  EXPECT_EQ(paid.balance, balance + sum);
  EXPECT_EQ(paid.deliveries, 1u);

  one->perform(*delivery);
  EXPECT_EQ(tables->new_order.count_rows(), 9u);
  one->perform(*delivery);
  EXPECT_EQ(tables->new_order.count_rows(), 0u) << "district 4 was skipped";
  one->perform(*delivery);
  delivery->draw();
  EXPECT_EQ(one->terminal.drawn.skipped.hits, 11u);
  EXPECT_EQ(one->terminal.drawn.skipped.all, 40u);

  // A later NewOrder in a skipped district is delivered as usual.
  const auto new_order = one->make(kNewOrder);
  one->perform(*new_order);
  EXPECT_EQ(tables->new_order.count_rows(), 1u);
  one->perform(*delivery);
  EXPECT_EQ(tables->new_order.count_rows(), 0u);
  // The erased row of NEW-ORDER breaks two conditions. Only the checks of these two may fail.
  for (const std::string& broken : failing(*workload, *database)) {
    EXPECT_TRUE(broken.starts_with("condition 5:") || broken.starts_with("condition 11:"))
        << broken;
  }
}

TEST_P(TpccTransactions, OrderStatusReadsTheLatestOrder) {
  const auto one = session();
  const auto new_order = one->make(kNewOrder);
  const auto order_status = one->make(kOrderStatus);
  for (int i = 0; i < 100; ++i) {
    (void)one->try_one(*new_order);
    one->perform(*order_status);
    const Screen& screen = one->terminal.screen;
    const Key district = district_of_customer(screen.customer);
    const uint64_t latest =
        latest_of(district, static_cast<uint32_t>(low_bits(screen.customer, kCustomerBits)));
    EXPECT_EQ(screen.order, latest);
    EXPECT_EQ(screen.lines,
              row<Order>(tables->order, order_key(1, number_of_district(district), latest)).lines);
  }
  EXPECT_GT(tables->order.count_rows(), 190u);
}

// Clause 2.4.2.2: the total is sum(OL_AMOUNT) * (1 - C_DISCOUNT) * (1 + W_TAX + D_TAX). A line is a
// brand line if both I_DATA and S_DATA have "ORIGINAL".
TEST_P(TpccTransactions, NewOrderShowsTheTotalAndTheBrandLines) {
  const auto one = session();
  const auto new_order = one->make(kNewOrder);
  // Half of the items and half of the stock have "ORIGINAL", so that brand lines are frequent.
  for (uint32_t i = 1; i <= scale.items; ++i) {
    const auto mark = [](char(&data)[50], bool original) {
      std::memset(data, 'x', sizeof data);
      if (original) std::memcpy(data + 42, "ORIGINAL", 8);
    };
    mark(row<Item>(tables->item, item_key(i)).data, i % 2 == 0);
    mark(row<Stock>(tables->stock, stock_key(1, i)).data, i % 4 < 2);
  }
  uint32_t brands = 0, orders = 0;
  for (int i = 0; i < 60; ++i) {
    if (!one->try_one(*new_order)) continue;
    ++orders;
    Key latest = 0;
    each<Order>(tables->order, [&](Key key, const Order& order) {
      if (order.entered == one->terminal.clock) latest = key;
    });
    const Order& order = row<Order>(tables->order, latest);
    const Key district = district_of_order(latest);
    long double sum = 0;
    uint32_t brand_lines = 0;
    for (uint32_t number = 1; number <= order.lines; ++number) {
      const auto& line = row<OrderLine>(tables->order_line, line_key(latest, number));
      const Cents price = row<Item>(tables->item, item_key(line.item)).price;
      EXPECT_EQ(line.amount, price * line.quantity);
      sum += static_cast<long double>(line.amount);
      brand_lines += line.item % 4 == 0;
    }
    const auto& customer = row<Customer>(
        tables->customer, customer_key(1, number_of_district(district), order.customer));
    const auto tax = row<Warehouse>(tables->warehouse, warehouse_key(1)).tax +
                     row<District>(tables->district, district).tax;
    const long double total = sum * (1 - customer.discount / 10'000.0L) * (1 + tax / 10'000.0L);
    EXPECT_NEAR(static_cast<double>(one->terminal.screen.total), static_cast<double>(total), 0.501);
    EXPECT_EQ(one->terminal.screen.brand_lines, brand_lines);
    brands += brand_lines;
  }
  EXPECT_GT(orders, 50u);
  EXPECT_GT(brands, 60u);
}

// Clause 2.8.2.2: StockLevel counts the distinct items of the district's last 20 orders whose
// quantity in the stock is below the threshold. The threshold is from 10 to 20.
TEST_P(TpccTransactions, StockLevelCountsTheDistinctLowItemsOfTheLast20Orders) {
  const auto one = session();
  const auto new_order = one->make(kNewOrder);
  const auto stock_level = one->make(kStockLevel);
  // First the district has few orders, then more than 20. Some quantities are below all thresholds.
  for (uint32_t i = 1; i <= scale.items; ++i) {
    row<Stock>(tables->stock, stock_key(1, i)).quantity = static_cast<int32_t>(5 + i % 20);
  }
  std::set<std::pair<int32_t, uint32_t>> seen;
  for (int i = 0; i < 400; ++i) {
    if (i % 4 != 0) {
      (void)one->try_one(*new_order);
      continue;
    }
    one->perform(*stock_level);
    const Screen& screen = one->terminal.screen;
    const uint32_t district = one->terminal.home.district;
    const uint64_t next = row<District>(tables->district, district_key(1, district)).next_order;
    std::set<uint32_t> items;
    each<OrderLine>(tables->order_line, [&](Key key, const OrderLine& line) {
      const Key order = order_of_line(key);
      const bool here = district_of_order(order) == district_key(1, district);
      if (here && number_of_order(order) + 20 >= next) items.insert(line.item);
    });
    uint32_t low = 0;
    for (const uint32_t item : items) {
      const int32_t quantity = row<Stock>(tables->stock, stock_key(1, item)).quantity;
      low += quantity < screen.threshold;
    }
    EXPECT_EQ(screen.low_stock, low) << next;
    EXPECT_GE(screen.threshold, 10);
    EXPECT_LE(screen.threshold, 20);
    seen.emplace(screen.threshold, low);
  }
  EXPECT_GT(seen.size(), 20u);
  EXPECT_GT(row<District>(tables->district, district_key(1, 1)).next_order, 31u);
}

// Clause 2.5.2.2: Payment writes H_DATA, and a note in C_DATA of a customer with bad credit.
TEST_P(TpccTransactions, PaymentWritesHDataAndNotesBadCredit) {
  const auto one = session();
  const auto payment = one->make(kPayment);
  std::map<Key, std::string> notes;  // C_DATA of customers with bad credit
  each<Customer>(tables->customer, [&](Key key, const Customer& customer) {
    notes[key] = std::string(customer.data, sizeof customer.data);
  });
  uint32_t bad = 0;
  for (uint64_t count = 0; count < 800; ++count) {
    one->perform(*payment);
    const auto& paid = row<History>(tables->history, history_key(0, count));
    const Key key = customer_key(1, paid.customer_district, paid.customer);
    const auto& warehouse = row<Warehouse>(tables->warehouse, warehouse_key(1));
    const auto& district = row<District>(tables->district, district_key(1, paid.district));
    EXPECT_EQ(text(paid.data),
              std::string(text(warehouse.name)) + "    " + std::string(text(district.name)));
    const auto& customer = row<Customer>(tables->customer, key);
    if (text(customer.credit) == "BC") {
      ++bad;
      const std::string note =
          std::to_string(paid.customer) + " " + std::to_string(paid.customer_district) + " 1 " +
          std::to_string(paid.district) + " 1 " + std::to_string(paid.amount) + " ";
      notes[key] = (note + notes[key]).substr(0, sizeof customer.data);
    }
    EXPECT_EQ(std::string(customer.data, sizeof customer.data), notes[key]) << count;
  }
  EXPECT_GT(bad, 20u);
}

INSTANTIATE_TEST_SUITE_P(Protocols, TpccTransactions, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& info : all_protocols()) names.emplace_back(info.name);
                           return names;
                         }()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace logjam
