// Finds lost updates without a count of acknowledged transactions.
//
// A row counts its updates. A worker that updates a row also writes into this row the key of the
// row that the worker updated before, and how many updates the earlier row had then. If the earlier
// row now has fewer updates, an update was lost, although the worker's next update was not.
//
// A recovery must not lose such an update either. R4 demands only the transactions from which
// recovered transactions have read. But of a worker's transactions that read and also write, a
// scheme recovers a prefix. A recovery keeps a prefix of the worker's log, or cuts by a number that
// grows with each transaction of the worker. Poplar also keeps transactions after its cut, but none
// that has read a row, as each update does. Two schemes recover no prefix if they have several
// streams: `taurus` and `rfa` may use a transaction and lose an earlier one of its worker that
// depends on another stream. Workload::note_any_order() announces several streams.
#pragma once

#include "engine/workload.h"
#include "workloads/parallel_check.h"

namespace logjam {

// A part of each row R. It names the row that the last updater of R had updated before R.
struct PreviousUpdate {
  uint32_t key = 0;      // the key of the row updated before
  uint32_t updates = 0;  // the updates of the row `key` at that time; 0: there is no such row
};

// Counts an error in `*lost` if the update `previous`, which the row under `key` names, is lost.
// updates_of(k) returns the number of updates of the row under the key `k`, or 0 without a row.
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
