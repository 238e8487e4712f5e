#include <algorithm>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/parallel.h"
#include "platform/thread.h"
#include "proof/ledger/versions.h"
#include "workloads/parallel_check.h"

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
      LJ_ASSERT(from < nodes && to < nodes);
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

// Returns a shortest cycle through `start`, found by breadth-first search.
std::vector<uint32_t> shortest_cycle_through(uint32_t start, uint32_t nodes, const Graph& graph) {
  std::vector<uint32_t> came_from(nodes, kNone), queue{start};
  for (size_t next = 0; next < queue.size() && came_from[start] == kNone; ++next) {
    graph.for_successors(queue[next], [&](uint32_t to) {
      if (came_from[to] != kNone) return;
      came_from[to] = queue[next];
      queue.push_back(to);
    });
  }
  LJ_ASSERT(came_from[start] != kNone);
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
  // Every remaining node has a remaining predecessor. So a walk from each node to its predecessor
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

namespace {

// The edges that a part found, or those of all parts so far.
struct Edges {
  std::vector<Edge> edges;
  void add(const Edges& more) { edges.insert(edges.end(), more.edges.begin(), more.edges.end()); }
};

// Adds that each writer of a key comes before the next.
void add_writers(const std::vector<uint32_t>& chain, std::vector<Edge>* edges) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) edges->emplace_back(chain[i], chain[i + 1]);
}

// Adds that a reader comes after the writer of the version that it read, and before the writer of
// the next version.
void add_reads(const History& history, const Versions& versions, uint32_t reader,
               std::vector<Edge>* edges) {
  for (const Access& read : history.transactions[reader].reads) {
    const uint32_t version = versions.of(read);
    if (version == Versions::kMissing) continue;
    const std::vector<uint32_t>& chain = versions.chain(read.key);
    if (version != 0 && chain[version - 1] != reader) {
      edges->emplace_back(chain[version - 1], reader);
    }
    if (version < chain.size() && chain[version] != reader) {
      edges->emplace_back(reader, chain[version]);
    }
  }
}

// Returns the reason for the edge between two transactions, as a sentence.
std::string why_before(const History& history, uint32_t from, uint32_t to) {
  const RecordedTransaction& before = history.transactions[from];
  const RecordedTransaction& after = history.transactions[to];
  const std::string a = show(before.id), b = show(after.id);
  const auto at = [&](const Access& access) { return " at " + history.keys.name(access.key); };
  for (const Access& write : after.writes) {
    if (write.writer == before.id) return b + " overwrote " + a + at(write);
  }
  for (const Access& read : after.reads) {
    if (read.writer == before.id) return b + " read " + a + at(read);
  }
  for (const Access& read : before.reads) {
    for (const Access& write : after.writes) {
      if (read.key == write.key && read.writer == write.writer) {
        return b + " overwrote what " + a + " had read" + at(read);
      }
    }
  }
  return a + " came before " + b;
}

std::string tell(const History& history, const std::vector<uint32_t>& cycle) {
  constexpr size_t kShown = 8;
  std::string sentence =
      "not serializable: a cycle of " + std::to_string(cycle.size()) + " transactions: ";
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    if (i != 0) sentence += ", ";
    sentence += why_before(history, cycle[i], cycle[(i + 1) % cycle.size()]);
  }
  if (cycle.size() > kShown) sentence += ", ...";
  return sentence;
}

// Checks that no transaction comes before one of an earlier life.
std::string lives_in_order(const History& history, const std::vector<Edge>& edges) {
  const auto life = [&](uint32_t t) { return history.transactions[t].life; };
  const Edge* wrong = nullptr;  // the smallest, for edges are in no order
  for (const Edge& edge : edges) {
    if (life(edge.first) <= life(edge.second)) continue;
    if (wrong == nullptr || edge < *wrong) wrong = &edge;
  }
  if (wrong == nullptr) return "";
  return "not serializable: " + history.name(history.transactions[wrong->first]) +
         " comes before " + history.name(history.transactions[wrong->second]) + ", because " +
         why_before(history, wrong->first, wrong->second);
}

}  // namespace

SerialOrder find_serial_order(const History& history, const Versions& versions,
                              const std::function<bool(uint32_t)>& counts) {
  const size_t keys = history.keys.all(), transactions = history.transactions.size();
  Edges found = sum_of_parts(
      Edges{},
      [&](uint32_t part, uint32_t parts, Edges* sum) {
        for (size_t key = keys * part / parts; key < keys * (part + 1) / parts; ++key) {
          add_writers(versions.chain(key), &sum->edges);
        }
        for (size_t i = transactions * part / parts; i < transactions * (part + 1) / parts; ++i) {
          const auto t = static_cast<uint32_t>(i);
          if (counts(t)) add_reads(history, versions, t, &sum->edges);
        }
      },
      keys + transactions);
  SerialOrder order;
  order.edges = found.edges.size();
  order.violation = lives_in_order(history, found.edges);
  if (!order.violation.empty()) return order;
  const std::vector<uint32_t> cycle =
      find_cycle(static_cast<uint32_t>(transactions), std::move(found.edges));
  if (!cycle.empty()) order.violation = tell(history, cycle);
  return order;
}

}  // namespace logjam::ledger
