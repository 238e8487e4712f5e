#include "proof/ledger/required.h"

#include "workloads/parallel_check.h"

namespace logjam::ledger {

std::string Required::torn() const {
  return first_violation(history_.transactions.size(), [this](size_t i) -> std::string {
    const auto t = static_cast<uint32_t>(i);
    const Access* missing = versions_.shows(t) ? versions_.missing_write(t) : nullptr;
    if (missing == nullptr) return "";
    return "R2: " + id(t) + " is torn: its write of " + key_name(versions_.present_write(t)->key) +
           " is there, its write of " + versions_.where_lost(*missing);
  });
}

std::string Required::lost_acknowledged() {
  std::string lost = first_violation(history_.transactions.size(), [this](size_t i) -> std::string {
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

std::string Required::not_closed() {
  for (uint32_t t = 0; t < members_.size(); ++t) {
    if (versions_.shows(t)) add(t);
  }
  followed_showing_ = true;
  return follow("R4: ", " is there");
}

std::string Required::follow(const std::string& rule, const char* what_seeds_are) {
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

// Requires the transaction on which `transaction` depends. Returns a violation if it is lost.
std::string Required::follow(uint32_t transaction, const Dependency& dependency,
                             const std::string& rule, const char* what_seeds_are) {
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

std::vector<Required::Dependency> Required::dependencies(uint32_t transaction) const {
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

// Returns the transaction that inserted the row which `write` erased or overwrote; 0: the initial
// load. If the history does not lead to that transaction, returns the last one to which it leads.
TransactionId Required::inserter(const Access& write) const {
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

}  // namespace logjam::ledger
