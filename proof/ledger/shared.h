// The state with which the ledger's clients resume: empty after a load; after a recovery, the
// counts and generations that earlier lives left in the rows and in their history
// (proof/history/history_files.h).
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/storage/database.h"
#include "platform/atomic.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

// The last writer of each cell, in the memory of a running process. From it a transaction that
// overwrites a cell without reading it learns whose write it overwrites.
//
// Protocol. A worker calls overwrite() at the serialization point of its transaction, with the cell
// locked (CommitObserver). So the calls for a cell come in the order in which its writers overwrite
// each other, whatever the memory order of the exchange. The other functions may be called at any
// time, and their results are only hints.

class CellOrder {
 public:
  explicit CellOrder(uint64_t cells) : last_(cells), present_(cells) {
    for (uint64_t cell = 0; cell < cells; ++cell) set_present(cell, cell % 2 == 0);
  }

  // Sets the last writer of `cell` to `writer`, as recovered. Called before any worker runs.
  void resume(uint64_t cell, TransactionId writer, bool present) {
    last_[cell].store(writer, platform::memory_order_relaxed);
    set_present(cell, present);
  }

  // Records that `writer` overwrites `cell` and leaves its slot present or absent. Returns the
  // writer that is overwritten; 0: the initial load.
  TransactionId overwrite(uint64_t cell, TransactionId writer, bool present) {
    set_present(cell, present);
    changes_.fetch_add(1, platform::memory_order_relaxed);
    return last_[cell].exchange(writer, platform::memory_order_acq_rel);
  }
  TransactionId last(uint64_t cell) const {
    return last_[cell].load(platform::memory_order_relaxed);
  }
  bool looks_present(uint64_t cell) const {
    return present_[cell].load(platform::memory_order_relaxed) != 0;
  }
  // Returns the number of the slot that is hot now, modulo the number of slots. It grows slowly, so
  // a slot is left alone until its tuple is reclaimed, and then many workers use it at once.
  uint64_t hot() const {
    constexpr uint64_t kChanges = 16;
    return changes_.load(platform::memory_order_relaxed) / kChanges;
  }

 private:
  void set_present(uint64_t cell, bool present) {
    present_[cell].store(present ? 1 : 0, platform::memory_order_relaxed);
  }

  std::vector<platform::atomic<TransactionId>> last_;
  std::vector<platform::atomic<uint8_t>> present_;
  platform::atomic<uint64_t> changes_{0};
};

struct ResumeState {
  std::vector<uint64_t> attempts;     // by worker: the largest count of its ids
  std::vector<uint32_t> generations;  // by ledger key: that of its entry; empty after a load

  uint64_t attempts_of(uint32_t worker) const {
    return worker < attempts.size() ? attempts[worker] : 0;
  }
  // Makes the worker's ids continue after `count`.
  void raise(uint32_t worker, uint64_t count) {
    if (count == 0) return;
    if (attempts.size() <= worker) attempts.resize(worker + 1);
    attempts[worker] = std::max(attempts[worker], count);
  }
  void raise(TransactionId id) { raise(worker_of(id), count_of(id)); }
};

// Reads the state from the rows, and tells `order` who wrote each cell last. No transaction may run
// meanwhile.
ResumeState read_resume_state(Database& database, CellOrder* order);

// The moments at which a worker of the ledger kills its process.
//
// A kill from outside comes at any time, and almost always finds all acknowledged transactions
// durable. A wrong acknowledgement does harm at few moments: while a transaction is acknowledged
// and another one that it depends on is not durable yet. --test=ledger_die_early waits for such a
// moment. A client does not know what is durable, so it waits until the other transaction is not
// acknowledged yet.
//
// Protocol. Each worker writes its own element of Acknowledged, and all workers read it. The order
// is relaxed, because a value is only a hint: a stale one chooses another moment for the kill.

// The newest transaction that each worker has acknowledged.
class Acknowledged {
 public:
  explicit Acknowledged(uint32_t workers) : newest_(workers) {}
  // Counts the transactions of `resume_state`, which were recovered, as acknowledged.
  Acknowledged(uint32_t workers, const ResumeState& resume_state)
      : newest_(std::max<size_t>(workers, resume_state.attempts.size())) {
    for (uint32_t worker = 0; worker < resume_state.attempts.size(); ++worker) {
      note(make_id(worker, resume_state.attempts[worker]));
    }
  }

  void note(TransactionId id) {
    platform::atomic<TransactionId>& mine = newest_[worker_of(id)];
    if (mine.load(platform::memory_order_relaxed) < id) {
      mine.store(id, platform::memory_order_relaxed);
    }
  }
  // Returns whether the worker of `id` has acknowledged neither `id` nor a newer transaction.
  bool looks_pending(TransactionId id) const {
    return id != 0 && newest_[worker_of(id)].load(platform::memory_order_relaxed) < id;
  }

 private:
  std::vector<platform::atomic<TransactionId>> newest_;
};

// Decides for one worker when it kills the process. Called by the worker's thread only.
class CrashPoint {
 public:
  // Kills the process right after the worker's acknowledgement number `after`, counted from 1, and
  // right after its early acknowledgement number `early`. An acknowledgement is early if it comes
  // before that of a transaction that it depends on. 0: does not kill it.
  CrashPoint(Acknowledged& acknowledged, uint64_t after, uint64_t early)
      : acknowledged_(acknowledged), after_(after), early_(early) {}

  // Notes that the transaction `id`, which is about to commit, depends on `other`.
  void depends(TransactionId id, TransactionId other) {
    if (early_ != 0 && worker_of(id) != worker_of(other)) depends_on_[id].push_back(other);
  }
  // Forgets `id`, whose commit was refused.
  void refused(TransactionId id) { depends_on_.erase(id); }

  void acknowledged(TransactionId id) {
    if (++acknowledgements_ == after_) std::raise(SIGKILL);
    if (early_ == 0) return;
    acknowledged_.note(id);
    const auto found = depends_on_.find(id);
    if (found == depends_on_.end()) return;
    const bool early = std::ranges::any_of(
        found->second, [this](TransactionId other) { return acknowledged_.looks_pending(other); });
    depends_on_.erase(found);
    if (early && --early_ == 0) std::raise(SIGKILL);
  }

 private:
  Acknowledged& acknowledged_;
  uint64_t after_, early_;
  uint64_t acknowledgements_ = 0;
  std::unordered_map<TransactionId, std::vector<TransactionId>> depends_on_;
};

}  // namespace logjam::ledger
