// Precedences among transactions as a graph: a serial order exists unless the graph has a cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace logjam::ledger {

using Edge = std::pair<uint32_t, uint32_t>;  // the first node comes before the second

// Returns the nodes of a cycle, in order, or nothing if the graph has no cycle. Nodes are numbered
// from 0 to `nodes` - 1. No cycle through its first node is shorter.
std::vector<uint32_t> find_cycle(uint32_t nodes, std::vector<Edge> edges);

}  // namespace logjam::ledger
