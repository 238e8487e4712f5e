// Each column of the initial population has the range of clause 4.3.3.1: it reaches both ends, and
// no value is outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "workloads/tpcc/input.h"
#include "workloads/tpcc/load.h"

namespace logjam::tpcc {
namespace {

// The least and the largest value of each column, and the lengths of texts.
class Ranges : public PopulationVisitor {
 public:
  using Range = std::pair<int64_t, int64_t>;

  void visit(Key, const Warehouse& row) override {
    text_column("w_name", row.name);
    address("w_", row.address);
    number("w_tax", row.tax);
    number("w_ytd", row.ytd);
    zero(row.unused);
  }
  void visit(Key, const District& row) override {
    text_column("d_name", row.name);
    address("d_", row.address);
    number("d_tax", row.tax);
    number("d_ytd", row.ytd);
    number("d_next_o_id", row.next_order);
    zero(row.unused);
  }
  void visit(Key key, const Customer& row) override {
    number("c_id", static_cast<int64_t>(low_bits(key, kCustomerBits)));
    text_column("c_first", row.first);
    EXPECT_EQ(text(row.middle), "OE");
    address("c_", row.address);
    EXPECT_TRUE(std::all_of(std::begin(row.phone), std::end(row.phone),
                            [](unsigned char c) { return std::isdigit(c); }));
    number("c_since", static_cast<int64_t>(row.since));
    ++credits[std::string(text(row.credit))];
    number("c_credit_lim", row.credit_limit);
    number("c_discount", row.discount);
    number("c_balance", row.balance);
    number("c_ytd_payment", row.ytd_payment);
    number("c_payment_cnt", row.payments);
    number("c_delivery_cnt", row.deliveries);
    text_column("c_data", row.data);
    zero(row.unused);
  }
  void visit(Key key, const History& row) override {
    EXPECT_EQ(key, loaded_history_key(customer_key(row.warehouse, row.district, row.customer)));
    EXPECT_EQ(row.customer_warehouse, row.warehouse);
    EXPECT_EQ(row.customer_district, row.district);
    number("h_amount", row.amount);
    number("h_date", static_cast<int64_t>(row.date));
    text_column("h_data", row.data);
  }
  void visit(Key key, const NewOrder& row) override {
    EXPECT_EQ(row.order, number_of_order(key));
    number("no_o_id", static_cast<int64_t>(row.order));
  }
  void visit(Key key, const Order& row) override {
    const bool delivered = number_of_order(key) <= 2100;
    number("o_id", static_cast<int64_t>(number_of_order(key)));
    number("o_entry_d", static_cast<int64_t>(row.entered));
    number("o_c_id", row.customer);
    number(delivered ? "o_carrier_id delivered" : "o_carrier_id", row.carrier);
    number("o_ol_cnt", row.lines);
    number("o_all_local", row.all_local);
    zero(row.unused);
  }
  void visit(Key key, const OrderLine& row) override {
    const bool delivered = number_of_order(order_of_line(key)) <= 2100;
    number("ol_number", static_cast<int64_t>(low_bits(key, kLineBits)));
    number(delivered ? "ol_amount delivered" : "ol_amount", row.amount);
    number(delivered ? "ol_delivery_d delivered" : "ol_delivery_d",
           static_cast<int64_t>(row.delivered));
    number("ol_i_id", row.item);
    number("ol_supply_w_id", row.supply_warehouse);
    number("ol_quantity", row.quantity);
    text_column("ol_dist_info", row.dist_info);
    zero(row.unused);
  }
  void visit(Key key, const Item& row) override {
    number("i_id", static_cast<int64_t>(key));
    number("i_price", row.price);
    number("i_im_id", row.image);
    text_column("i_name", row.name);
    brand("i_data", row.data);
    zero(row.unused);
  }
  void visit(Key, const Stock& row) override {
    number("s_quantity", row.quantity);
    for (const auto& dist : row.dist) text_column("s_dist", dist);
    number("s_ytd", row.ytd);
    number("s_order_cnt", row.orders);
    number("s_remote_cnt", row.remote_orders);
    brand("s_data", row.data);
    zero(row.unused);
  }

  std::map<std::string, Range> ranges;
  std::map<std::string, uint64_t> credits;
  std::map<std::string, uint64_t> originals;

 private:
  void number(const std::string& column, int64_t value) {
    const auto [at, inserted] = ranges.emplace(column, Range{value, value});
    at->second.first = std::min(at->second.first, value);
    at->second.second = std::max(at->second.second, value);
  }
  template <size_t N>
  void text_column(const std::string& column, const char (&field)[N]) {
    const std::string_view said = text(field);
    number(column, static_cast<int64_t>(said.size()));
    EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](unsigned char c) {
      return std::isalnum(c);
    })) << column;
    EXPECT_TRUE(std::all_of(field + said.size(), std::end(field), [](char c) { return c == 0; }))
        << column;
  }
  template <size_t N>
  void brand(const std::string& column, const char (&field)[N]) {
    text_column(column, field);
    originals[column] += text(field).find("ORIGINAL") != std::string_view::npos;
  }
  void address(const std::string& prefix, const Address& address) {
    text_column(prefix + "street_1", address.street_1);
    text_column(prefix + "street_2", address.street_2);
    text_column(prefix + "city", address.city);
    text_column(prefix + "state", address.state);
    EXPECT_EQ(text(address.zip).substr(4), "11111");
    EXPECT_TRUE(
        std::all_of(address.zip, address.zip + 4, [](unsigned char c) { return std::isdigit(c); }));
  }
  template <size_t N>
  static void zero(const char (&unused)[N]) {
    EXPECT_TRUE(std::all_of(unused, std::end(unused), [](char c) { return c == 0; }));
  }
};

// 20,000 items and their stock, a warehouse and two districts of it, each a unit of the load. Wide
// ranges, and the ranges of few rows, need not reach their ends.
TEST(TpccPopulation, EveryColumnHasTheRangeOfClause4_3_3_1) {
  Ranges found;
  // Part 0 has the warehouse, parts 1 to 10 a district each, 11 and 12 its stock, 0 and 1 items.
  constexpr uint32_t kParts = 1 + 10 + 2;
  for (const uint32_t part : {0, 1, 2, 11, 12}) {
    visit_population({.items = 20'000}, part, kParts, found);
  }
  const std::map<std::string, Ranges::Range> exact = {
      {"w_ytd", {300'000'00, 300'000'00}},
      {"d_ytd", {30'000'00, 30'000'00}},
      {"d_next_o_id", {3001, 3001}},
      {"c_id", {1, 3000}},
      {"c_first", {8, 16}},
      {"c_street_1", {10, 20}},
      {"c_street_2", {10, 20}},
      {"c_city", {10, 20}},
      {"c_state", {2, 2}},
      {"c_since", {kLoadDate, kLoadDate}},
      {"c_credit_lim", {50'000'00, 50'000'00}},
      {"c_balance", {-10'00, -10'00}},
      {"c_ytd_payment", {10'00, 10'00}},
      {"c_payment_cnt", {1, 1}},
      {"c_delivery_cnt", {0, 0}},
      {"c_data", {300, 500}},
      {"h_amount", {10'00, 10'00}},
      {"h_date", {kLoadDate, kLoadDate}},
      {"h_data", {12, 24}},
      {"no_o_id", {2101, 3000}},
      {"o_id", {1, 3000}},
      {"o_entry_d", {kLoadDate, kLoadDate}},
      {"o_c_id", {1, 3000}},
      {"o_carrier_id delivered", {1, 10}},
      {"o_carrier_id", {0, 0}},
      {"o_ol_cnt", {5, 15}},
      {"o_all_local", {1, 1}},
      {"ol_number", {1, 15}},
      {"ol_amount delivered", {0, 0}},
      {"ol_delivery_d delivered", {kLoadDate, kLoadDate}},
      {"ol_delivery_d", {kNoDate, kNoDate}},
      {"ol_supply_w_id", {1, 1}},
      {"ol_quantity", {5, 5}},
      {"ol_dist_info", {24, 24}},
      {"i_id", {1, 20'000}},
      {"i_name", {14, 24}},
      {"i_data", {26, 50}},
      {"s_quantity", {10, 100}},
      {"s_dist", {24, 24}},
      {"s_ytd", {0, 0}},
      {"s_order_cnt", {0, 0}},
      {"s_remote_cnt", {0, 0}},
      {"s_data", {26, 50}}};
  // Columns of tables with many rows come near the ends of their ranges.
  const std::map<std::string, Ranges::Range> wide = {{"ol_amount", {1, 9'999'99}},
                                                     {"ol_i_id", {1, 20'000}},
                                                     {"i_price", {1'00, 100'00}},
                                                     {"i_im_id", {1, 10'000}},
                                                     {"c_discount", {0, 5000}}};
  std::map<std::string, Ranges::Range> within = {
      {"w_name", {6, 10}}, {"d_name", {6, 10}}, {"w_tax", {0, 2000}}, {"d_tax", {0, 2000}}};
  within.insert(wide.begin(), wide.end());
  for (const std::string prefix : {"w_", "d_"}) {
    for (const char* column : {"street_1", "street_2", "city"}) within[prefix + column] = {10, 20};
    within[prefix + "state"] = {2, 2};
  }
  for (const auto& [column, range] : found.ranges) {
    if (const auto at = exact.find(column); at != exact.end()) {
      EXPECT_EQ(range, at->second) << column;
    } else {
      ASSERT_TRUE(within.contains(column)) << column;
      EXPECT_GE(range.first, within[column].first) << column;
      EXPECT_LE(range.second, within[column].second) << column;
    }
  }
  EXPECT_EQ(found.ranges.size(), exact.size() + within.size());
  for (const auto& [column, range] : wide) {
    const int64_t near = (range.second - range.first) / 500;
    EXPECT_LT(found.ranges[column].first, range.first + near) << column;
    EXPECT_GT(found.ranges[column].second, range.second - near) << column;
  }
  EXPECT_EQ(found.credits["GC"] + found.credits["BC"], 6'000u);
  EXPECT_NEAR(static_cast<double>(found.credits["BC"]), 600, 90);
  EXPECT_NEAR(static_cast<double>(found.originals["i_data"]), 2'000, 170);
  EXPECT_NEAR(static_cast<double>(found.originals["s_data"]), 2'000, 170);
}

}  // namespace
}  // namespace logjam::tpcc
