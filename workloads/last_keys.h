// Rows that workers number themselves: a row's key is its worker's number, shifted, plus the
// worker's count. A process that continues with recovered rows must know where the counts ended.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "engine/storage/database.h"

namespace logjam {

// Returns the largest key of each worker that has rows under keys below `end` in `table`, whose
// index is ordered. A key is worker << count_bits | count. Takes one descent of the index for each
// worker.
inline std::map<uint64_t, Key> last_keys_of_workers(Table& table, unsigned count_bits, Key end) {
  std::map<uint64_t, Key> last;
  while (end > 0) {
    bool any = false;
    table.primary().scan(0, end - 1, true, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (const Keyed* entry : entries) {
        if (static_cast<const Tuple*>(entry)->load_version().absent()) continue;
        end = entry->key;
        any = true;
        return false;
      }
      return true;
    });
    if (!any) break;
    const uint64_t worker = end >> count_bits;
    last[worker] = end;
    end = worker << count_bits;
  }
  return last;
}

}  // namespace logjam
