#include "tests/workloads/harness.h"

#include <xxhash.h>

namespace logjam {

uint64_t fingerprint(Database& database) {
  uint64_t sum = 0;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      sum += XXH3_64bits_withSeed(row, table->row_bytes(), key + table->id());
    });
  }
  return sum;
}

}  // namespace logjam
