#include "workloads/ledger/checker.h"

#include <algorithm>
#include <cstring>

#include "platform/atomic.h"
#include "workloads/common.h"
#include "workloads/ledger/precedence.h"

namespace logjam::ledger {
namespace {

std::string key_name(Key key) { return "ledger key " + std::to_string(key); }

// Version v of a key is the write of chain[v - 1]; version 0 is the initial load.
constexpr uint32_t kNoVersion = ~uint32_t{0};

// A part's edges, or those of all parts so far.
struct Edges {
  std::vector<Edge> edges;
  void add(const Edges& more) { edges.insert(edges.end(), more.edges.begin(), more.edges.end()); }
};

// What a part found, or the first part that found something.
struct Violation {
  std::string sentence;
  void add(const Violation& later) {
    if (sentence.empty()) sentence = later.sentence;
  }
};

// Transactions, and keys, are checked in parts, on all cores. Of a violation in each of several
// parts the first part's is told, so that it is always the same one.
class Checker {
 public:
  Checker(const LedgerRows& rows, const History& history)
      : rows_(rows), history_(history), transactions_(history.transactions) {}

  CheckResult run() {
    result_.recorded = transactions_.size();
    result_.unsafe = history_.finished ? "" : history_.parameters.unsafe;
    for (const auto& transaction : transactions_) result_.acknowledged += transaction.acknowledged;
    result_.passed = known_keys() && rows_alone() && walk_chains() && atomic() &&
                     acknowledged_is_there() && closed() && settled() &&
                     nothing_impossible_seen() && serializable() && remembered();
    return result_;
  }

 private:
  using Transaction = RecordedTransaction;

  bool violated(const std::string& sentence) {
    result_.violation = sentence;
    return false;
  }

  // Whether violation_of(i), a sentence, is empty for each i below `count`. It is called by several
  // threads at once.
  template <class ViolationOf>
  bool none(size_t count, const ViolationOf& violation_of) {
    const auto look = [&](uint32_t part, uint32_t parts, Violation* found) {
      const size_t end = count * (part + 1) / parts;
      for (size_t i = count * part / parts; i < end && found->sentence.empty(); ++i) {
        found->sentence = violation_of(i);
      }
    };
    const Violation first = sum_of_parts(Violation{}, look, count);
    return first.sentence.empty() || violated(first.sentence);
  }
  template <class ViolationOf>
  bool no_transaction(const ViolationOf& violation_of) {
    return none(transactions_.size(),
                [&](size_t t) { return violation_of(static_cast<uint32_t>(t)); });
  }

  bool known_keys() {
    return no_transaction([this](uint32_t t) -> std::string {
      const Transaction& transaction = transactions_[t];
      for (const auto& accesses : {transaction.reads, transaction.writes}) {
        for (const Access& access : accesses) {
          if (access.key < history_.parameters.keys) continue;
          return "the history is damaged: " + show(transaction.id) + " accessed " +
                 key_name(access.key) + ", but there are only " +
                 std::to_string(history_.parameters.keys);
        }
      }
      return "";
    });
  }

  bool rows_alone() {
    const std::string sentence = check_rows(rows_, history_.parameters.keys);
    return sentence.empty() || violated(sentence);
  }

  // Checks that chains are unbroken (R3). Fills chains_, and versions_ for each write in the order
  // of the history.
  bool walk_chains() {
    uint64_t writes = 0;
    for (const Transaction& transaction : transactions_) {
      first_write_.push_back(writes);
      writes += transaction.writes.size();
    }
    versions_.assign(writes, 0);
    recovered_.assign(transactions_.size(), 0);
    chains_.resize(rows_.ledger.size());
    const bool good = none(rows_.ledger.size(), [this](size_t i) {
      return walk_chain(rows_.ledger[i].first, rows_.ledger[i].second);
    });
    if (!good) return false;
    result_.recovered = static_cast<uint64_t>(std::count(recovered_.begin(), recovered_.end(), 1));
    return true;
  }

  // A key's chain and the versions of its writes are this call's alone. Its writers are not: they
  // wrote other keys too.
  std::string walk_chain(Key key, const LedgerRow& row) {
    std::vector<uint32_t>& chain = chains_[key];
    TransactionId above = 0, id = row.writer;
    while (id != 0) {
      const std::string link = above == 0
                                   ? "R3: " + key_name(key) + " was last written by " + show(id)
                                   : "R3: in the chain of " + key_name(key) + ", " + show(above) +
                                         " overwrote " + show(id);
      const uint32_t writer = history_.find(id);
      if (writer == History::kNone) return link + ", which the history does not know";
      const size_t write = find_write(writer, key);
      if (write == kNoWrite) return link + ", which never wrote that key";
      if (versions_[write] != 0) return link + ", which is in that chain already: a loop";
      versions_[write] = kNoVersion;  // visited; numbered below
      platform::atomic_ref<uint8_t>(recovered_[writer]).store(1, platform::memory_order_relaxed);
      chain.push_back(writer);
      above = id;
      id = access_of(writer, write).writer;
      if (chain.size() == 1 && id != row.overwritten) {
        return "R3: " + key_name(key) + " says that " + show(row.writer) + " overwrote " +
               show(row.overwritten) + ", but it recorded that it overwrote " + show(id);
      }
    }
    std::reverse(chain.begin(), chain.end());
    for (uint32_t i = 0; i < chain.size(); ++i) versions_[find_write(chain[i], key)] = i + 1;
    return "";
  }

  // Checks that transactions are recovered whole or not at all (R2).
  bool atomic() {
    return no_transaction([this](uint32_t t) -> std::string {
      if (!recovered_[t]) return "";
      const Transaction& transaction = transactions_[t];
      for (size_t i = 0; i < transaction.writes.size(); ++i) {
        if (versions_[first_write_[t] + i] != 0) continue;
        return "R2: " + show(transaction.id) + " is torn: its write of " +
               key_name(first_key_there(t)) + " is there, its write of " +
               where_lost(transaction.writes[i]);
      }
      return "";
    });
  }

  // Checks that no acknowledged transaction is lost (R1), unless the run was allowed to lose some.
  bool acknowledged_is_there() {
    if (!result_.unsafe.empty()) return true;
    return no_transaction([this](uint32_t t) -> std::string {
      const Transaction& transaction = transactions_[t];
      if (!transaction.acknowledged) return "";
      if (!transaction.writes.empty() && !recovered_[t]) {
        return "R1: " + show(transaction.id) + " was acknowledged and is lost: its write of " +
               where_lost(transaction.writes[0]);
      }
      return missing_read("R1: ", t, " was acknowledged");
    });
  }

  // Checks that recovered transactions read only what is in the database (R4).
  bool closed() {
    return no_transaction([this](uint32_t t) -> std::string {
      return recovered_[t] ? missing_read("R4: ", t, " is there") : "";
    });
  }

  std::string missing_read(const char* rule, uint32_t t, const char* what) const {
    for (const Access& read : transactions_[t].reads) {
      if (version_of(read) != kNoVersion) continue;
      return rule + show(transactions_[t].id) + what + ", but the write of " + key_name(read.key) +
             " by " + show(read.writer) + " that it read is not";
    }
    return "";
  }

  // Checks that a run which ended by itself acknowledged every transaction that is recovered.
  bool settled() {
    if (!history_.finished) return true;
    return no_transaction([this](uint32_t t) -> std::string {
      if (!recovered_[t] || transactions_[t].acknowledged) return "";
      return "the run ended by itself, yet " + show(transactions_[t].id) +
             " is there and was never acknowledged";
    });
  }

  bool nothing_impossible_seen() {
    return no_transaction([this](uint32_t t) -> std::string {
      const Transaction& transaction = transactions_[t];
      if (transaction.mismatch == Mismatch::kNone || !counts(t)) return "";
      return "not serializable: " + show(transaction.id) + " committed having seen, at " +
             key_name(transaction.mismatch_key) + ", " + describe(transaction.mismatch);
    });
  }

  bool serializable() {
    Edges found = sum_of_parts(
        Edges{},
        [this](uint32_t part, uint32_t parts, Edges* sum) {
          const size_t keys = chains_.size(), transactions = transactions_.size();
          for (size_t key = keys * part / parts; key < keys * (part + 1) / parts; ++key) {
            add_writers(chains_[key], &sum->edges);
          }
          for (size_t t = transactions * part / parts; t < transactions * (part + 1) / parts; ++t) {
            add_reads(static_cast<uint32_t>(t), &sum->edges);
          }
        },
        chains_.size() + transactions_.size());
    result_.edges = found.edges.size();
    const std::vector<uint32_t> cycle =
        find_cycle(static_cast<uint32_t>(transactions_.size()), std::move(found.edges));
    return cycle.empty() || violated(tell(cycle));
  }

  // Checks that each row's `seen` follows from what its writers had read (R3). If commands are
  // replayed in another order than they ran, all other checks may pass, and only this one fails.
  bool remembered() {
    return none(rows_.ledger.size(), [this](size_t i) -> std::string {
      const auto& [key, row] = rows_.ledger[i];
      uint64_t seen = 0;
      for (const uint32_t writer : chains_[key]) {
        for (const Access& read : transactions_[writer].reads) {
          seen = LedgerRow::remember(seen, read.key, read.writer);
        }
      }
      if (seen == row.seen) return "";
      return "R3: " + key_name(key) + ", last written by " + show(row.writer) +
             ", is not what its " + std::to_string(chains_[key].size()) +
             " writers made of what they had read";
    });
  }

  // Each writer of a key comes before the next.
  static void add_writers(const std::vector<uint32_t>& chain, std::vector<Edge>* edges) {
    for (size_t i = 0; i + 1 < chain.size(); ++i) edges->emplace_back(chain[i], chain[i + 1]);
  }

  // A reader comes after the writer of the version that it read, and before the next version's.
  void add_reads(uint32_t reader, std::vector<Edge>* edges) const {
    if (!counts(reader)) return;
    for (const Access& read : transactions_[reader].reads) {
      const uint32_t version = version_of(read);
      const std::vector<uint32_t>& chain = chains_[read.key];
      if (version != 0 && chain[version - 1] != reader) {
        edges->emplace_back(chain[version - 1], reader);
      }
      if (version < chain.size() && chain[version] != reader) {
        edges->emplace_back(reader, chain[version]);
      }
    }
  }

  std::string tell(const std::vector<uint32_t>& cycle) const {
    constexpr size_t kShown = 8;
    std::string sentence =
        "not serializable: a cycle of " + std::to_string(cycle.size()) + " transactions: ";
    for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
      const uint32_t from = cycle[i], to = cycle[(i + 1) % cycle.size()];
      if (i != 0) sentence += ", ";
      sentence += why_before(from, to);
    }
    if (cycle.size() > kShown) sentence += ", ...";
    return sentence;
  }

  // The reason for the edge between two transactions, as a sentence.
  std::string why_before(uint32_t from, uint32_t to) const {
    const std::string a = show(transactions_[from].id), b = show(transactions_[to].id);
    for (const Access& write : transactions_[to].writes) {
      if (write.writer == transactions_[from].id) {
        return b + " overwrote " + a + " at " + key_name(write.key);
      }
    }
    for (const Access& read : transactions_[to].reads) {
      if (read.writer == transactions_[from].id)
        return b + " read " + a + " at " + key_name(read.key);
    }
    for (const Access& read : transactions_[from].reads) {
      for (const Access& write : transactions_[to].writes) {
        if (read.key == write.key && read.writer == write.writer) {
          return b + " overwrote what " + a + " had read at " + key_name(read.key);
        }
      }
    }
    return a + " came before " + b;
  }

  // Whether the transaction certainly committed: it is recovered, or it only read and was
  // acknowledged. An unsafe run may acknowledge a reader too early, so a reader counts only if what
  // it read is in the database.
  bool counts(uint32_t t) const {
    if (recovered_[t]) return true;
    const Transaction& transaction = transactions_[t];
    return transaction.acknowledged && transaction.writes.empty() &&
           std::all_of(transaction.reads.begin(), transaction.reads.end(),
                       [this](const Access& read) { return version_of(read) != kNoVersion; });
  }

  // For example "ledger key 7 over 0:12 is not there, 1:3 overwrote the same (fork)".
  std::string where_lost(const Access& write) const {
    std::string sentence = key_name(write.key) + " over " + show(write.writer) + " is not there";
    const uint32_t version = version_of(write);
    if (version == kNoVersion) return sentence;
    const std::vector<uint32_t>& chain = chains_[write.key];
    if (version == chain.size()) return sentence + ", " + show(write.writer) + " wrote last";
    return sentence + ", " + show(transactions_[chain[version]].id) + " overwrote the same (fork)";
  }

  Key first_key_there(uint32_t t) const {
    for (size_t i = 0; i < transactions_[t].writes.size(); ++i) {
      if (versions_[first_write_[t] + i] != 0) return transactions_[t].writes[i].key;
    }
    return 0;
  }

  static constexpr size_t kNoWrite = ~size_t{0};
  // Index in versions_ of a transaction's write of `key`.
  size_t find_write(uint32_t transaction, Key key) const {
    const auto& writes = transactions_[transaction].writes;
    for (size_t i = 0; i < writes.size(); ++i) {
      if (writes[i].key == key) return first_write_[transaction] + i;
    }
    return kNoWrite;
  }
  const Access& access_of(uint32_t transaction, size_t write) const {
    return transactions_[transaction].writes[write - first_write_[transaction]];
  }

  // The version of the key that the access saw, or kNoVersion if the database does not hold it.
  uint32_t version_of(const Access& access) const {
    if (access.writer == 0) return 0;
    const uint32_t writer = history_.find(access.writer);
    if (writer == History::kNone) return kNoVersion;
    const size_t write = find_write(writer, access.key);
    if (write == kNoWrite || versions_[write] == 0) return kNoVersion;
    return versions_[write];
  }

  const LedgerRows& rows_;
  const History& history_;
  const std::vector<Transaction>& transactions_;
  CheckResult result_;

  std::vector<uint64_t> first_write_;          // of each transaction, its first index in versions_
  std::vector<uint32_t> versions_;             // of each write; 0: not there
  std::vector<uint8_t> recovered_;             // of each transaction: 1, or 0
  std::vector<std::vector<uint32_t>> chains_;  // by key
};

}  // namespace

LedgerRows read_rows(Database& database) {
  LedgerRows rows;
  database.table("ledger").for_each_row([&](Key key, const std::byte* row) {
    std::memcpy(&rows.ledger.emplace_back(key, LedgerRow{}).second, row, sizeof(LedgerRow));
  });
  database.table("entries").for_each_row([&](Key key, const std::byte* row) {
    std::memcpy(&rows.entries.emplace_back(key, EntryRow{}).second, row, sizeof(EntryRow));
  });
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(rows.ledger.begin(), rows.ledger.end(), by_key);
  std::sort(rows.entries.begin(), rows.entries.end(), by_key);
  return rows;
}

std::string check_rows(const LedgerRows& rows, uint64_t keys) {
  if (rows.ledger.size() != keys) {
    return "R1: the ledger has " + std::to_string(rows.ledger.size()) + " rows instead of " +
           std::to_string(keys);
  }
  auto entry = rows.entries.begin();
  for (Key expected = 0; expected < keys; ++expected) {
    const auto& [key, row] = rows.ledger[expected];
    if (key != expected) return "R1: " + key_name(expected) + " is not there";
    if (!row.intact(key)) {
      return "R2: the row of " + key_name(key) + ", by " + show(row.writer) + ", is torn";
    }
    const std::string who = "R2: " + key_name(key) + " (by " + show(row.writer) + ", toggled by " +
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
    return "R2: there is an entry for " + key_name(ledger_key_of(entry->first)) +
           ", which does not exist";
  }
  return "";
}

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
                     std::to_string(recovered) + " writers are there";
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
