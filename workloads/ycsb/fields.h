// How a YCSB row is divided, and what its stamps mean.
//
// A field is loaded with the stamp 0; the stamps of a row that is inserted add up to 0. An update
// adds a number to a stamp: 1 where a transaction has one update, and else numbers that look random
// and add up to 1. So the stamps of all fields add up to the number of transactions that have
// updated something, and the sum shows a lost update, a lost transaction, and a transaction of
// which only a part was recovered. Only blind updates (--ycsb_update=row) cannot add: they write a
// stamp of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/storage/tuple.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"

namespace logjam::ycsb {

// Where in a row an update works: the row itself, or one field of it.
struct Fields {
  explicit Fields(const Options& options)
      : count(options.by_field() ? kFields : 1), bytes(options.value_bytes / count) {}
  uint64_t owner(Key key, uint32_t field) const { return key * count + field; }
  void write(std::byte* row, Key key, uint32_t field, uint64_t stamp) const {
    fill_field(row + size_t{field} * bytes, bytes, owner(key, field), stamp);
  }
  void add(std::byte* row, Key key, uint32_t field, uint64_t delta) const {
    write(row, key, field, stamp_of(row + size_t{field} * bytes, bytes) + delta);
  }
  // Writes the row as it is loaded.
  void load(std::byte* row, Key key) const {
    for (uint32_t field = 0; field < count; ++field) write(row, key, field, 0);
  }
  // Writes a row to insert. Its stamps follow from `seed`.
  void insert(std::byte* row, Key key, uint64_t seed) const {
    uint64_t sum = 0;
    for (uint32_t field = 0; field < count; ++field) {
      const uint64_t stamp = field + 1 < count ? mix64(seed + field) : -sum;
      write(row, key, field, stamp);
      sum += stamp;
    }
  }

  uint32_t count;
  uint32_t bytes;
};

}  // namespace logjam::ycsb
