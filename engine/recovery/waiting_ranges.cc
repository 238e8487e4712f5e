#include "engine/recovery/waiting_ranges.h"

#include <algorithm>
#include <utility>

namespace logjam {

void WaitingRanges::add(Tuple& tuple, uint64_t version, uint64_t sequence,
                        std::span<const std::byte> image) {
  Map* map = map_of(tuple);
  if (map == nullptr) {
    map = new Map;
    tuple.lock.store(reinterpret_cast<uint64_t>(map), platform::memory_order_relaxed);
  }
  LogMemory copy = allocate_log_memory(meter_, image.size());
  std::ranges::copy(image, copy->begin());
  map->emplace(version, Range{sequence, std::move(copy)});
  bytes_.fetch_add(image.size(), platform::memory_order_relaxed);
  count_.fetch_add(1, platform::memory_order_relaxed);
}

WaitingRanges::Range WaitingRanges::take(Tuple& tuple, Version now) {
  Map* map = map_of(tuple);
  if (map == nullptr) return {};
  for (auto each = map->begin(); each != map->end() && each->first < now.sequence();) {
    if (each->second.sequence > now.sequence()) {
      ++each;  // no log has this: drop_all() will tell
      continue;
    }
    forget(each->second);
    each = map->erase(each);
  }
  Range next;
  if (const auto found = map->find(now.sequence()); found != map->end() && !now.absent()) {
    next = std::move(found->second);
    forget(next);
    map->erase(found);
  }
  if (map->empty()) {
    tuple.lock.store(0, platform::memory_order_relaxed);
    delete map;
  }
  return next;
}

std::string WaitingRanges::drop_all(Database& database) {
  const uint64_t count = count_.load(platform::memory_order_relaxed);
  if (count == 0) return "";
  std::string first;
  for (const auto& table : database.tables()) {
    table->primary().for_each(0, 1, [&](Keyed* entry) {
      Tuple& tuple = *Table::tuple_of(entry);
      Map* map = map_of(tuple);
      if (map == nullptr) return;
      if (first.empty()) {
        first = "version " + std::to_string(map->begin()->first) + " of row " +
                std::to_string(tuple.key) + " of table " + table->schema().name;
      }
      tuple.lock.store(0, platform::memory_order_relaxed);
      delete map;
    });
  }
  bytes_.store(0, platform::memory_order_relaxed);
  count_.store(0, platform::memory_order_relaxed);
  return std::to_string(count) + " logged change(s) of rows are of versions that the log lacks, " +
         "such as " + first;
}

}  // namespace logjam
