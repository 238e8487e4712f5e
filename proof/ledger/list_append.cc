#include "proof/ledger/list_append.h"

#include <algorithm>
#include <map>
#include <vector>

#include "platform/output_file.h"

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
      const char* const end = how_it_ended(t);
      write(end, t, operations(t, std::string_view(end) == ":ok"));
    }
    write(":invoke", count, recovered(false));
    write(":ok", count, recovered(true));
    return error_;
  }

 private:
  const char* how_it_ended(uint32_t t) const {
    if (there_[t]) return ":ok";
    if (history_.lives[history_.transactions[t].life].proves_nothing()) return ":info";
    return history_.transactions[t].acknowledged ? ":ok" : ":fail";
  }

  // Returns the number of a transaction in lists: its index, or a number after all indexes if the
  // history does not know the transaction.
  uint64_t number_of(TransactionId id) {
    const uint32_t t = history_.find(id);
    if (t != History::kNone) return t;
    return history_.transactions.size() +
           strangers_.try_emplace(id, strangers_.size()).first->second;
  }

  // Returns the key that a cell has in histories.
  Key cell(Key number) const { return history_.keys.ledger + number; }

  // Notes which transactions show in the database: the last writer of each key, and each writer
  // whose write a transaction that shows has updated. A write that was overwritten blindly does not
  // show.
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

  // Notes transactions that do not show, because they were overwritten blindly, although a
  // transaction that happened has read from them. Such a transaction wrote only cells, because a
  // write to the ledger shows.
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

  // Returns the writers of `key`, in order, up to `last`. A writer that the history does not know
  // begins the list. A write that was overwritten blindly is in the list only if its transaction
  // shows or was acknowledged. No row says whether another such write happened.
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

  // Returns the transaction's write of the key, or null.
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

  void write(const char* type, uint32_t process, const std::string& operations) {
    file_.write("{:index " + std::to_string(lines_++) + ", :type " + type + ", :process " +
                std::to_string(process) + ", :f :txn, :value [" + operations + "]}\n");
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
