#include "proof/ledger/checker.h"

#include <algorithm>

#include "proof/ledger/required.h"
#include "proof/ledger/serial_order.h"
#include "proof/ledger/versions.h"
#include "workloads/violation.h"

namespace logjam::ledger {
namespace {

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

  // Checks that a life which ended by itself acknowledged every transaction that is recovered.
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

  // Checks that each row's `seen` follows from the versions that its writers had read (R3). If
  // commands are replayed in another order than in the run, this check may be the only one that
  // fails.
  std::string remembered() const {
    const KeySpace& keys = history_.keys;
    return first_violation(keys.all(), [&](size_t key) -> std::string {
      const std::vector<uint32_t>& chain = versions_.chain(key);
      const bool cell = keys.is_cell(key);
      uint64_t seen = 0;
      // A cell remembers the last writer alone.
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

  // Returns whether the transaction certainly committed: it is required, or it only read and was
  // acknowledged. An unsafe run may acknowledge a reader too early, so a reader counts only if the
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

}  // namespace logjam::ledger

namespace logjam {

ledger::CheckResult check_history(Database& database, const std::string& history_path) {
  return ledger::check(ledger::read_rows(database), ledger::open_history(history_path));
}

}  // namespace logjam
