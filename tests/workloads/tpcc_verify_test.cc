// TPC-C's checks find planted errors: a violation of each condition, a mangled column of a row, a
// transaction with a missing part, and a missing posting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/table_checks.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

namespace logjam {
namespace {

using namespace tpcc;

using Rows = std::map<std::pair<uint16_t, Key>, std::vector<std::byte>>;

Rows rows_of(Database& database) {
  Rows rows;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* bytes) {
      rows[{table->id(), key}].assign(bytes, bytes + table->row_bytes());
    });
  }
  return rows;
}

std::vector<std::pair<uint16_t, Key>> changed_rows(const Rows& before, const Rows& after) {
  std::vector<std::pair<uint16_t, Key>> changed;
  for (const auto& [place, bytes] : after) {
    const auto old = before.find(place);
    if (old == before.end() || old->second != bytes) changed.push_back(place);
  }
  for (const auto& [place, bytes] : before) {
    if (!after.contains(place)) changed.push_back(place);
  }
  return changed;
}

void set_row(Database& database, const Rows& rows, std::pair<uint16_t, Key> place) {
  Table& table = *database.table(place.first);
  const auto row = rows.find(place);
  if (row == rows.end()) return erase(table, place.second);
  std::copy(row->second.begin(), row->second.end(), tuple(table, place.second)->row());
  tuple(table, place.second)->version.store(Version(1, false).word());
}

class TpccVerify : public WorkloadTest {
 protected:
  static constexpr Scale kScale{.warehouses = 2, .items = 200, .customers = 20};
  TpccVerify() { set(small_scale("tpcc")); }

  // Returns the database after one worker's first `transactions` transactions, equal in all calls.
  static std::unique_ptr<Database> after(Workload& workload, uint64_t transactions) {
    auto database = load(workload, 1);
    Outcome outcome;
    run(workload, *database, all_protocols().front(), 1, transactions, 1, outcome);
    return database;
  }
  // Returns the names and details of the checks that fail.
  static std::string said(Workload& workload, Database& database) {
    std::string text;
    for (const Check& check : workload.verify(database)) {
      if (!check.passed) text += check.name + ": " + check.detail + "\n";
    }
    return text;
  }
};

TEST_F(TpccVerify, EveryConditionFindsAPlantedViolation) {
  const Key district = district_key(2, 3), order = order_key(2, 3, 20);
  const PlantedErrors<Tables> planted = {
      {"rows loaded", [](Tables& t) { erase(t.stock, stock_key(1, 7)); }},
      {"condition 1:", [](Tables& t) { row<Warehouse>(t.warehouse, warehouse_key(2)).ytd += 1; }},
      {"condition 2:", [&](Tables& t) { ++row<District>(t.district, district).next_order; }},
      {"condition 2:", [&](Tables& t) { erase(t.order, order); }},
      {"condition 2:", [&](Tables& t) { erase(t.new_order, order); }},
      {"condition 3:", [](Tables& t) { erase(t.new_order, order_key(2, 3, 18)); }},
      {"condition 4:", [&](Tables& t) { erase(t.order_line, line_key(order, 1)); }},
      {"condition 4:", [&](Tables& t) { ++row<Order>(t.order, order).lines; }},
      {"condition 7:",
       [&](Tables& t) { row<OrderLine>(t.order_line, line_key(order, 2)).delivered = 9; }},
      {"condition 7:",
       [](Tables& t) {
         row<OrderLine>(t.order_line, line_key(order_key(1, 4, 2), 5)).delivered = kNoDate;
       }},
      {"condition 5:", [&](Tables& t) { row<Order>(t.order, order).carrier = 3; }},
      {"condition 5:", [&](Tables& t) { erase(t.new_order, order); }},
      // Two orders exchange their numbers of lines, so the sum stays right.
      {"condition 6:",
       [](Tables& t) {
         for (uint64_t o = 2;; ++o) {
           Order& first = row<Order>(t.order, order_key(1, 1, 1));
           Order& other = row<Order>(t.order, order_key(1, 1, o));
           if (first.lines == other.lines) continue;
           return std::swap(first.lines, other.lines);
         }
       }},
      {"condition 8:",
       [](Tables& t) { erase(t.history, kScale.loaded_history_key(customer_key(1, 1, 1))); }},
      {"condition 9:", [&](Tables& t) { row<District>(t.district, district).ytd -= 1; }},
      {"condition 10:",
       [](Tables& t) { ++row<Customer>(t.customer, customer_key(1, 2, 3)).balance; }},
      {"condition 10:",
       [](Tables& t) { row<OrderLine>(t.order_line, line_key(order_key(1, 4, 2), 5)).amount = 1; }},
      {"condition 10:",
       [](Tables& t) {
         ++row<History>(t.history, kScale.loaded_history_key(customer_key(1, 2, 3))).amount;
       }},
      {"condition 11:",
       [](Tables& t) { ++row<Customer>(t.customer, customer_key(1, 2, 3)).deliveries; }},
      {"condition 11:", [&](Tables& t) { erase(t.new_order, order); }},
      {"condition 12:",
       [](Tables& t) { row<Customer>(t.customer, customer_key(1, 2, 3)).ytd_payment = 0; }},
      {"orders are numbered", [](Tables& t) { erase(t.order, order_key(1, 4, 2)); }},
  };
  for (uint32_t number = 1; number <= 12; ++number) {
    const std::string name = "condition " + std::to_string(number) + ":";
    EXPECT_TRUE(std::ranges::any_of(planted, [&](auto& one) { return one.first == name; })) << name;
  }
  expect_each_caught("tpcc", 0, planted);
}

TEST_F(TpccVerify, AViolationIsReportedWithItsNumbers) {
  const auto workload = make_workload("tpcc");
  const auto database = load(*workload, 1);
  Tables tables(*database);
  row<Warehouse>(tables.warehouse, warehouse_key(2)).ytd += 1'05;
  const std::vector<Check> checks = workload->verify(*database);
  EXPECT_EQ(find_check(checks, "condition 1")->detail,
            "warehouse 2: W_YTD 2001.05, sum(D_YTD) 2000.00 (1 of 2 warehouses differ)");
  row<Customer>(tables.customer, customer_key(1, 2, 3)).balance = 5;
  EXPECT_EQ(find_check(workload->verify(*database), "condition 10:")->detail,
            "warehouse 1 district 2 customer 3: C_BALANCE 0.05, sum(OL_AMOUNT) delivered - "
            "sum(H_AMOUNT) -10.00 (1 of 400 customers differ)");
}

// Flips the lowest bit of each column, one column at a time: a letter stays a letter, and a number
// changes by one. In the columns `nulls` another number is also valid, so they are set to 0.
void expect_every_column_checked(Table& table, Key key, const std::vector<std::string>& nulls,
                                 const std::function<std::string()>& said) {
  std::byte* const bytes = tuple(table, key)->row();
  for (const Column& column : table.schema().columns) {
    if (column.of_key != nullptr) continue;
    SCOPED_TRACE(table.schema().name + " " + row_name(table, key) + " " + column.name);
    const std::vector<std::byte> before(bytes, bytes + table.row_bytes());
    if (std::count(nulls.begin(), nulls.end(), column.name) != 0) {
      std::memset(bytes + column.offset, 0, column.bytes);
    } else {
      bytes[column.offset] ^= std::byte{1};
    }
    EXPECT_NE(said(), "");
    std::copy(before.begin(), before.end(), bytes);
  }
  ASSERT_EQ(said(), "");
}

TEST_F(TpccVerify, AMangledColumnOfAnyRowIsFound) {
  set({{"tpcc_items", "60"}, {"tpcc_customers", "10"}});
  const auto workload = make_workload("tpcc");
  const auto database = after(*workload, 400);
  const std::function<std::string()> say = [&] { return said(*workload, *database); };
  for (const auto& table : database->tables()) {
    // In a table with inserted rows, one of these keys is loaded, and the other key is inserted.
    Key least = ~Key{0}, largest = 0;
    table->for_each_row([&](Key key, const std::byte*) {
      least = std::min(least, key);
      largest = std::max(largest, key);
    });
    for (const Key key : {least, largest}) {
      expect_every_column_checked(*table, key, {"o_entry_d", "h_date"}, say);
    }
  }
}

TEST_F(TpccVerify, AMangledColumnIsNamed) {
  const auto workload = make_workload("tpcc");
  const auto database = after(*workload, 300);
  Tables t(*database);
  const Key customer = customer_key(1, 2, 3), stock = stock_key(2, 9);
  Order& order = row<Order>(t.order, order_key(1, 1, 21));
  OrderLine& line = row<OrderLine>(t.order_line, line_key(order_key(1, 1, 21), 1));
  const std::vector<std::pair<std::function<void()>, std::string>> planted = {
      {[&] { row<Warehouse>(t.warehouse, 1).tax += 1; }, "w_id 1: w_tax is "},
      {[&] { row<District>(t.district, district_key(1, 1)).name[0] ^= 1; },
       "d_id 1 d_w_id 1: d_name is "},
      {[&] { row<Customer>(t.customer, customer).first[0] ^= 1; },
       "c_id 3 c_d_id 2 c_w_id 1: c_first is "},
      {[&] { ++row<Customer>(t.customer, customer).payments; },
       "c_id 3 c_d_id 2 c_w_id 1: c_payment_cnt is "},
      {[&] { row<Customer>(t.customer, customer).unused[0] = 1; },
       "c_id 3 c_d_id 2 c_w_id 1: a byte of no column differs"},
      {[&] { row<Item>(t.item, 5).price += 1; }, "i_id 5: i_price is "},
      {[&] { row<Stock>(t.stock, stock).quantity += 1; }, "s_i_id 9 s_w_id 2: s_quantity is "},
      {[&] { row<Stock>(t.stock, stock).remote_orders += 1; },
       "s_i_id 9 s_w_id 2: s_remote_cnt is "},
      {[&] { row<Stock>(t.stock, stock).dist[9][23] ^= 1; }, "s_i_id 9 s_w_id 2: s_dist_10 is "},
      {[&] { order.all_local ^= 1; }, "o_all_local contradicts ol_supply_w_id"},
      {[&] { order.entered = kLoadDate; }, "o_entry_d is not after the load"},
      {[&] { line.dist_info[0] ^= 1; }, "ol_dist_info is not the district's s_dist"},
      {[&] { line.amount += 1; }, "ol_amount is not ol_quantity * i_price"},
      {[&] { row<History>(t.history, history_key(0, 3)).data[0] ^= 1; },
       "h_data is not w_name and d_name"},
      {[&] { row<History>(t.history, history_key(0, 3)).date = kLoadDate + 1; },
       "h_date is not after that of the same worker's payment before"},
      {[&] { row<NewOrder>(t.new_order, order_key(1, 1, 21)).order = 22; },
       "no_o_id is not the key's"}};
  for (const auto& [plant, message] : planted) {
    const Rows before = rows_of(*database);
    plant();
    const std::string text = said(*workload, *database);
    EXPECT_NE(text.find(message), std::string::npos) << message << "\n" << text;
    for (const auto& place : changed_rows(before, rows_of(*database))) {
      set_row(*database, before, place);
    }
  }
  EXPECT_EQ(said(*workload, *database), "");
}

// The check of C_DATA of customers with bad credit compares each note, and the order of the notes.
TEST_F(TpccVerify, AWrongNoteOfBadCreditIsFound) {
  set({{"tpcc_mix", "0,1,0,0,0"}, {"tpcc_customers", "10"}, {"tpcc_warehouses", "1"}});
  const auto workload = make_workload("tpcc");
  // After 700 payments all notes fit into C_DATA. After 6000 payments the first notes are cut off.
  for (const uint64_t payments : {700, 6000}) {
    const auto database = after(*workload, payments);
    Tables t(*database);
    Customer* customer = nullptr;
    t.customer.for_each_row([&](Key key, const std::byte*) {
      Customer& one = row<Customer>(t.customer, key);
      if (text(one.credit) == "BC" && one.payments > 3) customer = &one;
    });
    ASSERT_NE(customer, nullptr);
    const std::string data(customer->data, sizeof customer->data);
    const size_t second = [&] {
      size_t at = 0;
      for (int spaces = 0; spaces < 6; ++spaces) at = data.find(' ', at) + 1;
      return at;
    }();
    size_t third = second;
    for (int spaces = 0; spaces < 6; ++spaces) third = data.find(' ', third) + 1;
    const std::vector<std::string> wrong = {
        data.substr(second),                          // the last note is missing
        data.substr(0, second) + data.substr(third),  // an earlier note is missing
        data.substr(0, second) + data,                // a note is there twice
        data.substr(second, third - second) + data.substr(0, second) + data.substr(third),  // order
        data.substr(0, third - 2) + "x" + data.substr(third - 1),  // a digit
        data.substr(0, 499) + static_cast<char>(data[499] ^ 1)};   // the last byte is wrong
    ASSERT_EQ(said(*workload, *database), "");
    for (size_t i = 0; i < wrong.size(); ++i) {
      std::string mangled = wrong[i] + std::string(500, '\0');
      mangled.copy(customer->data, sizeof customer->data);
      EXPECT_NE(said(*workload, *database).find("c_data is not the notes of"), std::string::npos)
          << i << " after " << payments;
    }
  }
}

TEST_F(TpccVerify, AMissingOrMisplacedPostingIsFound) {
  const auto workload = make_workload("tpcc");
  const auto posting_of = [](Index& index, Key key) {
    Posting* found = nullptr;
    index.find_all(key, [&](NodeVersion, std::span<Keyed* const> entries) {
      if (!entries.empty()) found = static_cast<Posting*>(entries.front());
      return true;
    });
    return found;
  };
  const auto database = after(*workload, 200);
  Tables t(*database);
  const Customer& customer = row<Customer>(t.customer, customer_key(1, 2, 3));
  Posting* by_name = posting_of(t.customer.secondary(kByLastName),
                                last_name_key(district_key(1, 2), customer.last));
  const uint32_t orderer = row<Order>(t.order, order_key(1, 2, 21)).customer;
  Posting* by_customer = posting_of(t.order.secondary(kByCustomer),
                                    customer_order_key(customer_key(1, 2, orderer), 21));
  ASSERT_TRUE(by_name != nullptr && by_customer != nullptr);
  const auto expect_said = [&](const std::string& text) {
    EXPECT_NE(said(*workload, *database).find(text), std::string::npos) << text;
  };
  for (Posting* posting : {by_name, by_customer}) {
    const Posting before = *posting;
    ASSERT_EQ(said(*workload, *database), "");
    posting->primary += 100;
    expect_said(" has a posting, but there is no such row");
    *posting = before;
    posting->tuple = tuple(t.item, 1);
    expect_said(" has a posting that leads to another tuple");
    *posting = before;
  }
  by_name->key ^= 1;
  expect_said(" has a posting under a key that is not the row's");
  by_name->key ^= 1;
  ASSERT_EQ(said(*workload, *database), "");
  // Rows that are in the primary index, but not in the secondary indexes.
  Arena arena;
  for (const auto& [table, key] : std::vector<std::pair<Table*, Key>>{
           {&t.customer, customer_key(1, 2, 21)}, {&t.order, order_key(1, 2, 1000)}}) {
    table->find_or_create(key, arena)->version.store(Version(1, false).word());
    expect_said(row_name(*table, key) + " has no posting (1 rows without a posting");
  }
}

// Either one row of a transaction is missing, or only one row of the transaction is present.
TEST_F(TpccVerify, AHalfAppliedTransactionIsFound) {
  set({{"tpcc_items", "60"}, {"tpcc_customers", "10"}});
  for (const char* mix : {"1,0,0,0,0", "0,1,0,0,0", "0,0,0,1,0"}) {
    SCOPED_TRACE(mix);
    set({{"tpcc_mix", mix}});
    const auto workload = make_workload("tpcc");
    const uint64_t count = 5;
    const auto database = after(*workload, count);
    const Rows all = rows_of(*database), before = rows_of(*after(*workload, count - 1));
    const auto changed = changed_rows(before, all);
    ASSERT_GT(changed.size(), 3u);
    for (const auto& one : changed) {
      SCOPED_TRACE(database->table(one.first)->schema().name + " " + std::to_string(one.second));
      set_row(*database, before, one);
      EXPECT_NE(said(*workload, *database), "") << "without this row";
      for (const auto& other : changed) set_row(*database, other == one ? all : before, other);
      EXPECT_NE(said(*workload, *database), "") << "this row alone";
      for (const auto& other : changed) set_row(*database, all, other);
    }
    EXPECT_EQ(said(*workload, *database), "");
    // If the last transaction is missing as a whole, the tables do not show the loss.
    for (const auto& one : changed) set_row(*database, before, one);
    EXPECT_EQ(said(*workload, *database), "");
  }
}

// A recovery drops a transaction, but keeps all later transactions. Rows that a later transaction
// overwrote show the later write; all other rows are as before the dropped transaction.
TEST_F(TpccVerify, ATransactionDroppedInRecoveryIsFound) {
  set({{"tpcc_items", "60"}, {"tpcc_customers", "10"}, {"tpcc_warehouses", "1"}});
  for (const char* mix : {"1,0,0,0,0", "0,1,0,0,0", "0,0,0,1,0", "45,43,0,4,0"}) {
    SCOPED_TRACE(mix);
    set({{"tpcc_mix", mix}});
    const auto workload = make_workload("tpcc");
    // Three deliveries take all undelivered orders of the load. No delivery overwrites a row of
    // another delivery, but their order shows a dropped delivery.
    const bool deliveries = std::string_view(mix) == "0,0,0,1,0";
    const uint64_t count = deliveries ? 3 : 12;
    std::vector<Rows> states;
    for (uint64_t transactions = 0; transactions <= count; ++transactions) {
      states.push_back(rows_of(*after(*workload, transactions)));
    }
    uint64_t found = 0;
    for (uint64_t dropped = 1; dropped < count; ++dropped) {
      const Rows& before = states[dropped - 1];
      const Rows& done = states[dropped];
      const auto database = after(*workload, count);
      const Rows now = rows_of(*database);
      bool last_of_its_kind = !deliveries;  // whether no later transaction overwrote a row
      for (const auto& place : changed_rows(before, done)) {
        const auto here = now.find(place), then = done.find(place);
        const bool overwritten = (here == now.end()) != (then == done.end()) ||
                                 (here != now.end() && here->second != then->second);
        last_of_its_kind &= !overwritten;
        if (!overwritten) set_row(*database, before, place);
      }
      EXPECT_TRUE(last_of_its_kind || said(*workload, *database) != "") << dropped;
      found += !last_of_its_kind;
    }
    EXPECT_GT(found, count / 4);
  }
}

}  // namespace
}  // namespace logjam
