// Configurations of each workload that load in milliseconds. A test sets flags of its own where its
// expectations are about them.
#pragma once

#include <string_view>
#include <vector>

#include "tests/workloads/harness.h"

namespace logjam {

// The workload's default transactions on few rows.
inline Flags small_scale(std::string_view workload) {
  if (workload == "ledger") return {{"ledger", "keys:200"}};
  if (workload == "micro-update") {
    return {{"micro_update_rows", "60"}, {"micro_update_row_bytes", "100"}};
  }
  if (workload == "oltp") {
    return {{"oltp_rows", "200"}, {"oltp_tables", "2"}, {"oltp_range_size", "10"}};
  }
  if (workload == "tatp") return {{"tatp_subscribers", "100"}};
  if (workload == "tpcb") return {{"tpcb_branches", "3"}, {"tpcb_accounts", "50"}};
  if (workload == "tpcc") {
    return {{"tpcc_warehouses", "2"}, {"tpcc_items", "200"}, {"tpcc_customers", "20"}};
  }
  if (workload == "ycsb") return {{"ycsb_records", "500"}, {"ycsb_value_bytes", "100"}};
  return {};
}

// The small scale first, then each kind of transactions that is not the default. Empty for a
// workload without a line in small_scale().
inline std::vector<Flags> small_scales(std::string_view workload) {
  const Flags small = small_scale(workload);
  if (small.empty()) return {};
  std::vector<Flags> all = {small};
  const auto also = [&](const Flags& kind) {
    all.push_back(small);
    all.back().insert(all.back().end(), kind.begin(), kind.end());
  };
  if (workload == "micro-update") {
    also({{"micro_update_kind", "update-5-read-5"}});
    also({{"micro_update_kind", "update-10"}});
  } else if (workload == "oltp") {
    also({{"oltp_distribution", "uniform"}});
  } else if (workload == "ycsb") {
    for (const char* name : {"B", "D", "E", "F", "poplar-hybrid", "rows-16"}) {
      also({{"ycsb_workload", name}});
    }
    // All kinds of operations in one transaction.
    also({{"ycsb_ops", "16"},
          {"ycsb_index", "ordered"},
          {"ycsb_scan_length", "9"},
          {"ycsb_ratios", "scan:0.2,insert:0.2"},
          {"ycsb_distribution", "latest"}});
  }
  return all;
}

}  // namespace logjam
