// The ledger's history in the form of Elle's list-append histories, for public checkers: Kingsbury
// and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.
//
// The row of a key stands for a list. Each write appends the number of its transaction, so the
// version that a transaction saw is the list of all writes up to that version. An update reads the
// row that it overwrites, so it becomes a read, an append, and a read of its own result. A cell is
// a list too. A blind write, an insert or an erase becomes an append.
//
// The file has an EDN map on each line. The real-time order of transactions is unknown, so each
// transaction is a process of its own, and all begin before the first one ends. The recovered
// database is a further transaction, which reads all keys. It begins after all other transactions
// have ended, so a checker of strict serializability demands that it sees all acknowledged
// transactions (R1). A transaction ends with:
//
//   :ok    it was acknowledged, or one of its writes is in the recovered database
//   :fail  it was not acknowledged, and none of its writes is in the recovered database; no other
//          transaction may have read from it
//   :info  none of its writes is in the recovered database, and the acknowledgements of its life
//          prove nothing (R8), so it may be lost
//
// The export shares no code with the checker.
#include <algorithm>
#include <map>
#include <vector>

#include "platform/output_file.h"
#include "proof/ledger/checker.h"

namespace logjam::ledger {
namespace {

class Exporter {
 public:
  Exporter(const LedgerRows& rows, const History& history, const std::string& path)
      : rows_(rows), history_(history), file_(path), there_(history.transactions.size()) {}

  std::string run() {
    for (const auto& [key, row] : rows_.ledger) note_what_shows(key, row.writer);
    for (const auto& [number, row] : rows_.cells) note_what_shows(cell(number), row.writer);
    note_what_was_read();
    const auto count = static_cast<uint32_t>(history_.transactions.size());
    for (uint32_t t = 0; t < count; ++t) write(":invoke", t, operations(t, false));
    for (uint32_t t = 0; t < count; ++t) {
      const std::string_view end = how_it_ended(t);
      write(end, t, operations(t, end == ":ok"));
    }
    write(":invoke", count, recovered(false));
    write(":ok", count, recovered(true));
    return error_;
  }

 private:
  std::string_view how_it_ended(uint32_t t) const {
    if (there_[t]) return ":ok";
    if (history_.lives[history_.transactions[t].life].proves_nothing()) return ":info";
    return history_.transactions[t].acknowledged ? ":ok" : ":fail";
  }

  // Returns the number of a transaction in lists: its index in the history. A transaction that the
  // history does not know gets a number after all indexes.
  uint64_t number_of(TransactionId id) {
    const uint32_t t = history_.find(id);
    if (t != History::kNone) return t;
    return history_.transactions.size() +
           strangers_.try_emplace(id, strangers_.size()).first->second;
  }

  Key cell(Key number) const { return history_.keys.ledger + number; }

  // Notes the transactions that show because of `key`: the last writer of `key`, and each writer
  // whose write a noted transaction has updated. Blindly overwritten writes do not show.
  void note_what_shows(Key key, TransactionId last) {
    steps_ = 0;
    for (TransactionId id = last; id != 0;) {
      const uint32_t t = history_.find(id);
      if (t == History::kNone) return;
      there_[t] = true;
      const Access* write = write_of(t, key);
      if (write == nullptr || !reads_row(write->op) || !in_a_line(key)) return;
      id = write->writer;
    }
  }

  // Notes further transactions that happened. Their writes were overwritten blindly, so they do not
  // show, but a transaction that happened has read one of these writes. They wrote only cells,
  // because a write to the ledger shows.
  void note_what_was_read() {
    std::vector<uint32_t> left;
    for (uint32_t t = 0; t < there_.size(); ++t) {
      if (there_[t] || history_.transactions[t].acknowledged) left.push_back(t);
    }
    const auto note = [&](const Access& access) {
      if (!reads_row(access.op)) return;
      const uint32_t from = history_.find(access.writer);
      if (from == History::kNone || there_[from] || !wrote_cells_alone(from)) return;
      there_[from] = true;
      left.push_back(from);
    };
    while (!left.empty()) {
      const RecordedTransaction& transaction = history_.transactions[left.back()];
      left.pop_back();
      std::ranges::for_each(transaction.reads, note);
      std::ranges::for_each(transaction.writes, note);
    }
  }
  bool wrote_cells_alone(uint32_t t) const {
    return std::ranges::all_of(history_.transactions[t].writes, [this](const Access& write) {
      return history_.keys.is_cell(write.key);
    });
  }

  // Returns the writers of `key`, in order, up to `last`. If the history does not know a writer,
  // the list begins with this writer. A blindly overwritten write is in the list only if its
  // transaction shows or was acknowledged. No row says whether other such transactions happened.
  std::vector<TransactionId> list_up_to(Key key, TransactionId last) {
    std::vector<TransactionId> list;
    steps_ = 0;
    bool happened = true;
    for (TransactionId id = last; id != 0 && in_a_line(key);) {
      const uint32_t t = history_.find(id);
      const bool known = t != History::kNone;
      if (happened || (known && (there_[t] || history_.transactions[t].acknowledged))) {
        list.push_back(id);
      }
      const Access* write = known ? write_of(t, key) : nullptr;
      if (write == nullptr || write->writer == kNotYet) break;
      happened = reads_row(write->op);
      id = write->writer;
    }
    std::reverse(list.begin(), list.end());
    return list;
  }

  // Counts a step of the walk along the writes of `key`. Returns false if the walk goes round in a
  // circle: it has made more steps than there are transactions.
  bool in_a_line(Key key) {
    if (++steps_ <= history_.transactions.size() + 2) return true;
    error_ = "the history cannot be exported: the writes of " + history_.keys.name(key) +
             " overwrite each other in a circle";
    return false;
  }

  const Access* write_of(uint32_t t, Key key) const {
    const auto& writes = history_.transactions[t].writes;
    const auto found = std::ranges::find(writes, key, &Access::key);
    return found == writes.end() ? nullptr : &*found;
  }

  // Returns "[:r key [list]]"; without `seen`, when the read's result is unknown, "[:r key nil]".
  std::string read(Key key, TransactionId last, bool seen) {
    std::string text = "[:r " + std::to_string(key) + " ";
    if (!seen) return text + "nil]";
    text += '[';
    for (const TransactionId id : list_up_to(key, last)) {
      if (text.back() != '[') text += ' ';
      text += std::to_string(number_of(id));
    }
    return text + "]]";
  }

  std::string operations(uint32_t t, bool seen) {
    const RecordedTransaction& transaction = history_.transactions[t];
    std::string text;
    for (const Access& access : transaction.reads) text += read(access.key, access.writer, seen);
    for (const Access& access : transaction.writes) {
      const bool blind = !reads_row(access.op);
      if (!blind) text += read(access.key, access.writer, seen);
      text += "[:append " + std::to_string(access.key) + " " + std::to_string(t) + "]";
      if (!blind) text += read(access.key, transaction.id, seen);
    }
    return text;
  }

  std::string recovered(bool seen) {
    std::string text;
    for (const auto& [key, row] : rows_.ledger) text += read(key, row.writer, seen);
    for (const auto& [number, row] : rows_.cells) text += read(cell(number), row.writer, seen);
    return text;
  }

  void write(std::string_view type, uint32_t process, const std::string& operations) {
    file_.write("{:index " + std::to_string(lines_++) + ", :type " + std::string(type) +
                ", :process " + std::to_string(process) + ", :f :txn, :value [" + operations +
                "]}\n");
  }

  const LedgerRows& rows_;
  const History& history_;
  platform::OutputFile file_;
  std::vector<bool> there_;  // by transaction: one of its writes is in the database
  std::map<TransactionId, uint64_t> strangers_;
  uint64_t steps_ = 0;
  uint64_t lines_ = 0;
  std::string error_;
};

}  // namespace

std::string export_list_append(const LedgerRows& rows, const History& history,
                               const std::string& path) {
  if (!history.error.empty()) return history.error;
  return Exporter(rows, history, path).run();
}

}  // namespace logjam::ledger
