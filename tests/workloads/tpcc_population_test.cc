// Each column's values reach both ends of the range of clause 4.3.3.1, and no value is outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>

#include "workloads/tpcc/load.h"

namespace logjam::tpcc {
namespace {

struct Range {
  int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
  bool operator==(const Range&) const = default;
};
using Ranges = std::map<std::string, Range>;

// Returns whether the column is a part of a key, or has contents that another test checks.
bool is_ignored(const std::string& column) {
  for (const char* end : {"w_id", "d_id", "_zip", "h_c_id", "s_i_id", "ol_o_id", "c_last"}) {
    if (column.ends_with(end)) return true;
  }
  return false;
}

// Each column's least and largest value, its lengths of text, and values that the test compares.
struct Found {
  Database database;
  Ranges ranges;
  std::map<std::string, uint64_t> originals;
  std::map<std::string, uint64_t> values;  // of short texts

  template <class Row>
  void see(Key key, const Row& row) {
    bool delivered = false;
    if constexpr (std::is_same_v<Row, Order>) delivered = number_of_order(key) <= 2100;
    if constexpr (std::is_same_v<Row, OrderLine>) {
      delivered = number_of_order(order_of_line(key)) <= 2100;
    }
    for (const Column& column : database.table(kTableId<Row>)->schema().columns) {
      if (is_ignored(column.name)) continue;
      std::string value;
      append_csv_field(column, key, reinterpret_cast<const std::byte*>(&row), &value);
      std::erase(value, '"');
      std::string name = column.name.starts_with("s_dist") ? "s_dist" : column.name;
      if (delivered && column.of_key == nullptr) name += "_delivered";
      if (column.kind == Column::Kind::kText) {
        originals[name] += value.find("ORIGINAL") != std::string::npos;
        if (value.size() == 2) ++values[name + value];
        value = std::to_string(value.size());
      }
      std::erase(value, '.');
      const int64_t number = value.empty() ? 0 : std::stoll(value);
      Range& range = ranges[name];
      range = {std::min(range.least, number), std::max(range.most, number)};
    }
  }
};

Ranges ranges_of(const char* text) {
  Ranges ranges;
  std::istringstream words(text);
  std::string column;
  for (Range range; words >> column >> range.least >> range.most;) ranges[column] = range;
  return ranges;
}

// The test loads 20,000 items and their stock, a warehouse, and two of its districts. Columns of
// small tables, and columns with wide ranges, need not reach the ends of their ranges.
TEST(TpccPopulation, EveryColumnHasTheRangeOfClause4_3_3_1) {
  const Scale scale{.items = 20'000};
  Found found;
  create_tables(found.database, scale);
  // Part 0 has the warehouse. Parts 1 to 10 have a district each. Parts 11 and 12 have the stock.
  // Parts 0 and 1 also have the items.
  constexpr uint32_t kParts = 1 + 10 + 2;
  for (const uint32_t part : {0, 1, 2, 11, 12}) {
    visit_population(scale, part, kParts, [&](Key key, const auto& row) { found.see(key, row); });
  }
  const Ranges exact = ranges_of(R"(
      w_ytd 30000000 30000000 d_ytd 3000000 3000000 d_next_o_id 3001 3001
      c_id 1 3000 c_first 8 16 c_middle 2 2 c_street_1 10 20 c_street_2 10 20 c_city 10 20
      c_state 2 2 c_phone 16 16 c_since 1 1 c_credit 2 2 c_credit_lim 5000000 5000000
      c_balance -1000 -1000 c_ytd_payment 1000 1000 c_payment_cnt 1 1 c_delivery_cnt 0 0
      c_data 300 500
      h_amount 1000 1000 h_date 1 1 h_data 12 24
      no_o_id 2101 3000
      o_id 1 3000 o_entry_d 1 1 o_entry_d_delivered 1 1 o_carrier_id_delivered 1 10
      o_carrier_id 0 0 o_ol_cnt 5 15 o_ol_cnt_delivered 5 15 o_all_local 1 1
      o_all_local_delivered 1 1
      ol_number 1 15 ol_amount_delivered 0 0 ol_delivery_d_delivered 1 1 ol_delivery_d 0 0
      ol_quantity 5 5 ol_quantity_delivered 5 5 ol_dist_info 24 24 ol_dist_info_delivered 24 24
      i_id 1 20000 i_name 14 24 i_data 26 50
      s_quantity 10 100 s_dist 24 24 s_ytd 0 0 s_order_cnt 0 0 s_remote_cnt 0 0 s_data 26 50)");
  // Columns of tables with many rows come near the ends of their ranges.
  const Ranges wide = ranges_of(R"(
      o_c_id 1 3000 o_c_id_delivered 1 3000 ol_amount 1 999999 ol_i_id 1 20000
      ol_i_id_delivered 1 20000 i_price 100 10000 i_im_id 1 10000 c_discount 0 5000)");
  Ranges within = ranges_of(R"(
      w_name 6 10 w_street_1 10 20 w_street_2 10 20 w_city 10 20 w_state 2 2 w_tax 0 2000
      d_name 6 10 d_street_1 10 20 d_street_2 10 20 d_city 10 20 d_state 2 2 d_tax 0 2000)");
  within.insert(wide.begin(), wide.end());
  for (const auto& [column, range] : found.ranges) {
    SCOPED_TRACE(column + " " + std::to_string(range.least) + " " + std::to_string(range.most));
    if (const auto at = exact.find(column); at != exact.end()) {
      EXPECT_TRUE(range == at->second);
    } else {
      ASSERT_TRUE(within.contains(column));
      EXPECT_GE(range.least, within[column].least);
      EXPECT_LE(range.most, within[column].most);
    }
  }
  EXPECT_EQ(found.ranges.size(), exact.size() + within.size());
  for (const auto& [column, range] : wide) {
    const int64_t near = (range.most - range.least) / 500;
    EXPECT_LT(found.ranges[column].least, range.least + near) << column;
    EXPECT_GT(found.ranges[column].most, range.most - near) << column;
  }
  EXPECT_EQ(found.values["c_middleOE"], 6'000u);
  EXPECT_EQ(found.values["c_creditGC"] + found.values["c_creditBC"], 6'000u);
  EXPECT_NEAR(static_cast<double>(found.values["c_creditBC"]), 600, 90);
  EXPECT_NEAR(static_cast<double>(found.originals["i_data"]), 2'000, 170);
  EXPECT_NEAR(static_cast<double>(found.originals["s_data"]), 2'000, 170);
}

}  // namespace
}  // namespace logjam::tpcc
