// sysbench's table: sbtest(id primary key, k indexed, c char(120), pad char(60)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/storage/database.h"

namespace logjam::oltp {

struct Row {
  uint32_t k;
  std::array<char, 120> c;   // ten groups of eleven digits, with dashes in between
  std::array<char, 60> pad;  // five
};

inline constexpr size_t kByK = 0;

// Digits that begin with `seed` and go on with what follows from it and `owner`, so that a torn or
// misplaced text can be told. `bytes` is 120 or 60.
void fill_text(char* text, size_t bytes, uint64_t owner, uint64_t seed);
bool is_text_of(const char* text, size_t bytes, uint64_t owner);

void fill(Row* row, uint64_t id, uint32_t k, uint64_t seed);
bool is_whole(const Row& row, uint64_t id);

struct Scale {
  uint32_t tables = 1;
  uint64_t rows = 10'000;  // of a table; their ids are 1 to this
};

std::string table_name(uint32_t number);  // from 1

}  // namespace logjam::oltp
