#include "engine/recovery/dependencies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>

#include "engine/recovery/transaction_assembler.h"
#include "platform/random.h"

namespace logjam {
namespace {

struct RowId {
  uint32_t table;
  uint64_t key;
  bool operator==(const RowId&) const = default;
};
struct HashRowId {
  size_t operator()(const RowId& row) const {
    return (row.key ^ uint64_t{row.table} << 48) * platform::kGoldenRatio;
  }
};

// The bodies of one transaction, which are neighbours in the result of the assembler.
using Bodies = std::span<const BodiesToApply::Body>;

// Calls `visit` for each transaction of the log. Returns why the log cannot be read, or "".
std::string for_each_transaction(
    const LogFiles& files, const std::function<void(const LoggedTransaction&, Bodies)>& visit) {
  Cut all;
  all.bytes.assign(files.paths.size(), ~uint64_t{0});
  const RecoveryRule rule{nullptr, [](const RecordHeader&, const Cut&) { return true; }};
  for (uint32_t stream = 0; stream < files.paths.size(); ++stream) {
    LogReader reader(files, stream);
    if (!reader.error().empty()) return reader.error();
    TransactionAssembler assembler(stream, rule);
    RecordBatch batch;
    while (reader.next(&batch)) {
      const BodiesToApply ready = assembler.take(batch, all);
      Bodies left = ready.bodies;
      while (!left.empty()) {
        const uint64_t txn = left[0].record->txn;
        size_t count = 1;
        while (count < left.size() && left[count].record->txn == txn) ++count;
        visit({left[0].sequence, stream, txn}, left.first(count));
        left = left.subspan(count);
      }
    }
  }
  return "";
}

// Finds the dependencies between transactions. Add the transactions in the order of their numbers.
class EdgeFinder {
 public:
  EdgeFinder(size_t streams, LogDependencies* found)
      : found_(*found), of_stream_(streams), places_(found->transactions.size()) {}

  void add(uint64_t to, const std::vector<RowId>& rows) {
    std::map<uint64_t, uint64_t> overwritten;  // overwritten rows, by their last writer
    for (const RowId& row : rows) {
      const auto [last, first_write] = last_writers_.try_emplace(row, to);
      if (first_write || last->second == to) continue;
      ++overwritten[last->second];
      last->second = to;
    }
    Place& me = places_[to];
    for (const auto& [from, count] : overwritten) {
      const uint32_t stream = found_.transactions[from].stream;
      found_.edges.push_back({from, to, count, of_stream_[stream] - 1 - places_[from].in_stream});
      me.path = std::max(me.path, places_[from].path + 1);
    }
    me.in_stream = of_stream_[found_.transactions[to].stream]++;
    found_.longest_path = std::max(found_.longest_path, me.path);
  }

 private:
  struct Place {
    uint64_t in_stream = 0;  // earlier transactions in its stream
    uint64_t path = 1;       // transactions in the longest chain that ends here
  };

  LogDependencies& found_;
  std::vector<uint64_t> of_stream_;  // transactions of each stream so far
  std::vector<Place> places_;
  std::unordered_map<RowId, uint64_t, HashRowId> last_writers_;
};

}  // namespace

LogDependencies find_dependencies(const LogFiles& files, const LogWindow& window) {
  LogDependencies found;
  auto& order = found.transactions;
  found.error = for_each_transaction(
      files, [&](const LoggedTransaction& txn, Bodies) { order.push_back(txn); });
  if (!found.error.empty()) return found;
  std::ranges::sort(order);
  found.log_transactions = order.size();
  const uint64_t first = std::min<uint64_t>(window.first, order.size());
  const uint64_t count = std::min<uint64_t>(window.most, order.size() - first);
  order.erase(order.begin() + static_cast<int64_t>(first + count), order.end());
  order.erase(order.begin(), order.begin() + static_cast<int64_t>(first));

  std::vector<std::vector<RowId>> rows(order.size());
  found.error = for_each_transaction(files, [&](const LoggedTransaction& txn, Bodies bodies) {
    const auto at = std::ranges::lower_bound(order, txn);
    if (at == order.end() || *at != txn) return;
    for (const BodiesToApply::Body& body : bodies) {
      RecordBody writes(*body.record);
      LoggedWrite write;
      while (writes.next(&write)) {
        rows[at - order.begin()].push_back({write.header.table, write.header.key});
      }
    }
  });
  EdgeFinder edges(files.paths.size(), &found);
  for (uint64_t to = 0; to < order.size(); ++to) edges.add(to, rows[to]);
  return found;
}

}  // namespace logjam
