#include "proof/ledger/serial_order.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "proof/ledger/precedence.h"
#include "workloads/parallel_sum.h"

namespace logjam::ledger {
namespace {

// A part's edges, or those of all parts so far.
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
