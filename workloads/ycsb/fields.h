// How a YCSB row is divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/storage/tuple.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"

namespace logjam::ycsb {

// Where in a row an operation works: the row itself, or one column of it.
struct Fields {
  explicit Fields(const Options& options)
      : count(options.by_column ? kColumns : 1), bytes(options.value_bytes / count) {}
  uint64_t owner(Key key, uint32_t field) const { return key * count + field; }
  void fill(std::byte* row, Key key, uint64_t stamp) const {
    for (uint32_t field = 0; field < count; ++field) {
      fill_field(row + field * bytes, bytes, owner(key, field), stamp);
    }
  }

  uint32_t count;
  uint32_t bytes;
};

}  // namespace logjam::ycsb
