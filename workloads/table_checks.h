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

bool has_posting(Index& index, Key key, const Tuple& tuple);

// Checks that each present row has a posting in secondary index number `which` under its present
// key, and that each posting leads to the tuple that the primary index has. `earlier_keys_left`
// also allows postings under earlier keys, which updates, aborted inserts and erases leave.
Check check_postings(Table& table, size_t which, bool earlier_keys_left);

// Returns each worker's largest key in an ordered table, without the keys that have the bit
// `loaded`. A key has the worker's number and then, in its low `count_bits` bits, a count, which is
// below `loaded`. A process that continues with recovered rows learns from this key the worker's
// last count. Searches the index at most twice for each worker.
std::map<uint64_t, Key> last_keys_of_workers(Table& table, unsigned count_bits, Key loaded = 0);

}  // namespace logjam
