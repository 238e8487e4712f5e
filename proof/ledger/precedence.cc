#include "proof/ledger/precedence.h"

#include <algorithm>

#include "platform/parallel.h"
#include "platform/thread.h"

namespace logjam::ledger {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Sorts edges by their first node, then by their second.
void sort(std::vector<Edge>* edges) {
  std::vector<uint64_t> words;
  words.reserve(edges->size());
  for (const auto& [from, to] : *edges) words.push_back(uint64_t{from} << 32 | to);
  platform::parallel_sort(words, static_cast<uint32_t>(platform::core_count()));
  for (size_t i = 0; i < words.size(); ++i) {
    (*edges)[i] = {static_cast<uint32_t>(words[i] >> 32), static_cast<uint32_t>(words[i])};
  }
}

// Successors by node, packed.
class Graph {
 public:
  Graph(uint32_t nodes, std::vector<Edge>* edges) : first_(nodes + 1) {
    sort(edges);
    edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
    to_.reserve(edges->size());
    for (const auto& [from, to] : *edges) {
      ++first_[from + 1];
      to_.push_back(to);
    }
    for (uint32_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
  }
  template <class Visit>
  void for_successors(uint32_t node, const Visit& visit) const {
    for (size_t i = first_[node]; i < first_[node + 1]; ++i) visit(to_[i]);
  }

 private:
  std::vector<size_t> first_;
  std::vector<uint32_t> to_;
};

// Removes nodes without a remaining predecessor until no such node remains (Kahn's algorithm).
// Returns the number of remaining predecessors of each node; all are 0 if the graph has no cycle.
std::vector<uint32_t> predecessors_left(uint32_t nodes, const Graph& graph,
                                        const std::vector<Edge>& edges) {
  std::vector<uint32_t> left(nodes), ready;
  for (const auto& [from, to] : edges) ++left[to];
  for (uint32_t node = 0; node < nodes; ++node) {
    if (left[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const uint32_t node = ready.back();
    ready.pop_back();
    graph.for_successors(node, [&](uint32_t to) {
      if (--left[to] == 0) ready.push_back(to);
    });
  }
  return left;
}

// Returns a shortest cycle through `start`, which must be on one, found by breadth-first search.
std::vector<uint32_t> shortest_cycle_through(uint32_t start, uint32_t nodes, const Graph& graph) {
  std::vector<uint32_t> came_from(nodes, kNone), queue{start};
  for (size_t next = 0; next < queue.size() && came_from[start] == kNone; ++next) {
    graph.for_successors(queue[next], [&](uint32_t to) {
      if (came_from[to] != kNone) return;
      came_from[to] = queue[next];
      queue.push_back(to);
    });
  }
  std::vector<uint32_t> cycle;
  uint32_t node = start;
  do {
    cycle.push_back(node);
    node = came_from[node];
  } while (node != start);
  std::reverse(cycle.begin() + 1, cycle.end());
  return cycle;
}

}  // namespace

std::vector<uint32_t> find_cycle(uint32_t nodes, std::vector<Edge> edges) {
  const Graph graph(nodes, &edges);
  const std::vector<uint32_t> left = predecessors_left(nodes, graph, edges);
  // Every remaining node has a remaining predecessor. So a walk from predecessor to predecessor
  // enters a cycle within `nodes` steps.
  std::vector<uint32_t> predecessor(nodes, kNone);
  uint32_t node = kNone;
  for (const auto& [from, to] : edges) {
    if (left[from] != 0 && left[to] != 0) predecessor[to] = node = from;
  }
  if (node == kNone) return {};
  for (uint32_t step = 0; step < nodes; ++step) node = predecessor[node];
  return shortest_cycle_through(node, nodes, graph);
}

}  // namespace logjam::ledger
