// Finds lost updates without a count of acknowledged transactions.
//
// A row counts its updates. A worker that updates a row also writes into it which row the worker
// updated before, and how many updates that earlier row counted then. If the earlier row now counts
// fewer updates, an update was lost, although the same worker's next update was not.
//
// A recovery must not lose such an update either. R4 demands only the transactions from which
// others have read. But every scheme recovers a worker's reading and writing transactions in the
// worker's order: recovery keeps a prefix of the worker's log, or cuts by a number that grows with
// each transaction of the worker. After its cut, Poplar keeps only transactions that have read
// nothing, and an update reads its row.
#pragma once

#include "engine/workload.h"
#include "workloads/parallel_check.h"

namespace logjam {

// A part of each row: the row that the last worker to update this row had updated before.
struct PreviousUpdate {
  uint32_t key = 0;      // the key of the previous row
  uint32_t updates = 0;  // the updates of the previous row at that time; 0: there is no such row
};

// Notes a failure in `*lost` if the row under `key` names a previous update that is lost.
// updates_of(k) returns the number of updates of the row under `k`, or 0 if there is no such row.
template <class UpdatesOf>
void check_previous(uint64_t key, const PreviousUpdate& previous, const UpdatesOf& updates_of,
                    BrokenRows* lost) {
  if (previous.updates == 0) return;
  const uint64_t updates = updates_of(previous.key);
  if (updates >= previous.updates) return;
  lost->note([&] {
    return "; first: row " + std::to_string(previous.key) + " has " + std::to_string(updates) +
           " updates, and the worker that updated row " + std::to_string(key) +
           " had made its number " + std::to_string(previous.updates);
  });
}

inline Check no_update_lost(const BrokenRows& lost) {
  return {"no update is lost before one that is there", lost.count == 0,
          std::to_string(lost.count) + " lost" + lost.first};
}

}  // namespace logjam
