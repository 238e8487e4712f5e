// Hand-made histories of a small ledger.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/temporary_directory.h"
#include "workloads/ledger/checker.h"

namespace logjam::ledger {

inline constexpr uint64_t kKeys = 8;

// What becomes of a transaction: its writes are not in the database; they are; they are, and the
// transaction is acknowledged.
enum Fate { kLost, kThere, kAcknowledged };

// A small database without concurrency, and the history that is recorded of it.
class World {
 public:
  explicit World(const std::string& unsafe = "")
      : writer_(path_, 3, 3 * 65536, {kKeys, unsafe, "by hand"}) {
    for (Key key = 0; key < kKeys; ++key) {
      rows_.ledger.emplace_back(key, LedgerRow{}).second.seal(key);
    }
  }

  LedgerRow& row(Key key) { return rows_.ledger[key].second; }
  LedgerRows& rows() { return rows_; }
  TransactionId id(uint32_t worker) { return make_id(worker, ++counts_[worker]); }
  HistoryWriter& history() { return writer_; }
  const std::string& path() const { return path_; }

  void write(Key key, TransactionId writer) {
    row(key).overwritten = row(key).writer;
    row(key).writer = writer;
    for (const Access& read : reads_[writer]) row(key).remember(read.key, read.writer);
    row(key).seal(key);
  }

  void record(const Attempt& attempt, Fate fate) {
    reads_[attempt.id] = attempt.reads;
    HistoryArea& area = writer_.area(worker_of(attempt.id));
    area.intend(attempt);
    if (fate == kAcknowledged) area.acknowledge(attempt.id);
  }

  // Records and applies a transaction that reads and overwrites the current rows.
  TransactionId run(uint32_t worker, std::initializer_list<Key> reads,
                    std::initializer_list<Key> writes, Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id(worker));
    for (const Key key : reads) attempt.reads.push_back({key, row(key).writer});
    reads_[attempt.id] = attempt.reads;
    for (const Key key : writes) {
      attempt.writes.push_back({key, row(key).writer});
      if (fate != kLost) write(key, attempt.id);
    }
    record(attempt, fate);
    return attempt.id;
  }

  // Records a transaction with the given accesses, and does not change the rows.
  void record(TransactionId id, std::vector<Access> reads, std::vector<Access> writes,
              Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id);
    attempt.reads = std::move(reads);
    attempt.writes = std::move(writes);
    record(attempt, fate);
  }

  void toggle(Key key, TransactionId id) {
    LedgerRow& now = row(key);
    record(id, {}, {{key, now.writer}});
    now.toggler = id;
    now.present ^= 1;
    write(key, id);
    if (now.present == 0) {
      std::erase_if(rows_.entries, [&](const auto& e) { return ledger_key_of(e.first) == key; });
      return;
    }
    EntryRow entry{id, key, 0};
    entry.seal();
    rows_.entries.emplace_back(entry_key(key, now.generation), entry);
  }

  CheckResult check() { return ledger::check(rows_, open_history(path_)); }

  void expect(const std::string& sentence) {
    const CheckResult result = check();
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.violation, sentence);
  }

 private:
  TemporaryDirectory directory_;
  std::string path_ = directory_.path_of("history");
  HistoryWriter writer_;
  LedgerRows rows_;
  std::map<TransactionId, std::vector<Access>> reads_;
  uint64_t counts_[3] = {};
};

}  // namespace logjam::ledger
