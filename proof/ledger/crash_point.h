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
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "platform/atomic.h"
#include "proof/ledger/resume_state.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

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
