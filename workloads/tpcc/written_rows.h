// The checks of rows that transactions inserted: their columns follow from each other, and from the
// rows that they name.
#pragma once

#include <vector>

#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// The lines of one order, as a scan has found them.
struct LinesFound {
  uint32_t count = 0;
  uint32_t last = 0;       // the largest line number
  uint32_t delivered = 0;  // lines with OL_DELIVERY_D
  bool remote = false;     // one is supplied by another warehouse
  bool one_date = true;    // all have the same OL_DELIVERY_D
  Date date = kNoDate;     // of the first line
  Cents amount = 0;        // of the delivered lines
};

// Each function returns a row's error, or null. Any thread may call them while no transaction runs.
class WrittenRows {
 public:
  // Reads the names of warehouses and districts.
  WrittenRows(Database& database, const Scale& scale);

  // Checks a row of HISTORY. `before` is the row of the same worker's previous payment, or null.
  const char* wrong(const History& row, const History* before) const;
  const char* wrong(Key key, const NewOrder& row) const;
  const char* wrong(const Order& row, const LinesFound& lines) const;
  const char* wrong(Key key, const OrderLine& row) const;

 private:
  Tables tables_;
  const Scale& scale_;
  std::vector<History> names_;  // by district; H_DATA alone is filled
};

}  // namespace logjam::tpcc
