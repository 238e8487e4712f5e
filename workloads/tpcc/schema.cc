#include "workloads/tpcc/schema.h"

#include <cstring>
#include <vector>

#include "workloads/random.h"

namespace logjam::tpcc {
namespace {

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

// Returns all tables. Tables that grow during a run have ordered indexes, because a hash index
// never grows. Tables of a fixed size have hash indexes.
std::vector<TableSchema> schemas(const Scale& scale) {
  const uint64_t warehouses = scale.warehouses, districts = warehouses * kDistricts,
                 customers = districts * scale.customers;
  return {
      {"warehouse", sizeof(Warehouse), IndexKind::kHash, warehouses, {}, warehouse_columns()},
      {"district", sizeof(District), IndexKind::kHash, districts, {}, district_columns()},
      {"customer",
       sizeof(Customer),
       IndexKind::kHash,
       customers,
       {{"last_name", IndexKind::kHash, false, last_name_key_of}},
       customer_columns()},
      {"history", sizeof(History), IndexKind::kOrdered, customers, {}, history_columns()},
      {"new_order",
       sizeof(NewOrder),
       IndexKind::kOrdered,
       districts * scale.undelivered(),
       {},
       new_order_columns()},
      {"order",
       sizeof(Order),
       IndexKind::kOrdered,
       customers,
       {{"customer", IndexKind::kOrdered, true, customer_order_key_of}},
       order_columns()},
      {"order_line",
       sizeof(OrderLine),
       IndexKind::kOrdered,
       customers * (kMinLines + kMaxLines) / 2,
       {},
       order_line_columns()},
      {"item", sizeof(Item), IndexKind::kHash, scale.items, {}, item_columns()},
      {"stock", sizeof(Stock), IndexKind::kHash, warehouses * scale.items, {}, stock_columns()},
  };
}

}  // namespace

Key last_name_key(Key district, const char (&last)[16]) {
  uint64_t halves[2];
  std::memcpy(halves, last, sizeof halves);
  const uint64_t hash = mix64(halves[0] ^ mix64(halves[1]));
  return district << 40 | low_bits(hash, 40);
}

Tables::Tables(Database& database)
    : warehouse(database.table("warehouse")),
      district(database.table("district")),
      customer(database.table("customer")),
      history(database.table("history")),
      new_order(database.table("new_order")),
      order(database.table("order")),
      order_line(database.table("order_line")),
      item(database.table("item")),
      stock(database.table("stock")) {}

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
