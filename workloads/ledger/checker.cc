#include "workloads/ledger/checker.h"

#include <algorithm>
#include <cstring>

#include "workloads/ledger/precedence.h"

namespace logjam::ledger {
namespace {

std::string key_name(Key key) { return "ledger key " + std::to_string(key); }

// Version v of a key is the write of chain[v - 1]; version 0 is the initial load.
constexpr uint32_t kNoVersion = ~uint32_t{0};

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

  bool known_keys() {
    for (const Transaction& transaction : transactions_) {
      for (const auto& accesses : {transaction.reads, transaction.writes}) {
        for (const Access& access : accesses) {
          if (access.key < history_.parameters.keys) continue;
          return violated("the history is damaged: " + show(transaction.id) + " accessed " +
                          key_name(access.key) + ", but there are only " +
                          std::to_string(history_.parameters.keys));
        }
      }
    }
    return true;
  }

  bool rows_alone() {
    const std::string sentence = check_rows(rows_, history_.parameters.keys);
    return sentence.empty() || violated(sentence);
  }

  // R3. Fills chains_ and versions_ (of each write, in the order of the history).
  bool walk_chains() {
    uint64_t writes = 0;
    for (const Transaction& transaction : transactions_) {
      first_write_.push_back(writes);
      writes += transaction.writes.size();
    }
    versions_.assign(writes, 0);
    recovered_.assign(transactions_.size(), false);
    chains_.resize(rows_.ledger.size());
    for (const auto& [key, row] : rows_.ledger) {
      if (!walk_chain(key, row)) return false;
    }
    result_.recovered =
        static_cast<uint64_t>(std::count(recovered_.begin(), recovered_.end(), true));
    return true;
  }

  bool walk_chain(Key key, const LedgerRow& row) {
    std::vector<uint32_t>& chain = chains_[key];
    TransactionId above = 0, id = row.writer;
    while (id != 0) {
      const std::string link = above == 0
                                   ? "R3: " + key_name(key) + " was last written by " + show(id)
                                   : "R3: in the chain of " + key_name(key) + ", " + show(above) +
                                         " overwrote " + show(id);
      const uint32_t writer = history_.find(id);
      if (writer == History::kNone) return violated(link + ", which the history does not know");
      const size_t write = find_write(writer, key);
      if (write == kNoWrite) return violated(link + ", which never wrote that key");
      if (versions_[write] != 0) return violated(link + ", which is in that chain already: a loop");
      versions_[write] = kNoVersion;  // visited; numbered below
      recovered_[writer] = true;
      chain.push_back(writer);
      above = id;
      id = access_of(writer, write).writer;
      if (chain.size() == 1 && id != row.overwritten) {
        return violated("R3: " + key_name(key) + " says that " + show(row.writer) + " overwrote " +
                        show(row.overwritten) + ", but it recorded that it overwrote " + show(id));
      }
    }
    std::reverse(chain.begin(), chain.end());
    for (uint32_t i = 0; i < chain.size(); ++i) versions_[find_write(chain[i], key)] = i + 1;
    return true;
  }

  // R2.
  bool atomic() {
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      if (!recovered_[t]) continue;
      const Transaction& transaction = transactions_[t];
      for (size_t i = 0; i < transaction.writes.size(); ++i) {
        if (versions_[first_write_[t] + i] != 0) continue;
        const Key there = first_key_there(t);
        return violated("R2: " + show(transaction.id) + " is torn: its write of " +
                        key_name(there) + " is there, its write of " +
                        where_lost(transaction.writes[i]));
      }
    }
    return true;
  }

  // R1.
  bool acknowledged_is_there() {
    if (!result_.unsafe.empty()) return true;
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      const Transaction& transaction = transactions_[t];
      if (!transaction.acknowledged) continue;
      if (!transaction.writes.empty() && !recovered_[t]) {
        return violated("R1: " + show(transaction.id) +
                        " was acknowledged and is lost: its write of " +
                        where_lost(transaction.writes[0]));
      }
      if (!reads_are_there("R1: " + show(transaction.id) + " was acknowledged", t)) return false;
    }
    return true;
  }

  // R4.
  bool closed() {
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      if (recovered_[t] && !reads_are_there("R4: " + show(transactions_[t].id) + " is there", t)) {
        return false;
      }
    }
    return true;
  }

  bool reads_are_there(const std::string& who, uint32_t t) {
    for (const Access& read : transactions_[t].reads) {
      if (version_of(read) != kNoVersion) continue;
      return violated(who + ", but the write of " + key_name(read.key) + " by " +
                      show(read.writer) + " that it read is not");
    }
    return true;
  }

  // A run that ended by itself has acknowledged whatever it committed.
  bool settled() {
    if (!history_.finished) return true;
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      if (recovered_[t] && !transactions_[t].acknowledged) {
        return violated("the run ended by itself, yet " + show(transactions_[t].id) +
                        " is there and was never acknowledged");
      }
    }
    return true;
  }

  bool nothing_impossible_seen() {
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      const Transaction& transaction = transactions_[t];
      if (transaction.mismatch == Mismatch::kNone || !counts(t)) continue;
      return violated("not serializable: " + show(transaction.id) + " committed having seen, at " +
                      key_name(transaction.mismatch_key) + ", " + describe(transaction.mismatch));
    }
    return true;
  }

  bool serializable() {
    readers_.resize(chains_.size());
    for (Key key = 0; key < chains_.size(); ++key) readers_[key].resize(chains_[key].size() + 1);
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      if (!counts(t)) continue;
      for (const Access& read : transactions_[t].reads) {
        readers_[read.key][version_of(read)].push_back(t);
      }
    }
    std::vector<Edge> edges;
    for (Key key = 0; key < chains_.size(); ++key) add_edges(key, &edges);
    result_.edges = edges.size();
    const std::vector<uint32_t> cycle =
        find_cycle(static_cast<uint32_t>(transactions_.size()), std::move(edges));
    return cycle.empty() || violated(tell(cycle));
  }

  // Whoever contradicts this, no row that is there does, and no precedence of the run: it was not
  // replayed as it was run.
  bool remembered() {
    for (const auto& [key, row] : rows_.ledger) {
      uint64_t seen = 0;
      for (const uint32_t writer : chains_[key]) {
        for (const Access& read : transactions_[writer].reads) {
          seen = LedgerRow::remember(seen, read.key, read.writer);
        }
      }
      if (seen == row.seen) continue;
      return violated("R3: " + key_name(key) + ", last written by " + show(row.writer) +
                      ", is not what its " + std::to_string(chains_[key].size()) +
                      " writers made of what they had read");
    }
    return true;
  }

  void add_edges(Key key, std::vector<Edge>* edges) const {
    const std::vector<uint32_t>& chain = chains_[key];
    for (uint32_t version = 0; version <= chain.size(); ++version) {
      const uint32_t writer = version == 0 ? kNoVersion : chain[version - 1];
      const uint32_t next = version < chain.size() ? chain[version] : kNoVersion;
      if (version != 0 && next != kNoVersion) edges->emplace_back(writer, next);
      for (const uint32_t reader : readers_[key][version]) {
        if (version != 0 && reader != writer) edges->emplace_back(writer, reader);
        if (next != kNoVersion && reader != next) edges->emplace_back(reader, next);
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

  // The reason for an edge, found again.
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

  // Whether it certainly committed, as far as one can tell: is there, or was acknowledged. A reader
  // that was acknowledged too early by an unsafe run counts if what it read is there.
  bool counts(uint32_t t) const {
    if (recovered_[t]) return true;
    const Transaction& transaction = transactions_[t];
    return transaction.acknowledged && transaction.writes.empty() &&
           std::all_of(transaction.reads.begin(), transaction.reads.end(),
                       [this](const Access& read) { return version_of(read) != kNoVersion; });
  }

  // "ledger key 7 over 0:12 is not (fork: 1:3 overwrote that too)"
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

  // Of the key, the version that `access` saw; kNoVersion if that is not there.
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

  std::vector<uint64_t> first_write_;  // of each transaction, its first index in versions_
  std::vector<uint32_t> versions_;     // of each write; 0: not there
  std::vector<bool> recovered_;
  std::vector<std::vector<uint32_t>> chains_;                // by key
  std::vector<std::vector<std::vector<uint32_t>>> readers_;  // by key and version
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
    const auto end = std::find_if(entry, rows.entries.end(),
                                  [&](const auto& e) { return ledger_key_of(e.first) != key; });
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
