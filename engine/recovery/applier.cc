#include "engine/recovery/applier.h"

#include <utility>

#include "logging/format/range_image.h"
#include "logging/format/record.h"
#include "platform/atomic.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"

namespace logjam {
namespace {

constexpr const char* kContradiction = "a record with a valid checksum contradicts itself";

// Sets the lock bit. Returns the version from before.
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
    // Applying waits for memory, not for the processor: it can load the next body's rows meanwhile.
    if (i + 1 < ready.bodies.size()) prefetch(*ready.bodies[i + 1].record);
    apply(ready.bodies[i], arena);
  }
}

void Applier::apply(const BodiesToApply::Body& body, Arena& arena) {
  // A larger number would set bits of the rows' version words, and the next thread that locks one
  // would wait for ever.
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

// Writes the row, and then changes it by the ranges that have waited for that. Returns the row's
// version. The caller holds the tuple's lock bit.
Version Applier::store(Table& table, Tuple& tuple, const LoggedWrite& write, uint64_t sequence,
                       Arena& arena) {
  if (write.has_ranges()) {
    change(table, tuple, write.image(), arena);
  } else if (write.header.op != WriteOp::kErase) {
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

}  // namespace logjam
