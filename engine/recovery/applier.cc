#include "engine/recovery/applier.h"

#include <utility>

#include "logging/format/record.h"
#include "platform/atomic.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"

namespace logjam {
namespace {

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
  RecordBody writes(*body.record);
  LoggedWrite write;
  while (writes.next(&write)) apply(write, body.sequence, arena);
  if (!writes.well_formed()) fail("a record with a valid checksum contradicts itself");
}

std::string Applier::error() const {
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
  if (table == nullptr || table->row_bytes() != write.header.row_bytes) {
    fail("a record writes table " + std::to_string(write.header.table) + " with rows of " +
         std::to_string(write.header.row_bytes) + " bytes, which this workload does not have");
    return;
  }
  const bool erase = write.header.op == WriteOp::kErase;
  Tuple* tuple = table->find_or_create(write.header.key, arena);
  const Version before = lock(*tuple);
  if (sequence <= before.sequence()) {
    tuple->version.store(before.word(), platform::memory_order_release);
    return;
  }
  if (!erase) {
    platform::racy_store(tuple->row(), write.after, write.header.row_bytes);
    if (table->secondary_count() > 0) table->index_row(tuple, write.after, arena);
  }
  tuple->version.store(Version(sequence, erase).word(), platform::memory_order_release);
}

void Applier::fail(std::string why) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (error_.empty()) error_ = std::move(why);
}

}  // namespace logjam
