// The versions of each key that a database holds.
//
// Version v of a key is the write of chain(key)[v - 1]; version 0 is the initial load. The last
// version is the write of the row in the database. The version below the last one is the write that
// the last version overwrote according to the history, and so on. A write that is no version is
// *missing*: it is not in the database, and no version overwrote it.
//
// A version *shows* if the database proves that its writer was recovered. The last version shows.
// Any other version shows if the version that updated it shows. The writer of a version below a
// blind write may have been recovered or not. The database does not say which; both are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "proof/ledger/checker.h"
#include "proof/ledger/history.h"

namespace logjam::ledger {

class Versions {
 public:
  static constexpr uint32_t kMissing = ~uint32_t{0};

  Versions(const LedgerRows& rows, const History& history);

  // Follows the versions of every key down from its row. Returns a violation if a chain is broken
  // (R3), or if a slot's row is not inserted and erased alternately. Call it first.
  std::string walk();

  const std::vector<uint32_t>& chain(Key key) const {
    LJ_ASSERT(key < chains_.size());
    return chains_[key];
  }
  // Returns the version that the access read or overwrote, or kMissing.
  uint32_t of(const Access& access) const;
  bool shows(uint32_t transaction) const { return shows_[transaction] != 0; }
  uint64_t showing() const;  // number of transactions
  // Returns the transaction's first missing write, or its first present write; null if none.
  const Access* missing_write(uint32_t transaction) const { return first(transaction, true); }
  const Access* present_write(uint32_t transaction) const { return first(transaction, false); }
  const Access* write_of(uint32_t transaction, Key key) const;
  // Returns text like "ledger key 7 over 0:12 is not there, 1:3 overwrote the same (fork)".
  std::string where_lost(const Access& write) const;

 private:
  std::string walk_key(Key key, TransactionId last, const TransactionId* overwritten);
  std::string in_turn(Key key) const;
  const Access* first(uint32_t transaction, bool missing) const;
  uint32_t& number(uint32_t transaction, const Access& write) {
    LJ_ASSERT_IN_TESTS(&write >= history_.transactions[transaction].writes.data());
    return numbers_[first_write_[transaction] +
                    static_cast<size_t>(&write - history_.transactions[transaction].writes.data())];
  }
  uint32_t number(uint32_t transaction, const Access& write) const {
    return const_cast<Versions*>(this)->number(transaction, write);
  }
  const KeySpace& keys() const { return history_.keys; }

  const LedgerRows& rows_;
  const History& history_;
  std::vector<uint64_t> first_write_;          // of each transaction, its first index in numbers_
  std::vector<uint32_t> numbers_;              // of each write, its version; 0: missing
  std::vector<uint8_t> shows_;                 // of each transaction: 1, or 0
  std::vector<std::vector<uint32_t>> chains_;  // by key
};

// Transactions have a serial order if the write-write, write-read and read-write precedences among
// them, which are edges of a graph, have no cycle (Adya: PL-3). They are isolated by snapshots if
// each cycle has two read-write precedences in a row.
struct SerialOrder {
  uint64_t edges = 0;     // precedences
  std::string violation;  // a cycle, as a sentence; empty if there is none
};

// Looks for a cycle among all writers of versions and all read-only transactions for which `counts`
// returns true. Several threads call `counts` at once.
SerialOrder find_serial_order(const History& history, const Versions& versions,
                              const std::function<bool(uint32_t)>& counts);

using Edge = std::pair<uint32_t, uint32_t>;  // the first node comes before the second

// Returns a cycle's nodes in order, or nothing. No shorter cycle goes through the first node.
std::vector<uint32_t> find_cycle(uint32_t nodes, std::vector<Edge> edges);

}  // namespace logjam::ledger
