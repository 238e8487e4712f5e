#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {
namespace {

constexpr uint32_t kCentDigits = 2, kBasisPointDigits = 4;

// Returns the whole key as a column. The functions below return parts of keys.
uint64_t whole(Key key) { return key; }
uint64_t warehouse_in_district(Key key) { return warehouse_of_district(key); }
uint64_t district_in_district(Key key) { return number_of_district(key); }
uint64_t warehouse_in_customer(Key key) { return warehouse_in_district(district_of_customer(key)); }
uint64_t district_in_customer(Key key) { return district_in_district(district_of_customer(key)); }
uint64_t customer_in_customer(Key key) { return low_bits(key, kCustomerBits); }
uint64_t warehouse_in_order(Key key) { return warehouse_in_district(district_of_order(key)); }
uint64_t district_in_order(Key key) { return district_in_district(district_of_order(key)); }
uint64_t order_in_order(Key key) { return number_of_order(key); }
uint64_t warehouse_in_line(Key key) { return warehouse_in_order(order_of_line(key)); }
uint64_t district_in_line(Key key) { return district_in_order(order_of_line(key)); }
uint64_t order_in_line(Key key) { return order_in_order(order_of_line(key)); }
uint64_t line_in_line(Key key) { return low_bits(key, kLineBits); }
uint64_t warehouse_in_stock(Key key) { return warehouse_of_stock(key); }
uint64_t item_in_stock(Key key) { return low_bits(key, kItemBits); }

template <class Row>
void add_address(Columns& columns, const std::string& prefix) {
  columns.field(prefix + "street_1", &Row::address, &Address::street_1)
      .field(prefix + "street_2", &Row::address, &Address::street_2)
      .field(prefix + "city", &Row::address, &Address::city)
      .field(prefix + "state", &Row::address, &Address::state)
      .field(prefix + "zip", &Row::address, &Address::zip);
}

}  // namespace

Columns warehouse_columns() {
  Columns columns;
  columns.key("w_id", whole).field("w_name", &Warehouse::name);
  add_address<Warehouse>(columns, "w_");
  columns.field("w_tax", &Warehouse::tax).decimals(kBasisPointDigits);
  columns.field("w_ytd", &Warehouse::ytd).decimals(kCentDigits);
  return columns;
}

Columns district_columns() {
  Columns columns;
  columns.key("d_id", district_in_district)
      .key("d_w_id", warehouse_in_district)
      .field("d_name", &District::name);
  add_address<District>(columns, "d_");
  columns.field("d_tax", &District::tax).decimals(kBasisPointDigits);
  columns.field("d_ytd", &District::ytd).decimals(kCentDigits);
  columns.field("d_next_o_id", &District::next_order);
  return columns;
}

Columns customer_columns() {
  Columns columns;
  columns.key("c_id", customer_in_customer)
      .key("c_d_id", district_in_customer)
      .key("c_w_id", warehouse_in_customer)
      .field("c_first", &Customer::first)
      .field("c_middle", &Customer::middle)
      .field("c_last", &Customer::last);
  add_address<Customer>(columns, "c_");
  columns.field("c_phone", &Customer::phone)
      .field("c_since", &Customer::since)
      .field("c_credit", &Customer::credit);
  columns.field("c_credit_lim", &Customer::credit_limit).decimals(kCentDigits);
  columns.field("c_discount", &Customer::discount).decimals(kBasisPointDigits);
  columns.field("c_balance", &Customer::balance).decimals(kCentDigits);
  columns.field("c_ytd_payment", &Customer::ytd_payment).decimals(kCentDigits);
  columns.field("c_payment_cnt", &Customer::payments)
      .field("c_delivery_cnt", &Customer::deliveries)
      .field("c_data", &Customer::data);
  return columns;
}

// Returns HISTORY's columns without its key, because TPC-C's HISTORY has no key.
Columns history_columns() {
  Columns columns;
  columns.field("h_c_id", &History::customer)
      .field("h_c_d_id", &History::customer_district)
      .field("h_c_w_id", &History::customer_warehouse)
      .field("h_d_id", &History::district)
      .field("h_w_id", &History::warehouse)
      .field("h_date", &History::date);
  columns.field("h_amount", &History::amount).decimals(kCentDigits);
  columns.field("h_data", &History::data);
  return columns;
}

Columns new_order_columns() {
  Columns columns;
  columns.field("no_o_id", &NewOrder::order)
      .key("no_d_id", district_in_order)
      .key("no_w_id", warehouse_in_order);
  return columns;
}

Columns order_columns() {
  Columns columns;
  columns.key("o_id", order_in_order)
      .key("o_d_id", district_in_order)
      .key("o_w_id", warehouse_in_order)
      .field("o_c_id", &Order::customer)
      .field("o_entry_d", &Order::entered);
  columns.field("o_carrier_id", &Order::carrier).zero_is_null();
  columns.field("o_ol_cnt", &Order::lines).field("o_all_local", &Order::all_local);
  return columns;
}

Columns order_line_columns() {
  Columns columns;
  columns.key("ol_o_id", order_in_line)
      .key("ol_d_id", district_in_line)
      .key("ol_w_id", warehouse_in_line)
      .key("ol_number", line_in_line)
      .field("ol_i_id", &OrderLine::item)
      .field("ol_supply_w_id", &OrderLine::supply_warehouse);
  columns.field("ol_delivery_d", &OrderLine::delivered).zero_is_null();
  columns.field("ol_quantity", &OrderLine::quantity);
  columns.field("ol_amount", &OrderLine::amount).decimals(kCentDigits);
  columns.field("ol_dist_info", &OrderLine::dist_info);
  return columns;
}

Columns item_columns() {
  Columns columns;
  columns.key("i_id", whole).field("i_im_id", &Item::image).field("i_name", &Item::name);
  columns.field("i_price", &Item::price).decimals(kCentDigits);
  columns.field("i_data", &Item::data);
  return columns;
}

Columns stock_columns() {
  Columns columns;
  columns.key("s_i_id", item_in_stock)
      .key("s_w_id", warehouse_in_stock)
      .field("s_quantity", &Stock::quantity)
      .fields("s_dist_", &Stock::dist)
      .field("s_ytd", &Stock::ytd)
      .field("s_order_cnt", &Stock::orders)
      .field("s_remote_cnt", &Stock::remote_orders)
      .field("s_data", &Stock::data);
  return columns;
}

}  // namespace logjam::tpcc
