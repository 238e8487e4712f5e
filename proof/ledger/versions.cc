#include "proof/ledger/versions.h"

#include <algorithm>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/parallel.h"
#include "platform/thread.h"
#include "workloads/parallel_check.h"

namespace logjam::ledger {
namespace {

constexpr uint32_t kVisited = ~uint32_t{0};

}  // namespace

Versions::Versions(const LedgerRows& rows, const History& history)
    : rows_(rows), history_(history) {
  uint64_t writes = 0;
  for (const RecordedTransaction& transaction : history.transactions) {
    first_write_.push_back(writes);
    writes += transaction.writes.size();
  }
  numbers_.assign(writes, 0);
  shows_.assign(history.transactions.size(), 0);
}

std::string Versions::walk() {
  LJ_ASSERT(chains_.empty());
  LJ_ASSERT(rows_.ledger.size() == keys().ledger && rows_.cells.size() == keys().cells);
  chains_.resize(keys().all());
  return first_violation(keys().all(), [this](size_t key) -> std::string {
    if (!keys().is_cell(key)) {
      const LedgerRow& row = rows_.ledger[key].second;
      return walk_key(key, row.writer, &row.overwritten);
    }
    const std::string wrong =
        walk_key(key, rows_.cells[key - keys().ledger].second.writer, nullptr);
    return wrong.empty() && keys().has_slot(key) ? in_turn(key) : wrong;
  });
}

// Follows the versions of one key. `last` wrote the row in the database. `*overwritten` is the
// previous writer, if the row names it. Threads call this for different keys at once. No two calls
// change the same chain or version numbers, but several may mark one writer as showing.
std::string Versions::walk_key(Key key, TransactionId last, const TransactionId* overwritten) {
  std::vector<uint32_t>& chain = chains_[key];
  TransactionId above = 0, id = last;
  bool shows = true;
  while (id != 0) {
    const std::string link = above == 0
                                 ? "R3: " + keys().name(key) + " was last written by " + show(id)
                                 : "R3: in the chain of " + keys().name(key) + ", " + show(above) +
                                       " overwrote " + show(id);
    const uint32_t writer = history_.find(id);
    if (writer == History::kNone) return link + ", which the history does not know";
    const Access* write = write_of(writer, key);
    if (write == nullptr) return link + ", which never wrote that key";
    if (number(writer, *write) != 0) return link + ", which is in that chain already: a loop";
    if (write->writer == kNotYet) return link + ", which had not reached its serialization point";
    number(writer, *write) = kVisited;
    if (shows) {
      platform::atomic_ref<uint8_t>(shows_[writer]).store(1, platform::memory_order_relaxed);
    }
    shows = shows && reads_row(write->op);
    chain.push_back(writer);
    above = id;
    id = write->writer;
    if (chain.size() == 1 && overwritten != nullptr && id != *overwritten) {
      return "R3: " + keys().name(key) + " says that " + show(last) + " overwrote " +
             show(*overwritten) + ", but it recorded that it overwrote " + show(id);
    }
  }
  std::reverse(chain.begin(), chain.end());
  for (uint32_t i = 0; i < chain.size(); ++i) number(chain[i], *write_of(chain[i], key)) = i + 1;
  return "";
}

// Checks that a slot's rows were inserted only where no row was, and were erased or overwritten
// only where a row was.
std::string Versions::in_turn(Key key) const {
  bool present = keys().slot_loaded(key);
  TransactionId below = 0;
  for (const uint32_t writer : chains_[key]) {
    const Op op = write_of(writer, key)->op;
    const TransactionId id = history_.transactions[writer].id;
    if (present == (op == Op::kInsert)) {
      return "not serializable: " + show(id) +
             (op == Op::kInsert  ? " inserted the row of "
              : op == Op::kErase ? " erased the row of "
                                 : " overwrote the row of ") +
             keys().name(key) + ", but " + show(below) + (present ? " left one" : " left none");
    }
    present = op != Op::kErase;
    below = id;
  }
  return "";
}

uint64_t Versions::showing() const {
  return static_cast<uint64_t>(std::count(shows_.begin(), shows_.end(), 1));
}

uint32_t Versions::of(const Access& access) const {
  if (access.writer == 0) return 0;
  const uint32_t writer = history_.find(access.writer);
  if (writer == History::kNone) return kMissing;
  const Access* write = write_of(writer, access.key);
  if (write == nullptr || number(writer, *write) == 0) return kMissing;
  return number(writer, *write);
}

const Access* Versions::first(uint32_t transaction, bool missing) const {
  for (const Access& write : history_.transactions[transaction].writes) {
    if ((number(transaction, write) == 0) == missing) return &write;
  }
  return nullptr;
}

const Access* Versions::write_of(uint32_t transaction, Key key) const {
  for (const Access& write : history_.transactions[transaction].writes) {
    if (write.key == key) return &write;
  }
  return nullptr;
}

std::string Versions::where_lost(const Access& write) const {
  std::string sentence = keys().name(write.key);
  if (write.writer == kNotYet) return sentence + ", before its serialization point, is not there";
  sentence += " over " + show(write.writer) + " is not there";
  const uint32_t version = of(write);
  if (version == kMissing) return sentence;
  const std::vector<uint32_t>& chain = chains_[write.key];
  if (version == chain.size()) return sentence + ", " + show(write.writer) + " wrote last";
  return sentence + ", " + show(history_.transactions[chain[version]].id) +
         " overwrote the same (fork)";
}

namespace {

constexpr uint32_t kNone = ~uint32_t{0};

void sort(std::vector<Edge>* edges) {
  std::vector<uint64_t> words;
  words.reserve(edges->size());
  for (const auto& [from, to] : *edges) words.push_back(uint64_t{from} << 32 | to);
  platform::parallel_sort(words, static_cast<uint32_t>(platform::core_count()));
  for (size_t i = 0; i < words.size(); ++i) {
    (*edges)[i] = {static_cast<uint32_t>(words[i] >> 32), static_cast<uint32_t>(words[i])};
  }
}

// The successors of each node, in one array.
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

// The edges that one thread's part of the work has found, or the edges of all parts so far.
struct Edges {
  std::vector<Edge> dependencies;  // write-write and write-read
  std::vector<Edge> overwritten;   // read-write
  void add(const Edges& more) {
    dependencies.insert(dependencies.end(), more.dependencies.begin(), more.dependencies.end());
    overwritten.insert(overwritten.end(), more.overwritten.begin(), more.overwritten.end());
  }
};

void add_writers(const std::vector<uint32_t>& chain, Edges* edges) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    edges->dependencies.emplace_back(chain[i], chain[i + 1]);
  }
}

// Adds that the reader of a version comes after the version's writer, and before the next writer.
void add_reads(const History& history, const Versions& versions, uint32_t reader, Edges* edges) {
  for (const Access& read : history.transactions[reader].reads) {
    const uint32_t version = versions.of(read);
    if (version == Versions::kMissing) continue;
    const std::vector<uint32_t>& chain = versions.chain(read.key);
    if (version != 0 && chain[version - 1] != reader) {
      edges->dependencies.emplace_back(chain[version - 1], reader);
    }
    if (version < chain.size() && chain[version] != reader) {
      edges->overwritten.emplace_back(reader, chain[version]);
    }
  }
}

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
  std::string sentence = history.serializable ? "not serializable" : "not isolated by snapshots";
  sentence += ": a cycle of " + std::to_string(cycle.size()) + " transactions: ";
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    if (i != 0) sentence += ", ";
    sentence += why_before(history, cycle[i], cycle[(i + 1) % cycle.size()]);
  }
  if (cycle.size() > kShown) sentence += ", ...";
  return sentence;
}

// Checks that no transaction comes before a transaction of an earlier life.
std::string lives_in_order(const History& history, const std::vector<Edge>& edges) {
  const auto life = [&](uint32_t t) { return history.transactions[t].life; };
  const Edge* wrong = nullptr;  // the smallest wrong edge, because the order of `edges` varies
  for (const Edge& edge : edges) {
    if (life(edge.first) <= life(edge.second)) continue;
    if (wrong == nullptr || edge < *wrong) wrong = &edge;
  }
  if (wrong == nullptr) return "";
  return "not serializable: " + history.name(history.transactions[wrong->first]) +
         " comes before " + history.name(history.transactions[wrong->second]) + ", because " +
         why_before(history, wrong->first, wrong->second);
}

std::vector<Edge> joined(Edges edges) {
  edges.dependencies.insert(edges.dependencies.end(), edges.overwritten.begin(),
                            edges.overwritten.end());
  return std::move(edges.dependencies);
}

// Returns a cycle that has no two read-write precedences in a row, or nothing. Node 2t + 1 stands
// for transaction t after a read-write precedence, and no other such precedence leaves that node.
std::vector<uint32_t> find_cycle_without_skew(uint32_t transactions, const Edges& found) {
  std::vector<Edge> edges;
  for (const auto& [from, to] : found.dependencies) {
    edges.emplace_back(2 * from, 2 * to);
    edges.emplace_back(2 * from + 1, 2 * to);
  }
  for (const auto& [from, to] : found.overwritten) edges.emplace_back(2 * from, 2 * to + 1);
  std::vector<uint32_t> cycle = find_cycle(2 * transactions, std::move(edges));
  for (uint32_t& node : cycle) node /= 2;
  return cycle;
}

}  // namespace

SerialOrder find_serial_order(const History& history, const Versions& versions,
                              const std::function<bool(uint32_t)>& counts) {
  const size_t keys = history.keys.all(), transactions = history.transactions.size();
  Edges found = sum_of_parts(
      Edges{},
      [&](uint32_t part, uint32_t parts, Edges* sum) {
        for (size_t key = keys * part / parts; key < keys * (part + 1) / parts; ++key) {
          add_writers(versions.chain(key), sum);
        }
        for (size_t i = transactions * part / parts; i < transactions * (part + 1) / parts; ++i) {
          const auto t = static_cast<uint32_t>(i);
          if (counts(t)) add_reads(history, versions, t, sum);
        }
      },
      keys + transactions);
  SerialOrder order;
  order.edges = found.dependencies.size() + found.overwritten.size();
  for (const auto* edges : {&found.dependencies, &found.overwritten}) {
    order.violation = lives_in_order(history, *edges);
    if (!order.violation.empty()) return order;
  }
  const auto nodes = static_cast<uint32_t>(transactions);
  const std::vector<uint32_t> cycle = history.serializable
                                          ? find_cycle(nodes, joined(std::move(found)))
                                          : find_cycle_without_skew(nodes, found);
  if (!cycle.empty()) order.violation = tell(history, cycle);
  return order;
}

}  // namespace logjam::ledger
