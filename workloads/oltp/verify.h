// That all rows are there and whole, that the index on k leads to each and to nothing else, and
// that no update was lost.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/oltp/rows.h"

namespace logjam::oltp {

// What each transaction changes.
struct Changes {
  bool changes_c = false;  // it updates c, or deletes and inserts
  uint32_t index_updates = 0;
};

// How many transactions, of those that change something, the rows show. On all cores, while no
// transaction runs.
uint64_t transactions_there(Database& database, const Changes& changes);

// On all cores, while no transaction runs. `transactions`: those of which a run's clients have been
// told that they are durable.
std::vector<Check> verify(Database& database, const Scale& scale, const Changes& changes,
                          const AckCounter& transactions);

}  // namespace logjam::oltp
