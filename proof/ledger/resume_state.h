// The state with which the ledger's clients resume: empty after a load; after a recovery, the
// counts and generations that earlier lives left in the rows and in their history
// (proof/history/history_files.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/storage/database.h"
#include "proof/ledger/cell_order.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

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

}  // namespace logjam::ledger
