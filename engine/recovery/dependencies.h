// Finds the transactions of a log that overwrite rows of other transactions (Aether, section 7.2,
// Fig. 15). A log has no reads, so only dependencies between two writers of a row are found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "logging/format/log_reader.h"

namespace logjam {

// A range of the log's transactions, in the order of their sequence numbers.
struct LogWindow {
  uint64_t first = 0;
  uint64_t most = ~uint64_t{0};  // the most transactions that the window has
};

struct LoggedTransaction {
  uint64_t sequence = 0;  // the sequence number of the commit
  uint32_t stream = 0;
  uint64_t txn = 0;  // RecordHeader::txn
  // Orders by sequence number. Transactions with equal numbers do not depend on each other.
  auto operator<=>(const LoggedTransaction&) const = default;
};

// `to` overwrites `rows` rows that were last written by `from`. `to` and `from` are indexes of
// LogDependencies::transactions.
struct Dependency {
  uint64_t from = 0, to = 0;
  uint64_t rows = 0;
  // The number of transactions in the stream of `from` between `from` and `to`. If this number is
  // less than 5, the dependency is tight (Aether).
  uint64_t since = 0;
};

struct LogDependencies {
  std::string error;                            // one sentence; empty if the log can be used
  uint64_t log_transactions = 0;                // in the whole log
  std::vector<LoggedTransaction> transactions;  // of the window, by sequence number
  std::vector<Dependency> edges;                // in the window; sorted by `to`, then `from`
  uint64_t longest_path = 0;                    // transactions in the longest chain
};

// Reads a log of values twice: for the order of the transactions, and for the rows that the
// window's transactions write. Includes records beyond the cut, as `logjam dump` does.
LogDependencies find_dependencies(const LogFiles& files, const LogWindow& window);

}  // namespace logjam
