// The warehouses that a worker works for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

enum class HomePolicy : uint8_t {
  kSplit,  // as Silo's TPC-C: all warehouses are split among the workers
  kFixed,  // one warehouse each, and one district for Stock-Level (clause 2.8.1's terminal)
  kAny,    // all
};

// The warehouses [first, first + count), of which one is drawn for every transaction.
struct Home {
  uint32_t first = 1;
  uint32_t count = 1;
  uint32_t district = 0;  // of Stock-Level; 0: drawn, as if the worker were all terminals

  static Home of(HomePolicy policy, uint32_t worker, uint32_t workers, uint32_t warehouses) {
    switch (policy) {
      case HomePolicy::kSplit:
        if (warehouses > workers) {
          // The last worker also takes the remainder of the division.
          const uint32_t each = warehouses / workers, first = worker * each + 1;
          return {first, worker + 1 == workers ? warehouses - first + 1 : each, 0};
        }
        return {worker % warehouses + 1, 1, 0};
      case HomePolicy::kFixed:
        return {worker % warehouses + 1, 1, worker / warehouses % kDistricts + 1};
      case HomePolicy::kAny:
        return {1, warehouses, 0};
    }
    return {};
  }

  // Returns a worker that works for that warehouse under kSplit; `turn` chooses among several.
  static uint32_t worker_of(uint32_t warehouse, uint32_t turn, uint32_t workers,
                            uint32_t warehouses) {
    if (warehouses > workers) {
      return std::min((warehouse - 1) / (warehouses / workers), workers - 1);
    }
    const uint32_t sharing = (workers - warehouse) / warehouses + 1;
    return warehouse - 1 + turn % sharing * warehouses;
  }
};

}  // namespace logjam::tpcc
