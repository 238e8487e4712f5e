// What the ledger's clients begin with: nothing after a load; after a recovery, what earlier lives
// have left in the rows and in their history (proof/history/history_files.h).
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
  // The worker's ids go on behind `count`.
  void raise(uint32_t worker, uint64_t count) {
    if (count == 0) return;
    if (attempts.size() <= worker) attempts.resize(worker + 1);
    attempts[worker] = std::max(attempts[worker], count);
  }
  void raise(TransactionId id) { raise(worker_of(id), count_of(id)); }
};

// Reads what the rows say, and tells `order` who wrote the cells last. No transaction may run
// meanwhile.
ResumeState read_resume_state(Database& database, CellOrder* order);

}  // namespace logjam::ledger
