#include "workloads/tpcc/schema.h"

#include <cstring>

#include "workloads/random.h"

namespace logjam::tpcc {
namespace {

constexpr uint32_t kCentDigits = 2, kBasisPointDigits = 4;

// Returns the whole key as a column. The functions below return parts of keys.
uint64_t whole(Key key) { return key; }
uint64_t warehouse_in_district(Key key) { return warehouse_of_district(key); }
uint64_t district_in_district(Key key) { return number_of_district(key); }
uint64_t warehouse_in_customer(Key key) { return warehouse_of_district(district_of_customer(key)); }
uint64_t district_in_customer(Key key) { return number_of_district(district_of_customer(key)); }
uint64_t customer_in_customer(Key key) { return low_bits(key, kCustomerBits); }
uint64_t warehouse_in_order(Key key) { return warehouse_of_district(district_of_order(key)); }
uint64_t district_in_order(Key key) { return number_of_district(district_of_order(key)); }
uint64_t warehouse_in_line(Key key) { return warehouse_in_order(order_of_line(key)); }
uint64_t district_in_line(Key key) { return district_in_order(order_of_line(key)); }
uint64_t order_in_line(Key key) { return number_of_order(order_of_line(key)); }
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

// Each function below returns the columns of a table, for exports, with the names in clause 1.3.

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
  columns.key("d_id", district_in_district).key("d_w_id", warehouse_in_district);
  columns.field("d_name", &District::name);
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
  columns.field("c_phone", &Customer::phone).field("c_since", &Customer::since);
  columns.field("c_credit", &Customer::credit);
  columns.field("c_credit_lim", &Customer::credit_limit).decimals(kCentDigits);
  columns.field("c_discount", &Customer::discount).decimals(kBasisPointDigits);
  columns.field("c_balance", &Customer::balance).decimals(kCentDigits);
  columns.field("c_ytd_payment", &Customer::ytd_payment).decimals(kCentDigits);
  columns.field("c_payment_cnt", &Customer::payments);
  columns.field("c_delivery_cnt", &Customer::deliveries).field("c_data", &Customer::data);
  return columns;
}

// Leaves the key out, because TPC-C's HISTORY has no key.
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
  columns.field("no_o_id", &NewOrder::order);
  columns.key("no_d_id", district_in_order).key("no_w_id", warehouse_in_order);
  return columns;
}

Columns order_columns() {
  Columns columns;
  columns.key("o_id", number_of_order)
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
  return Columns()
      .key("s_i_id", item_in_stock)
      .key("s_w_id", warehouse_in_stock)
      .field("s_quantity", &Stock::quantity)
      .fields("s_dist_", &Stock::dist)
      .field("s_ytd", &Stock::ytd)
      .field("s_order_cnt", &Stock::orders)
      .field("s_remote_cnt", &Stock::remote_orders)
      .field("s_data", &Stock::data);
}

Key last_name_key_of(Key primary, const std::byte* row) {
  char last[16];
  std::memcpy(last, row + offsetof(Customer, last), sizeof last);
  return last_name_key(district_of_customer(primary), last);
}

Key customer_order_key_of(Key primary, const std::byte* row) {
  uint32_t customer;
  std::memcpy(&customer, row + offsetof(Order, customer), sizeof customer);
  return customer_order_key(district_of_order(primary) << kCustomerBits | customer,
                            number_of_order(primary));
}

// Returns all tables. Tables that grow have ordered indexes, because a hash index never grows.
std::vector<TableSchema> schemas(const Scale& scale) {
  const uint64_t warehouses = scale.warehouses, districts = scale.districts(),
                 customers = districts * scale.customers, waiting = districts * scale.undelivered(),
                 lines = customers * (kMinLines + kMaxLines) / 2;
  constexpr IndexKind kHash = IndexKind::kHash, kOrdered = IndexKind::kOrdered;
  const std::vector<SecondarySchema> by_name = {{"last_name", kHash, false, last_name_key_of}};
  const std::vector<SecondarySchema> by_customer = {
      {"customer", kOrdered, true, customer_order_key_of}};
  return {
      {"warehouse", sizeof(Warehouse), kHash, warehouses, {}, warehouse_columns()},
      {"district", sizeof(District), kHash, districts, {}, district_columns()},
      {"customer", sizeof(Customer), kHash, customers, by_name, customer_columns()},
      {"history", sizeof(History), kOrdered, customers, {}, history_columns()},
      {"new_order", sizeof(NewOrder), kOrdered, waiting, {}, new_order_columns()},
      {"order", sizeof(Order), kOrdered, customers, by_customer, order_columns()},
      {"order_line", sizeof(OrderLine), kOrdered, lines, {}, order_line_columns()},
      {"item", sizeof(Item), kHash, scale.items, {}, item_columns()},
      {"stock", sizeof(Stock), kHash, warehouses * scale.items, {}, stock_columns()},
  };
}

}  // namespace

Key last_name_key(Key district, const char (&last)[16]) {
  uint64_t halves[2];
  std::memcpy(halves, last, sizeof halves);
  const uint64_t hash = mix64(halves[0] ^ mix64(halves[1]));
  return district << 40 | low_bits(hash, 40);
}

void create_tables(Database& database, const Scale& scale) {
  for (TableSchema& schema : schemas(scale)) database.create_table(std::move(schema));
}

uint64_t loaded_bytes(const Scale& scale) {
  uint64_t bytes = 0;
  for (const TableSchema& schema : schemas(scale)) {
    bytes += table_bytes(schema.expected_rows, schema.row_bytes, schema.secondaries.size());
  }
  return bytes;
}

}  // namespace logjam::tpcc
