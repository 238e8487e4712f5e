// Tables for the targets that fill some: four with rows as long as the ledger's, so that its logs
// and checkpoints are seeds, and one whose rows end within a word.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "engine/storage/database.h"

namespace logjam::fuzz {

inline Key first_word(Key, const std::byte* row) {
  Key key;
  std::memcpy(&key, row, sizeof key);
  return key;
}

inline void create_tables(Database& database) {
  const auto add = [&](const char* name, uint32_t row_bytes,
                       std::vector<SecondarySchema> secondaries = {}) {
    TableSchema schema;
    schema.name = name;
    schema.row_bytes = row_bytes;
    schema.kind = IndexKind::kOrdered;  // a hash index takes 2 MiB
    schema.secondaries = std::move(secondaries);
    database.create_table(std::move(schema));
  };
  add("ledger", 96);
  add("entries", 24, {{"by_word", IndexKind::kOrdered, false, first_word, true}});
  add("cells", 48);
  add("slots", 24);
  add("odd", 21);
}

}  // namespace logjam::fuzz
