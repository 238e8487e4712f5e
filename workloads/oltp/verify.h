// Checks that all rows are present and whole, that the index on k leads to each row and to nothing
// else, and that no update was lost.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/workload.h"
#include "workloads/ack_counter.h"
#include "workloads/oltp/rows.h"

namespace logjam::oltp {

// Returns how many transactions the rows show. Uses all cores, while no transaction runs.
uint64_t transactions_there(Database& database);

// Checks the rows, on all cores, while no transaction runs. Each transaction has updated k
// `index_updates` times. `transactions` are those of which a run's clients have been told that they
// are durable.
std::vector<Check> verify(Database& database, const Scale& scale, uint32_t index_updates,
                          const AckCounter& transactions);

}  // namespace logjam::oltp
