// The rows of sysbench's tables: sbtestN(id primary key, k indexed, c char(120), pad char(60)).
//
// The texts that sysbench fills with random digits have room for counters. The text c begins with a
// number to which updates of c and deletes with inserts add; a transaction adds 1 in all. The text
// pad begins with a number that, added to k, counts the updates of k under this id. A delete with
// an insert copies both counts to the new row. So the sums over all rows show updates and
// transactions that were lost or recovered in part.
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

// Returns the columns, for exports.
Columns columns();

inline constexpr size_t kByK = 0;  // the secondary index on k: ordered, not unique

// Fills `text` with digits: first `seed`, then digits that follow from `seed` and `owner`. So
// is_text_of() recognizes a torn or misplaced text. `bytes` is 120 or 60.
void fill_text(char* text, size_t bytes, uint64_t owner, uint64_t seed);
// Returns the seed with which fill_text() made `text`.
uint64_t seed_of(const char* text);
// Returns whether fill_text() made `text` for this owner, with any seed.
bool is_text_of(const char* text, size_t bytes, uint64_t owner);

// Fills the row `id` as the load does: no update has changed it.
void load_row(Row* row, uint64_t id, uint32_t k);
// Adds `delta` to the number in c, and rewrites the text accordingly.
void add_to_c(Row* row, uint64_t id, uint64_t delta);
// Fills the row that replaces `old` under the same id. It has a new k, and c's number grows by
// `delta`.
void replace(Row* row, uint64_t id, const Row& old, uint32_t k, uint64_t delta);

// Returns the sum of the changes of c in this row; and how often its k was updated.
uint64_t added_to_c(const Row& row, uint64_t id);
int32_t updates_of_k(const Row& row);

// Returns whether both texts of the row belong to the row `id`.
bool is_whole(const Row& row, uint64_t id);

struct Scale {
  uint32_t tables = 1;
  uint64_t rows = 10'000;  // of a table; ids are 1 to `rows`
};

// Returns the name of the table with this number, counted from 1.
std::string table_name(uint32_t number);

}  // namespace logjam::oltp
