// The state that the ledger's clients share: the writers of cells, the counts of earlier lives, and
// the newest acknowledgements.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/storage/database.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

// The last writer of each cell, in the memory of a running process. A transaction that overwrites a
// cell without reading the cell learns here whose write it overwrites.
//
// Protocol. A worker calls overwrite() at the serialization point of its transaction, with the cell
// locked (CommitObserver). So the calls for a cell come in the order in which its writers overwrite
// each other, whatever the memory order of the exchange. Any thread may call the other functions at
// any time; their results are only hints.
class CellOrder {
 public:
  explicit CellOrder(uint64_t cells) : last_(cells), present_(cells) {
    for (uint64_t cell = 0; cell < cells; ++cell) set_present(cell, cell % 2 == 0);
  }

  uint64_t cells() const { return last_.size(); }
  // Sets the last writer of `cell` to `writer`, as recovered.
  void resume(uint64_t cell, TransactionId writer, bool present) {
    LJ_ASSERT(cell < last_.size());
    last_[cell].store(writer, platform::memory_order_relaxed);
    set_present(cell, present);
  }

  // Records that `writer` overwrites `cell` and leaves its slot present or absent. Returns the
  // writer that it overwrites; 0: the initial load.
  TransactionId overwrite(uint64_t cell, TransactionId writer, bool present) {
    LJ_ASSERT(cell < last_.size() && writer != 0);
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
  // Returns a number that, modulo the number of slots, is the hot slot. The number grows slowly, so
  // a slot's tuple is reclaimed before many workers use the slot at once.
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

// The state with which clients resume. It is empty after a load. After a recovery it has the counts
// and generations that earlier lives left in the rows and in their history
// (proof/history/history_files.h).
struct ResumeState {
  std::vector<uint64_t> attempts;     // by worker: the largest count of its ids
  std::vector<uint32_t> generations;  // by ledger key: the generation of its entry

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
  // Raises the counts to those of `other`, whose generations must be empty.
  void add(const ResumeState& other) {
    LJ_ASSERT(other.generations.empty());
    for (uint32_t worker = 0; worker < other.attempts.size(); ++worker) {
      raise(worker, other.attempts[worker]);
    }
  }
};

// Reads the state from the rows, and tells `order` the last writer of each cell. Call it when no
// transaction runs.
ResumeState read_resume_state(Database& database, CellOrder* order);

// The newest transaction that each worker has acknowledged.
//
// Protocol. Each worker writes its own element, and all workers read all elements. The order is
// relaxed, because a value is only a hint: a stale value chooses another moment for the kill.
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
    LJ_ASSERT(worker_of(id) < newest_.size());
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

// The moment at which one worker kills the process. Only the worker's thread may call its
// functions.
//
// A kill from outside comes at any time, and almost always finds all acknowledged transactions
// durable. A wrong acknowledgement does harm at few moments: while a transaction is acknowledged
// and another transaction, on which it depends, is not durable yet. --test=ledger_die_early waits
// for such a moment. A client does not know which transactions are durable, so it waits for a
// moment at which the other transaction is not acknowledged yet.
class CrashPoint {
 public:
  // Kills the process right after the worker's acknowledgement number `after`, counted from 1, and
  // right after its early acknowledgement number `early`. A transaction's acknowledgement is early
  // if a transaction on which it depends is not acknowledged yet. 0: never kills it.
  CrashPoint(Acknowledged& acknowledged, uint64_t after, uint64_t early)
      : acknowledged_(acknowledged), after_(after), early_(early) {}

  // Notes that the transaction `id`, which is about to commit, depends on `other`.
  void note_dependency(TransactionId id, TransactionId other) {
    if (early_ != 0 && worker_of(id) != worker_of(other)) depends_on_[id].push_back(other);
  }
  // Forgets `id`, whose commit was refused.
  void on_refusal(TransactionId id) { depends_on_.erase(id); }

  void on_acknowledgement(TransactionId id) {
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
