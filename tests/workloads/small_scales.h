// Configurations of each workload that load in milliseconds, for tests that run them all.
#pragma once

#include <string_view>
#include <vector>

#include "tests/workloads/harness.h"

namespace logjam {

inline std::vector<Flags> small_scales(std::string_view workload) {
  if (workload == "ledger") return {{{"ledger_keys", "200"}}};
  if (workload == "tatp") return {{{"tatp_subscribers", "100"}}};
  if (workload == "tpcb") return {{{"tpcb_branches", "3"}, {"tpcb_accounts", "50"}}};
  if (workload == "tpcc") {
    return {{{"tpcc_warehouses", "2"}, {"tpcc_items", "200"}, {"tpcc_customers", "20"}}};
  }
  if (workload == "ycsb") {
    return {{{"ycsb_records", "500"}, {"ycsb_value_bytes", "100"}}};
  }
  return {};
}

}  // namespace logjam
