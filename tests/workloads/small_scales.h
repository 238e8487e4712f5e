// Configurations of each workload that load in milliseconds, for tests that run them all.
#pragma once

#include <string_view>
#include <vector>

#include "tests/workloads/harness.h"

namespace logjam {

inline std::vector<Flags> small_scales(std::string_view workload) {
  if (workload == "ledger") return {{{"ledger_keys", "200"}}};
  if (workload == "micro-update") {
    const Flags small = {{"micro_update_rows", "60"}, {"micro_update_row_bytes", "100"}};
    std::vector<Flags> all(3, small);
    all[1].push_back({"micro_update_kind", "update-5-read-5"});
    all[2].push_back({"micro_update_kind", "update-10"});
    return all;
  }
  if (workload == "oltp") {
    const Flags small = {{"oltp_rows", "200"}, {"oltp_tables", "2"}, {"oltp_range_size", "10"}};
    std::vector<Flags> all(2, small);
    all[1].push_back({"oltp_distribution", "uniform"});
    return all;
  }
  if (workload == "tatp") return {{{"tatp_subscribers", "100"}}};
  if (workload == "tpcb") return {{{"tpcb_branches", "3"}, {"tpcb_accounts", "50"}}};
  if (workload == "tpcc") {
    return {{{"tpcc_warehouses", "2"}, {"tpcc_items", "200"}, {"tpcc_customers", "20"}}};
  }
  if (workload == "ycsb") {
    const Flags small = {{"ycsb_records", "500"}, {"ycsb_value_bytes", "100"}};
    std::vector<Flags> all(7, small);
    all[1].push_back({"ycsb_preset", "hybrid"});
    for (size_t i = 0; i < 5; ++i) {
      all[2 + i].push_back({"ycsb_workload", std::string(1, "ABDEF"[i])});
    }
    // All kinds of operations in one transaction.
    all.push_back(small);
    all.back().insert(all.back().end(), {{"ycsb_index", "ordered"},
                                         {"ycsb_scan_length", "9"},
                                         {"ycsb_scan_ratio", "0.2"},
                                         {"ycsb_insert_ratio", "0.2"},
                                         {"ycsb_distribution", "latest"}});
    return all;
  }
  return {};
}

}  // namespace logjam
