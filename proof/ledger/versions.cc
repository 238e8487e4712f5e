#include "proof/ledger/versions.h"

#include <algorithm>

#include "platform/atomic.h"
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

// Follows the versions of one key. `last` wrote the row in the database, which may say whom it
// overwrote. Threads call this for different keys at once: only this call changes the key's chain
// and the numbers of its writes, but other calls mark the same writers as showing.
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

// Checks that rows of a slot were inserted where there was none, and erased or overwritten where
// there was one.
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

}  // namespace logjam::ledger
