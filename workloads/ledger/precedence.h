// Who must come before whom, and whether that can be: a graph and one of its cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace logjam::ledger {

using Edge = std::pair<uint32_t, uint32_t>;  // from comes before to

// The nodes of a shortest cycle through some node that is on one, in order; empty if there is none.
std::vector<uint32_t> find_cycle(uint32_t nodes, std::vector<Edge> edges);

}  // namespace logjam::ledger
