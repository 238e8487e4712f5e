// The fields of a YCSB row, and their stamps.
//
// A field is loaded with the stamp 0; the stamps of an inserted row add up to 0. An update adds a
// number to a stamp: 1 if its transaction has only one update, otherwise a number that looks
// random, and the transaction's numbers add up to 1. So the stamps of all fields add up to the
// number of transactions that updated something, and the sum shows a lost update, a lost
// transaction, and a transaction that was recovered in part. Only blind updates (--ycsb_update=row)
// cannot add: they write a stamp of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/storage/tuple.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"

namespace logjam::ycsb {

// The places that updates change: the row as a whole, or one of its fields.
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
  // Writes the row as the load does.
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
