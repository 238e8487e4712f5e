// The columns of TPC-C's tables, by the names of clause 1.3, for exports.
#pragma once

#include "engine/storage/columns.h"

namespace logjam::tpcc {

Columns warehouse_columns();
Columns district_columns();
Columns customer_columns();
Columns history_columns();
Columns new_order_columns();
Columns order_columns();
Columns order_line_columns();
Columns item_columns();
Columns stock_columns();

}  // namespace logjam::tpcc
