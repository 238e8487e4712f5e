#include "engine/recovery/reset_versions.h"

#include <vector>

#include "platform/parallel.h"

namespace logjam {
namespace {

// The keys of one part of a table that leave the index, and their memory.
struct Leaving {
  std::vector<Key> keys;
  std::vector<Retired> retired;
};

}  // namespace

void reset_versions(Database& database, uint32_t threads) {
  constexpr uint32_t kPartsPerThread = 4;
  const uint32_t parts = threads * kPartsPerThread;
  for (const auto& table : database.tables()) {
    std::vector<Leaving> leaving(parts);
    platform::parallel_for_parts(parts, threads, [&](uint32_t part) {
      table->primary().for_each(part, parts, [&](Keyed* entry) {
        Tuple& tuple = *Table::tuple_of(entry);
        const bool absent = tuple.load_version().absent();
        tuple.version.store(Version(0, absent).word(), platform::memory_order_relaxed);
        if (absent && table->reclaims()) leaving[part].keys.push_back(tuple.key);
      });
    });
    // Each part removes its own keys, and no thread inserts: each removal succeeds in the end.
    platform::parallel_for_parts(parts, threads, [&](uint32_t part) {
      for (const Key key : leaving[part].keys) {
        while (!table->remove_absent(key, 0, &leaving[part].retired)) {
        }
      }
    });
    // Now no other part can be in a removed node.
    const Arena arena;
    for (const Leaving& part : leaving) {
      for (const Retired& retired : part.retired) table->recycle(retired, arena);
    }
    table->forget_removals();
  }
}

}  // namespace logjam
