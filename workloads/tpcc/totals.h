// What the tables add up to, by warehouse and district: one pass over each table.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

struct DistrictSums {
  Cents ytd = 0;
  Cents paid = 0;  // HISTORY
  uint64_t next_order = 0;
  uint64_t last_order = 0;
  uint64_t orders = 0;
  uint64_t lines_promised = 0;  // sum of O_OL_CNT
  uint64_t lines = 0;
  // Equal sums of a hash of the order's number, once a line: every order has its own lines.
  uint64_t orders_mark = 0;
  uint64_t lines_mark = 0;
  uint64_t first_new = ~uint64_t{0};
  uint64_t last_new = 0;
  uint64_t new_orders = 0;
};

struct WarehouseSums {
  Cents ytd = 0;
  Cents district_ytd = 0;
  Cents paid = 0;               // HISTORY by H_W_ID
  Cents customers_paid = 0;     // CUSTOMER
  Cents paid_by_customers = 0;  // HISTORY by H_C_W_ID
  int64_t stock_ytd = 0;
  int64_t supplied = 0;  // ORDER-LINE by supply warehouse, of orders after the load
  uint64_t stock_orders = 0;
  uint64_t supplies = 0;
};

struct Totals {
  std::vector<WarehouseSums> warehouses;  // [w - 1]
  std::vector<DistrictSums> districts;    // [(w - 1) * kDistricts + d - 1]
  uint64_t warehouse_rows = 0;
  uint64_t district_rows = 0;
  uint64_t customer_rows = 0;
  uint64_t item_rows = 0;
  uint64_t stock_rows = 0;
  uint64_t strays = 0;  // rows of warehouses or districts that do not exist
};
Totals add_up(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
