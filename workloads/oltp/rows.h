// The rows of sysbench's tables: sbtestN(id primary key, k indexed, c char(120), pad char(60)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/storage/database.h"

namespace logjam::oltp {

struct Row {
  uint32_t k;
  std::array<char, 120> c;   // ten groups of eleven digits, separated by dashes
  std::array<char, 60> pad;  // five such groups
};

// For exports.
Columns columns();

inline constexpr size_t kByK = 0;  // the secondary index on k: ordered, not unique

// Fills `text` with digits: first `seed`, then digits that follow from `seed` and `owner`. So
// is_text_of() recognizes a torn or misplaced text. `bytes` is 120 or 60.
void fill_text(char* text, size_t bytes, uint64_t owner, uint64_t seed);
// Whether fill_text() made `text` for this owner, with any seed.
bool is_text_of(const char* text, size_t bytes, uint64_t owner);

// Fills the row `id` with a given k, and texts made from `seed`.
void fill(Row* row, uint64_t id, uint32_t k, uint64_t seed);
// Whether both texts of the row belong to the row `id`.
bool is_whole(const Row& row, uint64_t id);

struct Scale {
  uint32_t tables = 1;
  uint64_t rows = 10'000;  // of a table; ids are 1 to `rows`
};

// The name of the table with this number; numbers begin at 1.
std::string table_name(uint32_t number);

}  // namespace logjam::oltp
