// Gives the memory of erased rows back to their tables, while transactions run. An erased row stays
// in its index as an absent tuple as long as a transaction may need to find it:
//
// - until the erase is durable. Afterwards, a transaction that finds no tuple need not wait for the
//   erase;
// - while a transaction holds the tuple locked. The reclaimer locks the tuple as a writer would,
//   and never unlocks it. A transaction that still finds the tuple, or has read it, aborts, and
//   does not wait for it (Version::removed, kLockedForever).
//
// The reclaimer raises Table::removed_up_to() to the tuple's sequence number before the key leaves
// the index, and a transaction that inserts the key again draws a number above removed_up_to().
// Without Table::reclaims(), absent tuples stay.
//
// With old versions (old_version.h), there is a third reason: a snapshot may still contain the row.
// So the tuple also stays until each worker has been between two transactions since the erase
// became durable, and was acknowledged (worker.h): new snapshots then contain the erase. The
// reclaimer also takes each old version that is no longer its row's newest.
//
// Only transactions that began before the removal can reach the removed tuple and index nodes. The
// memory of these tuples and nodes is not used again until each worker has been between two
// transactions (quiescent-state-based reclamation, as in RCU). A parked transaction (--locks=write)
// may be older, but it touches only locks that it holds, and a locked tuple is not reclaimed.
//
// Protocol. Epochs::epoch_ only grows. Each batch of retired memory increments epoch_, and has the
// value of epoch_ before this increment. Between two transactions, a worker loads epoch_ (acquire)
// and stores the value as its own (release). Suppose that the values of all workers are larger than
// a batch's value. Then each worker began its transaction after the removals, because it acquired
// the increment, which released the removals. The worker's earlier accesses are finished, because
// its store released them, and the reclaimer acquires that store.
//
// A checkpoint pauses removals. It stores the flag before it ends an epoch. So a worker that has
// seen the next epoch also sees the flag before it removes another tuple.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "engine/storage/database.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/thread_annotations.h"

namespace logjam {

class Epochs {
 public:
  explicit Epochs(uint32_t workers) : worker_epochs_(workers) {}
  uint32_t workers() const { return static_cast<uint32_t>(worker_epochs_.size()); }

  // Notes that the calling worker is between two transactions, and has no pointer into a table.
  void note_quiescent(uint32_t worker) LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(worker_epochs_[worker]->load(platform::memory_order_relaxed) != kNever);
    worker_epochs_[worker]->store(epoch_.load(platform::memory_order_acquire),
                                  platform::memory_order_release);
  }
  // Notes that the calling worker will run no further transaction.
  void leave(uint32_t worker) LJ_REQUIRES(platform::worker_role) {
    worker_epochs_[worker]->store(kNever, platform::memory_order_release);
  }

  // Waits until all workers have paused removals. One thread pauses and resumes.
  void pause_removals() {
    LJ_ASSERT(!removals_paused());
    paused_.store(true, platform::memory_order_release);
    for (const uint64_t epoch = retire(); safe_before() <= epoch;) platform::sleep_ns(kPauseNapNs);
  }
  void resume_removals() {
    LJ_ASSERT(removals_paused());
    paused_.store(false, platform::memory_order_release);
  }
  bool removals_paused() const { return paused_.load(platform::memory_order_relaxed); }

  // Returns the epoch of the memory that the caller removed before this call.
  uint64_t retire() { return epoch_.fetch_add(1, platform::memory_order_acq_rel); }
  // Returns an epoch. Memory of every smaller epoch can be recycled.
  uint64_t safe_before() const;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  static constexpr uint64_t kPauseNapNs = 100'000;

  platform::atomic<uint64_t> epoch_{0};
  platform::atomic<bool> paused_{false};
  std::vector<platform::Padded<platform::atomic<uint64_t>>> worker_epochs_;
};

// A row, and the sequence number of the transaction that erased it.
struct Erasure {
  Table* table;
  Key key;
  uint64_t sequence;
  uint64_t epoch = 0;  // with old versions: when the erase became durable
};

// The reclaimer of one worker.
class Reclaimer {
 public:
  // Each of the worker's commits waits in one of `queues` queues, and becomes durable in the
  // queue's order. `arena` belongs to the worker. `old_versions`: the protocol keeps old versions.
  Reclaimer(Epochs& epochs, uint32_t queues, const Arena& arena, bool old_versions = false)
      : epochs_(epochs), arena_(arena), old_versions_(old_versions), waiting_(queues) {}

  void note_erased(const Erasure& erasure) LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(erasure.table->reclaims());
    erased_.push_back(erasure);
  }
  // Notes the commit of the transaction. Returns the number of its erased rows, for note_durable().
  uint32_t note_committed(uint32_t queue) LJ_REQUIRES(platform::worker_role) {
    if (erased_.empty()) return 0;
    const auto count = static_cast<uint32_t>(erased_.size());
    waiting_[queue].insert(waiting_[queue].end(), erased_.begin(), erased_.end());
    erased_.clear();
    return count;
  }
  // Notes that the oldest `count` erased rows of `queue` are durable.
  void note_durable(uint32_t queue, uint32_t count) LJ_REQUIRES(platform::worker_role);
  // Notes that an insert of `key` has left an absent tuple, whose row was never present.
  void note_abandoned(Table& table, Key key) LJ_REQUIRES(platform::worker_role) {
    candidates_.push_back({&table, key, 0});
  }

  // Notes that a newer old version has replaced `version` as its row's newest; null: none.
  void note_replaced(Table& table, const OldVersion* version) LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(old_versions_);
    if (version == nullptr) return;
    limbo_.push_back(
        {kOpen, &table, {const_cast<OldVersion*>(version), Retired::Kind::kOldVersion}});
    ++open_;
    waiting_bytes_ += table.old_version_bytes();
    most_waiting_bytes_ = std::max(most_waiting_bytes_, waiting_bytes_);
  }
  // Returns the bytes of the replaced old versions that waited at once for the ends of
  // transactions, at most. Call it when the worker has ended.
  uint64_t most_waiting_bytes() const { return most_waiting_bytes_; }

  // Removes and recycles some tuples and old versions. Call it between two transactions.
  void work() LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(erased_.empty());
    if (!candidates_.empty() && !epochs_.removals_paused()) remove_some();
    if (open_ >= kAtOnce) close_batch();
    if (!limbo_.empty() || (old_versions_ && !candidates_.empty())) recycle_safe();
  }

 private:
  struct Limbo {
    uint64_t epoch;
    Table* table;
    Retired retired;
  };

  // The epoch of memory whose batch has no epoch yet.
  static constexpr uint64_t kOpen = std::numeric_limits<uint64_t>::max();
  static constexpr size_t kAtOnce = 32;

  void remove_some();
  void close_batch();
  void recycle_safe();

  Epochs& epochs_;
  const Arena& arena_;
  const bool old_versions_;
  std::vector<Erasure> erased_;               // by the committing transaction
  std::vector<std::deque<Erasure>> waiting_;  // by queue, until their transactions are durable
  std::deque<Erasure> candidates_;
  std::vector<Retired> retired_;
  std::deque<Limbo> limbo_;
  size_t open_ = 0;  // entries at the end of limbo_ without an epoch
  uint64_t waiting_bytes_ = 0, most_waiting_bytes_ = 0;  // of old versions in limbo_
  uint64_t safe_ = 0;  // Epochs::safe_before(), when this worker last asked
  uint32_t since_check_ = 0;
};

}  // namespace logjam
