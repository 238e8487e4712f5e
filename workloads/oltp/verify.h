// Checks that all rows are present and whole, that the index on k leads to each row and to nothing
// else, and that no update was lost.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/oltp/rows.h"

namespace logjam::oltp {

// The changes of each transaction.
struct Changes {
  bool changes_c = false;  // it updates c, or deletes and inserts
  uint32_t index_updates = 0;
};

// Returns how many of the transactions that change something the rows show. Works on all cores; no
// transaction may run meanwhile.
uint64_t transactions_there(Database& database, const Changes& changes);

// Returns one result for each check. `transactions` counts the acknowledged transactions of a run.
// Works on all cores; no transaction may run meanwhile.
std::vector<Check> verify(Database& database, const Scale& scale, const Changes& changes,
                          const AckCounter& transactions);

}  // namespace logjam::oltp
