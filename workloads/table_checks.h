// Functions with which verify() and resume() look at tables and describe errors in them. Any thread
// may call these functions when no transaction runs.
#pragma once

#include <map>

#include "engine/workload.h"
#include "platform/assert.h"

namespace logjam {

// Returns the present row of `key`, or null.
template <class Row>
const Row* find_row(Table& table, Key key) {
  LJ_ASSERT(sizeof(Row) <= table.row_bytes());
  Keyed* entry = table.primary().find(key, nullptr);
  if (entry == nullptr) return nullptr;
  const Tuple* tuple = Table::tuple_of(entry);
  return tuple->load_version().absent() ? nullptr : reinterpret_cast<const Row*>(tuple->row());
}

// Returns the row's name: the columns that are parts of its key, as in "d_id 3 d_w_id 2".
std::string row_name(const Table& table, Key key);

// Compares the rows `found` and `expected` of `key`. Returns the first column in which they differ,
// with both values, or an empty string if the rows are equal.
std::string difference(const Table& table, Key key, const std::byte* found,
                       const std::byte* expected);

// Returns whether the index has a posting under `key` that leads to the tuple.
bool has_posting(Index& index, Key key, const Tuple& tuple);

// Checks that each present row has a posting in secondary index number `which` under its present
// key, and that each posting leads to the tuple that the primary index has. If `earlier_keys_left`,
// rows may also have postings under earlier keys, because updates change keys, and because aborted
// inserts and erases leave postings.
Check check_postings(Table& table, size_t which, bool earlier_keys_left);

// Returns the largest key below `end` of each worker, in an ordered table whose keys are
// worker << count_bits | count. From it, a process that continues with recovered rows knows the
// last count of each worker. Searches the index once for each worker.
std::map<uint64_t, Key> last_keys_of_workers(Table& table, unsigned count_bits, Key end);

}  // namespace logjam
