// Decides whether the transactions of a history have a serial order: whether the write-write,
// write-read and read-write precedences among them have no cycle (Adya: PL-3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "proof/ledger/history.h"
#include "proof/ledger/versions.h"

namespace logjam::ledger {

struct SerialOrder {
  uint64_t edges = 0;     // precedences
  std::string violation;  // a cycle, as a sentence; empty if there is none
};

// Looks for a cycle among all writers of versions and the readers for which `counts` returns true.
// Several threads call `counts` at once.
SerialOrder find_serial_order(const History& history, const Versions& versions,
                              const std::function<bool(uint32_t)>& counts);

// Precedences among transactions are edges of a graph. A serial order exists if the graph has no
// cycle.
using Edge = std::pair<uint32_t, uint32_t>;  // the first node comes before the second

// Returns the nodes of a cycle, in order, or nothing if the graph has no cycle. No cycle through
// its first node is shorter.
std::vector<uint32_t> find_cycle(uint32_t nodes, std::vector<Edge> edges);

}  // namespace logjam::ledger
