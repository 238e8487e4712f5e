// The checks of TPC-C's tables. They use the results of one scan of each table: sums by warehouse,
// district, customer and stock, and the errors in inserted rows.
#pragma once

#include <array>
#include <limits>

#include "engine/workload.h"
#include "workloads/parallel_check.h"
#include "workloads/tpcc/payment_text.h"

namespace logjam::tpcc {

struct WarehouseSums {
  Cents ytd = 0;
  Cents district_ytd = 0;
  Cents paid = 0;  // sum of H_AMOUNT by H_W_ID
};

struct DistrictSums {
  Cents ytd = 0;
  Cents paid = 0;  // sum of H_AMOUNT by H_W_ID and H_D_ID
  int64_t next_order = 0;
  int64_t last_order = 0;
  int64_t orders = 0;
  int64_t lines_promised = 0;  // sum of O_OL_CNT
  int64_t lines = 0;
  int64_t first_new = std::numeric_limits<int64_t>::max();
  int64_t last_new = 0;
  int64_t new_orders = 0;
  int64_t deliveries = 0;  // sum of C_DELIVERY_CNT
  // Numbers of orders and order lines for which conditions 5, 6 and 7 hold.
  int64_t orders_in_one_state = 0;
  int64_t orders_of_right_length = 0;
  int64_t lines_in_their_orders_state = 0;
};

struct CustomerSums {
  Cents balance = 0;
  Cents ytd_payment = 0;
  Cents paid = 0;         // sum of H_AMOUNT by H_C_W_ID, H_C_D_ID and H_C_ID
  uint32_t payments = 0;  // the number of the customer's rows of HISTORY
  // The number of the customer's orders with O_CARRIER_ID, without orders that the load delivered.
  uint32_t deliveries = 0;
  Cents delivered = 0;  // the sum of OL_AMOUNT of the delivered lines of the customer's orders
  bool bad_credit = false;
};

// Sums of ORDER-LINE by OL_SUPPLY_W_ID and OL_I_ID, for orders entered after the load.
struct StockSums {
  int64_t quantity = 0;
  uint32_t lines = 0;
  uint32_t remote_lines = 0;  // lines of other warehouses' orders
};

// The number of rows of a table, and the broken rows: rows that no transaction can have written.
struct RowsFound {
  uint64_t rows = 0;
  BrokenRows broken;
  auto members() { return std::tie(rows, broken); }
};

struct Totals {
  std::vector<WarehouseSums> warehouses;     // [w - 1]
  std::vector<DistrictSums> districts;       // [Scale::place_of_district()]
  std::vector<CustomerSums> customers;       // [Scale::place_of_customer()]
  std::vector<StockSums> stocks;             // [Scale::place_of_stock()]
  std::vector<NotedPayment> noted_payments;  // sorted
  std::array<RowsFound, kTables> found;      // by table
  uint64_t strays = 0;  // rows that name a warehouse, district or customer that does not exist
};
// Reads all tables. Call it when no transaction runs.
Totals add_up(Database& database, const Scale& scale);

// Compares the tables with the initial population. Checks that loaded rows are unchanged except in
// the columns that transactions change, and that these columns agree with the inserted rows.
// Returns one result for each table, which includes the broken inserted rows in `totals`. Call it
// when no transaction runs.
std::vector<Check> check_rows(Database& database, const Scale& scale, const Totals& totals);

// Checks the twelve consistency conditions of clause 3.3.2, and the secondary indexes. Compares
// every column of every row with the initial population and the rows that transactions inserted.
//
// Some columns do not follow from other rows, so only their range is checked: O_ENTRY_D, O_C_ID,
// H_DATE, and O_CARRIER_ID and OL_DELIVERY_D of orders that the run delivered. Call it when no
// transaction runs.
std::vector<Check> verify(Database& database, const Scale& scale);

}  // namespace logjam::tpcc
