// Gives the memory of erased rows back to their tables, while transactions run.
//
// An erased row stays in its index as an absent tuple for as long as anybody may have to meet it:
//
// - Until the erase is durable. Who then finds nothing instead of the tombstone has missed nothing
//   to wait for.
// - Until nobody holds it locked. The reclaimer takes it as a writer would, and never lets go: who
//   still finds it, or has read it, aborts as if it were locked.
//
// Its sequence number outlives it: Table::forgotten_up_to() is raised before the key leaves the
// index, and whoever inserts the key again draws a larger number. Recovery sees the log from its
// start and keeps tombstones of its own.
//
// The tuple, and the index nodes that are left empty, are then out of everybody's reach but those
// whose transaction had begun before. Their memory waits until each worker has been between two
// transactions (quiescent-state-based reclamation, as in RCU). A parked transaction (--elr=false)
// may be older, but all it still touches are locks it holds, and what is held is not reclaimed.
//
// Only tables for which Table::reclaims() are concerned. In others, absent tuples stay for good,
// one for each key that was ever there.
//
// Protocol. `Epochs`: `now_` only grows, each batch of retired memory carries the value it had
// before it grew. A worker stores the value it loads, between two transactions: load acquire, store
// release. If all workers' values are larger than a batch's, then each has begun its transaction
// behind the removals (it acquired what the growth released), and what it did before is done (it
// released it, and the reclaimer acquires). A Reclaimer is one worker's.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "engine/storage/database.h"
#include "platform/atomic.h"

namespace logjam {

class Epochs {
 public:
  explicit Epochs(uint32_t workers) : seen_(workers) {}

  // The worker holds no references to anything in a table.
  void between_transactions(uint32_t worker) {
    seen_[worker]->store(now_.load(platform::memory_order_acquire), platform::memory_order_release);
  }
  // It will not run another transaction.
  void leave(uint32_t worker) { seen_[worker]->store(kNever, platform::memory_order_release); }

  // To be called behind the removal of what is retired under the result.
  uint64_t retire() { return now_.fetch_add(1, platform::memory_order_acq_rel); }
  // What was retired under a smaller epoch may be given back.
  uint64_t safe_before() const;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  platform::atomic<uint64_t> now_{0};
  std::vector<platform::Padded<platform::atomic<uint64_t>>> seen_;
};

// A row erased by a transaction with this sequence number.
struct Erasure {
  Table* table;
  Key key;
  uint64_t sequence;
};

class Reclaimer {
 public:
  // A worker's transactions become durable in order within each of so many queues.
  Reclaimer(Epochs& epochs, uint32_t queues) : epochs_(epochs), waiting_(queues) {}

  // The transaction that is committing has erased it.
  void erased(const Erasure& erasure) { erased_.push_back(erasure); }
  // It has committed, and becomes durable in this queue. How many rows it has erased, for its
  // worker to say again when it is durable.
  uint32_t committed(uint32_t queue) {
    if (erased_.empty()) return 0;
    const auto count = static_cast<uint32_t>(erased_.size());
    waiting_[queue].insert(waiting_[queue].end(), erased_.begin(), erased_.end());
    erased_.clear();
    return count;
  }
  void durable(uint32_t queue, uint32_t count);
  // The tuple of an insert that came to nothing: its row never was there.
  void abandoned(Table& table, Key key) { candidates_.push_back({&table, key, 0}); }

  // The worker's share, between two transactions.
  void work() {
    if (!candidates_.empty()) remove_some();
    if (!limbo_.empty()) give_back();
  }

 private:
  struct Limbo {
    uint64_t epoch;
    Table* table;
    Retired retired;
  };

  void remove_some();
  void give_back();

  Epochs& epochs_;
  std::vector<Erasure> erased_;               // by the transaction that commits
  std::vector<std::deque<Erasure>> waiting_;  // by queue, until their transactions are durable
  std::deque<Erasure> candidates_;
  std::vector<Retired> retired_;
  std::deque<Limbo> limbo_;
  uint32_t since_looked_ = 0;
};

}  // namespace logjam
