#include "proof/ledger/checker.h"

#include <algorithm>
#include <cstring>

#include "proof/ledger/versions.h"
#include "workloads/parallel_check.h"

namespace logjam::ledger {
namespace {

// Finds the transactions that a database must hold, and checks that none is lost (R1, R2, R4).
//
// A transaction is *required* if one of its writes shows, if it was acknowledged and its life was
// not unsafe, or if a required transaction depends on it. A transaction depends on
//
//   - the writers of what it read, and of what it updated;
//   - the erase before its insert;
//   - the insert that made a slot's row present, if it erased or overwrote that row.
//
// It does not depend on the versions that it overwrites blindly. A required transaction is *lost*
// if one of its writes is missing.
class Required {
 public:
  Required(const History& history, const Versions& versions)
      : history_(history), versions_(versions), members_(history.transactions.size()) {}

  // Checks that transactions are recovered whole or not at all (R2).
  std::string torn() const {
    return first_violation(history_.transactions.size(), [this](size_t i) -> std::string {
      const auto t = static_cast<uint32_t>(i);
      const Access* missing = versions_.shows(t) ? versions_.missing_write(t) : nullptr;
      if (missing == nullptr) return "";
      return "R2: " + id(t) + " is torn: its write of " +
             key_name(versions_.present_write(t)->key) + " is there, its write of " +
             versions_.where_lost(*missing);
    });
  }
  // Checks that no acknowledged transaction, nor one on which it depends, is lost (R1).
  std::string lost_acknowledged() {
    std::string lost =
        first_violation(history_.transactions.size(), [this](size_t i) -> std::string {
          const auto t = static_cast<uint32_t>(i);
          const Access* missing =
              history_.transactions[t].promised ? versions_.missing_write(t) : nullptr;
          if (missing == nullptr) return "";
          return "R1: " + id(t) + " was acknowledged and is lost: its write of " +
                 versions_.where_lost(*missing);
        });
    if (!lost.empty()) return lost;
    for (uint32_t t = 0; t < members_.size(); ++t) {
      if (history_.transactions[t].promised) add(t);
    }
    followed_acknowledged_ = true;
    return follow("R1: ", " was acknowledged");
  }
  // Checks that if a transaction shows, no transaction on which it depends is lost (R4).
  std::string not_closed() {
    for (uint32_t t = 0; t < members_.size(); ++t) {
      if (versions_.shows(t)) add(t);
    }
    followed_showing_ = true;
    return follow("R4: ", " is there");
  }
  bool contains(uint32_t transaction) const {
    LJ_ASSERT(followed_acknowledged_ && followed_showing_);
    return members_[transaction].required;
  }

 private:
  // Says why a transaction is required.
  struct Member {
    bool required = false, seed = false;
    uint32_t dependent = 0;  // unless `seed`: a required transaction that depends on this member
    Key key = 0;             // the key of the write on which `dependent` depends
  };
  struct Dependency {
    Access on;  // the write of `on.key` by `on.writer`
    bool read;
  };

  void add(uint32_t transaction) {
    if (members_[transaction].required) return;
    members_[transaction] = {true, true, 0, 0};
    unfollowed_.push_back(transaction);
  }

  std::string follow(const std::string& rule, const char* what_seeds_are) {
    while (!unfollowed_.empty()) {
      const uint32_t transaction = unfollowed_.back();
      unfollowed_.pop_back();
      for (const Dependency& dependency : dependencies(transaction)) {
        std::string wrong = follow(transaction, dependency, rule, what_seeds_are);
        if (!wrong.empty()) return wrong;
      }
    }
    return "";
  }

  // Marks the transaction of `dependency` as required. Returns a violation if it is lost.
  std::string follow(uint32_t transaction, const Dependency& dependency, const std::string& rule,
                     const char* what_seeds_are) {
    const Access& on = dependency.on;
    if (on.writer == 0) return "";
    const uint32_t writer = history_.find(on.writer);
    const bool there = versions_.of(on) != Versions::kMissing;
    const Access* missing = writer == History::kNone ? nullptr : versions_.missing_write(writer);
    if (there && missing == nullptr) {
      if (!members_[writer].required) {
        members_[writer] = {true, false, transaction, on.key};
        unfollowed_.push_back(writer);
      }
      return "";
    }
    const Member& member = members_[transaction];
    std::string sentence = rule + id(transaction);
    if (member.seed) {
      sentence += what_seeds_are;
    } else {
      sentence += " must be there, for " + id(member.dependent) + " depends on its write of " +
                  key_name(member.key);
    }
    const std::string write = "the write of " + key_name(on.key) + " by " + show(on.writer) +
                              (dependency.read ? " that it read" : " that it depends on");
    if (!there) return sentence + ", but " + write + " is not";
    return sentence + ", but " + write + " is lost with that of " + versions_.where_lost(*missing);
  }

  std::vector<Dependency> dependencies(uint32_t transaction) const {
    const RecordedTransaction& t = history_.transactions[transaction];
    std::vector<Dependency> found;
    for (const Access& read : t.reads) found.push_back({read, true});
    for (const Access& write : t.writes) {
      if (reads_row(write.op)) {
        found.push_back({write, true});
      } else if (write.op == Op::kInsert) {
        found.push_back({write, false});
      } else if (history_.keys.has_slot(write.key)) {
        found.push_back({{write.key, inserter(write), write.op}, false});
      }
    }
    return found;
  }

  // Returns the transaction that inserted the row that `write` erased or overwrote; 0: the initial
  // load. If the history lacks a write between the insert and `write`, returns that write's writer.
  TransactionId inserter(const Access& write) const {
    TransactionId at = write.writer;
    for (size_t steps = 0; at != 0 && steps < history_.transactions.size(); ++steps) {
      const uint32_t writer = history_.find(at);
      const Access* below =
          writer == History::kNone ? nullptr : versions_.write_of(writer, write.key);
      if (below == nullptr || below->op == Op::kInsert || below->op == Op::kErase) break;
      at = below->writer;
    }
    return at;
  }

  std::string key_name(Key key) const { return history_.keys.name(key); }
  std::string id(uint32_t transaction) const {
    return history_.name(history_.transactions[transaction]);
  }

  const History& history_;
  const Versions& versions_;
  std::vector<Member> members_;
  std::vector<uint32_t> unfollowed_;
  bool followed_acknowledged_ = false, followed_showing_ = false;
};

class Checker {
 public:
  Checker(const LedgerRows& rows, const History& history)
      : rows_(rows),
        history_(history),
        transactions_(history.transactions),
        versions_(rows, history),
        required_(history, versions_) {}

  CheckResult run() {
    result_.recorded = transactions_.size();
    result_.unsafe = history_.unsafe;
    for (const auto& transaction : transactions_) result_.acknowledged += transaction.acknowledged;
    result_.passed = holds(sound()) && holds(check_rows(rows_, history_.keys)) &&
                     holds(versions_.walk()) && holds(required_.torn()) &&
                     holds(required_.lost_acknowledged()) && holds(required_.not_closed()) &&
                     holds(settled()) && holds(nothing_impossible_seen()) &&
                     holds(serializable()) && holds(remembered());
    result_.recovered = versions_.showing();
    return result_;
  }

 private:
  using Transaction = RecordedTransaction;

  bool holds(const std::string& violation) {
    result_.violation = violation;
    return violation.empty();
  }

  template <class ViolationOf>
  std::string first_of_transactions(const ViolationOf& violation_of) const {
    return first_violation(transactions_.size(),
                           [&](size_t t) { return violation_of(static_cast<uint32_t>(t)); });
  }

  // Checks that the history contains only accesses that the workload makes.
  std::string sound() const {
    return first_of_transactions([this](uint32_t t) -> std::string {
      const KeySpace& keys = history_.keys;
      const Transaction& transaction = transactions_[t];
      const auto wrong = [&](const Access& access, const std::string& what) {
        return "the history is damaged: " + show(transaction.id) + " accessed " +
               keys.name(access.key) + ", " + what;
      };
      for (const bool read : {true, false}) {
        for (const Access& access : read ? transaction.reads : transaction.writes) {
          if (access.key >= keys.all()) {
            return wrong(access, "but there are only " + std::to_string(keys.ledger) + " and " +
                                     std::to_string(keys.cells) + " cells");
          }
          const bool usual = read                        ? access.op == Op::kRead
                             : !keys.is_cell(access.key) ? access.op == Op::kUpdate
                             : keys.has_slot(access.key)
                                 ? access.op >= Op::kBlind && access.op <= Op::kErase
                                 : access.op == Op::kUpdate || access.op == Op::kBlind;
          if (!usual) return wrong(access, "in a way in which none is");
        }
      }
      return "";
    });
  }

  // Checks that each life that ended by itself acknowledged every recovered transaction.
  std::string settled() const {
    return first_of_transactions([this](uint32_t t) -> std::string {
      const Transaction& transaction = transactions_[t];
      if (!history_.lives[transaction.life].finished) return "";
      if (!versions_.shows(t) || transaction.acknowledged) return "";
      return "the run ended by itself, yet " + history_.name(transaction) +
             " is there and was never acknowledged";
    });
  }

  std::string nothing_impossible_seen() const {
    return first_of_transactions([this](uint32_t t) -> std::string {
      const Transaction& transaction = transactions_[t];
      if (transaction.mismatch == Mismatch::kNone || !counts(t)) return "";
      return "not serializable: " + show(transaction.id) + " committed having seen, at " +
             history_.keys.name(transaction.mismatch_key) + ", " + describe(transaction.mismatch);
    });
  }

  std::string serializable() {
    SerialOrder order =
        find_serial_order(history_, versions_, [this](uint32_t t) { return counts(t); });
    result_.edges = order.edges;
    return order.violation;
  }

  // Checks that each row's `seen` is the hash of the versions that the row's writers had read (R3).
  // If a recovery has replayed commands in a wrong order, perhaps only this check notices it.
  std::string remembered() const {
    const KeySpace& keys = history_.keys;
    return first_violation(keys.all(), [&](size_t key) -> std::string {
      const std::vector<uint32_t>& chain = versions_.chain(key);
      const bool cell = keys.is_cell(key);
      uint64_t seen = 0;
      // The hash of a cell covers only what the cell's last writer has read.
      for (size_t i = cell && !chain.empty() ? chain.size() - 1 : 0; i < chain.size(); ++i) {
        for (const Access& read : transactions_[chain[i]].reads) {
          seen = LedgerRow::remember(seen, read.key, read.writer);
        }
      }
      if (seen ==
          (cell ? rows_.cells[key - keys.ledger].second.seen : rows_.ledger[key].second.seen)) {
        return "";
      }
      const TransactionId last = chain.empty() ? 0 : transactions_[chain.back()].id;
      return "R3: " + keys.name(key) + ", last written by " + show(last) + ", is not what its " +
             (cell ? "writer" : std::to_string(chain.size()) + " writers") + " made of what " +
             (cell ? "it" : "they") + " had read";
    });
  }

  // Returns whether the transaction certainly committed: it is required, or it was acknowledged and
  // only read. An unsafe run may acknowledge such a reader too early, so it counts only if the
  // versions that it read are in the database.
  bool counts(uint32_t t) const {
    if (required_.contains(t)) return true;
    const Transaction& transaction = transactions_[t];
    return transaction.acknowledged && transaction.writes.empty() &&
           std::all_of(
               transaction.reads.begin(), transaction.reads.end(),
               [this](const Access& read) { return versions_.of(read) != Versions::kMissing; });
  }

  const LedgerRows& rows_;
  const History& history_;
  const std::vector<Transaction>& transactions_;
  Versions versions_;
  Required required_;
  CheckResult result_;
};

}  // namespace

CheckResult check(const LedgerRows& rows, const History& history) {
  if (!history.error.empty()) {
    CheckResult result;
    result.violation = history.error;
    return result;
  }
  return Checker(rows, history).run();
}

std::string CheckResult::summary() const {
  std::string line = std::to_string(recorded) + " transactions reached commit, " +
                     std::to_string(acknowledged) + " were acknowledged, " +
                     std::to_string(recovered) + " that write are there (a log has no others)";
  if (!unsafe.empty()) line += ", UNSAFE (" + unsafe + "): acknowledged ones may be missing";
  if (!passed) return line + "; VIOLATION: " + violation;
  return line + "; chains, atomicity and " + std::to_string(edges) + " precedences hold";
}

LedgerRows read_rows(Database& database) {
  LedgerRows rows;
  const auto read = [&database]<class Row>(const char* table,
                                           std::vector<std::pair<Key, Row>>* to) {
    database.table(table).for_each_row([to](Key key, const std::byte* row) {
      std::memcpy(&to->emplace_back(key, Row{}).second, row, sizeof(Row));
    });
    std::ranges::sort(*to, {}, &std::pair<Key, Row>::first);
  };
  read("ledger", &rows.ledger);
  read("entries", &rows.entries);
  read("cells", &rows.cells);
  read("slots", &rows.slots);
  return rows;
}

namespace {

std::string name(Key key) { return "ledger key " + std::to_string(key); }

std::string check_ledger(const LedgerRows& rows, uint64_t keys) {
  if (rows.ledger.size() != keys) {
    return "R1: the ledger has " + std::to_string(rows.ledger.size()) + " rows instead of " +
           std::to_string(keys);
  }
  auto entry = rows.entries.begin();
  for (Key expected = 0; expected < keys; ++expected) {
    const auto& [key, row] = rows.ledger[expected];
    if (key != expected) return "R1: " + name(expected) + " is not there";
    if (!row.intact(key)) {
      return "R2: the row of " + name(key) + ", by " + show(row.writer) + ", is torn";
    }
    const std::string who = "R2: " + name(key) + " (by " + show(row.writer) + ", toggled by " +
                            show(row.toggler) + ") ";
    const auto end = std::find_if(entry, rows.entries.end(), [&](const auto& e) {
      return ledger_key_of(e.first) != expected;
    });
    if (end - entry > 1) return who + "has " + std::to_string(end - entry) + " entries";
    if (row.present != 0 && entry == end) return who + "should have an entry and has none";
    if (row.present == 0 && entry != end) {
      return who + "should have no entry and has one, by " + show(entry->second.writer);
    }
    if (entry != end) {
      const auto& [at, value] = *entry;
      if (at != entry_key(key, row.generation) || value.writer != row.toggler) {
        return who + "has an entry that it was not written with, by " + show(value.writer);
      }
      if (!value.intact() || value.key != key) return who + "has a torn entry";
    }
    entry = end;
  }
  if (entry != rows.entries.end()) {
    return "R2: there is an entry for " + name(ledger_key_of(entry->first)) +
           ", which does not exist";
  }
  return "";
}

std::string check_cells(const LedgerRows& rows, const KeySpace& keys) {
  if (rows.cells.size() != keys.cells) {
    return "R1: there are " + std::to_string(rows.cells.size()) + " cells instead of " +
           std::to_string(keys.cells);
  }
  auto slot = rows.slots.begin();
  for (uint64_t expected = 0; expected < keys.cells; ++expected) {
    const auto& [cell, row] = rows.cells[expected];
    const std::string name = keys.name(keys.ledger + expected);
    if (cell != expected) return "R1: " + name + " is not there";
    if (!row.intact(cell))
      return "R2: the row of " + name + ", by " + show(row.writer) + ", is torn";
    const std::string who = "R2: " + name + " (by " + show(row.writer) + ") ";
    if (slot == rows.slots.end() || slot->first != cell) {
      if (row.present != 0) return who + "should have a slot's row and has none";
      continue;
    }
    const EntryRow& value = slot->second;
    if (row.present == 0)
      return who + "should have no slot's row and has one, by " + show(value.writer);
    if (value.writer != row.writer) return who + "has a slot's row by " + show(value.writer);
    if (!value.intact() || value.key != cell) return who + "has a torn slot's row";
    ++slot;
  }
  if (slot != rows.slots.end()) {
    return "R2: there is a row for slot " + std::to_string(slot->first) + ", which does not exist";
  }
  return "";
}

}  // namespace

std::string check_rows(const LedgerRows& rows, const KeySpace& keys) {
  const std::string wrong = check_ledger(rows, keys.ledger);
  return wrong.empty() ? check_cells(rows, keys) : wrong;
}

}  // namespace logjam::ledger

namespace logjam {

ledger::CheckResult check_history(Database& database, const std::string& history_path) {
  return ledger::check(ledger::read_rows(database), ledger::open_history(history_path));
}

}  // namespace logjam
