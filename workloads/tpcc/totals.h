// Sums over the tables by warehouse, district and customer, for the consistency conditions of
// clause 3.3.2.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

struct WarehouseSums {
  Cents ytd = 0;
  Cents district_ytd = 0;
  Cents paid = 0;  // HISTORY by H_W_ID
  int64_t stock_ytd = 0;
  int64_t stock_orders = 0;
  // ORDER-LINE by supply warehouse, for orders entered after the load: quantities, and rows.
  int64_t supplied = 0;
  int64_t supplies = 0;
};

struct DistrictSums {
  Cents ytd = 0;
  Cents paid = 0;  // HISTORY by H_W_ID and H_D_ID
  int64_t next_order = 0;
  int64_t last_order = 0;
  int64_t orders = 0;
  int64_t lines_promised = 0;  // sum of O_OL_CNT
  int64_t lines = 0;
  int64_t first_new = std::numeric_limits<int64_t>::max();
  int64_t last_new = 0;
  int64_t new_orders = 0;
  int64_t deliveries = 0;  // sum of C_DELIVERY_CNT
  // Orders and order lines for which conditions 5, 6 and 7 hold.
  int64_t orders_in_one_state = 0;
  int64_t orders_of_right_length = 0;
  int64_t lines_in_their_orders_state = 0;
};

struct CustomerSums {
  Cents balance = 0;
  Cents ytd_payment = 0;
  Cents paid = 0;       // HISTORY by H_C_W_ID, H_C_D_ID and H_C_ID
  Cents delivered = 0;  // OL_AMOUNT of delivered lines of the customer's orders
};

struct Totals {
  std::vector<WarehouseSums> warehouses;  // [w - 1]
  std::vector<DistrictSums> districts;    // [(w - 1) * kDistricts + d - 1]
  std::vector<CustomerSums> customers;    // [district * customers of one + c - 1]
  uint64_t warehouse_rows = 0;
  uint64_t district_rows = 0;
  uint64_t customer_rows = 0;
  uint64_t item_rows = 0;
  uint64_t stock_rows = 0;
  uint64_t strays = 0;  // rows of warehouses, districts or customers that do not exist
};
// Reads all tables. No transaction may run meanwhile.
Totals add_up(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
