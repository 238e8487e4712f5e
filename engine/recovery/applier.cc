#include "engine/recovery/applier.h"

#include <algorithm>
#include <utility>

#include "logging/format/range_image.h"
#include "logging/format/record.h"
#include "platform/assert.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"

namespace logjam {
namespace {

constexpr const char* kContradiction = "a record with a valid checksum contradicts itself";

Version lock(Tuple& tuple) {
  platform::SpinWait wait;
  while (true) {
    uint64_t word = Version(tuple.version.load(platform::memory_order_relaxed)).unlocked().word();
    if (tuple.version.compare_exchange_weak(word, word | Version::kLocked,
                                            platform::memory_order_acquire,
                                            platform::memory_order_relaxed)) {
      return Version(word);
    }
    wait.once();
  }
}

}  // namespace

void Applier::apply(const BodiesToApply& ready, Arena& arena) {
  for (size_t i = 0; i < ready.bodies.size(); ++i) {
    // Appliers wait mostly for memory, so load the rows of the next body ahead.
    if (i + 1 < ready.bodies.size()) prefetch(*ready.bodies[i + 1].record);
    apply(ready.bodies[i], arena);
  }
}

void Applier::apply(const BodiesToApply::Body& body, Arena& arena) {
  // A number above the largest sequence number would set the lock bit of the rows' version words.
  // Then the next thread that locks such a row would wait for ever.
  if (!Version::is_sequence(body.sequence)) {
    fail(kContradiction);
    return;
  }
  RecordBody writes(*body.record);
  LoggedWrite write;
  while (writes.next(&write)) apply(write, body.sequence, arena);
  if (!writes.well_formed()) fail(kContradiction);
}

std::string Applier::finish() {
  const std::string lacking = waiting_.drop_all(database_);
  if (!lacking.empty()) fail(lacking);
  platform::lock_guard<platform::mutex> hold(mutex_);
  return error_;
}

void Applier::prefetch(const RecordHeader& record) const {
  RecordBody body(record);
  LoggedWrite write;
  while (body.next(&write)) {
    if (Table* table = database_.table(write.header.table)) {
      table->primary().prefetch(write.header.key);
    }
  }
}

void Applier::apply(const LoggedWrite& write, uint64_t sequence, Arena& arena) {
  Table* table = database_.table(write.header.table);
  const bool ranges = write.has_ranges();
  if (table == nullptr || (!ranges && table->row_bytes() != write.header.image_bytes)) {
    fail("a record writes table " + std::to_string(write.header.table) + " with rows of " +
         std::to_string(write.header.image_bytes) + " bytes, which this workload does not have");
    return;
  }
  Tuple* tuple = table->find_or_create(write.header.key, arena);
  Version now = lock(*tuple);
  if (sequence > now.sequence()) {
    const uint64_t changes = ranges ? RangeImage(write.image()).version() : 0;
    if (ranges && (changes != now.sequence() || now.absent())) {
      waiting_.add(*tuple, changes, sequence, write.image());
    } else {
      now = store(*table, *tuple, write, sequence, arena);
    }
  }
  tuple->version.store(now.word(), platform::memory_order_release);
}

// Writes the row, and then the ranges that wait for its new version. Returns the last version.
Version Applier::store(Table& table, Tuple& tuple, const LoggedWrite& write, uint64_t sequence,
                       Arena& arena) {
  LJ_ASSERT_IN_TESTS(tuple.load_version().locked());
  if (write.has_ranges()) {
    change(table, tuple, write.image(), arena);
  } else if (write.header.op != WriteOp::kErase) {
    platform::order_racy_stores();
    platform::racy_store(tuple.row(), write.after, write.header.image_bytes);
    if (table.secondary_count() > 0) table.index_row(&tuple, write.after, arena);
  }
  Version now(sequence, write.header.op == WriteOp::kErase);
  for (auto next = waiting_.take(tuple, now); next.image; next = waiting_.take(tuple, now)) {
    change(table, tuple, *next.image, arena);
    now = Version(next.sequence, false);
  }
  return now;
}

void Applier::change(Table& table, Tuple& tuple, std::span<const std::byte> ranges, Arena& arena) {
  if (!apply_ranges(RangeImage(ranges), tuple.row(), table.row_bytes())) fail(kContradiction);
  if (table.secondary_count() > 0) table.index_row(&tuple, tuple.row(), arena);
}

void Applier::fail(std::string why) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (error_.empty()) error_ = std::move(why);
}

void WaitingRanges::add(Tuple& tuple, uint64_t version, uint64_t sequence,
                        std::span<const std::byte> image) {
  LJ_ASSERT_IN_TESTS(tuple.load_version().locked());
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
  LJ_ASSERT_IN_TESTS(tuple.load_version().locked() && !now.locked());
  Map* map = map_of(tuple);
  if (map == nullptr) return {};
  for (auto each = map->begin(); each != map->end() && each->first < now.sequence();) {
    if (each->second.sequence > now.sequence()) {
      ++each;  // only in a damaged log; drop_all() reports the range
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
