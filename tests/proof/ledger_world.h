// Hand-made histories of a small ledger.
#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proof/ledger/checker.h"
#include "tests/temporary_directory.h"

namespace logjam::ledger {

inline constexpr uint64_t kKeys = 8;
inline constexpr uint64_t kCells = 6, kSlots = 4;
// Returns the key that stands for a cell in histories.
constexpr Key cell_key(uint64_t cell) { return kKeys + cell; }

// A transaction's change of a cell, and of its slot if it has one.
struct CellChange {
  Op op;
  uint64_t cell;
};

// The fate of a transaction. kLost: the database does not have its writes. kThere: the database has
// its writes. kAcknowledged: the database has its writes, and the transaction is acknowledged.
enum Fate { kLost, kThere, kAcknowledged };

// A small database with its history. Its transactions run one after another.
class World {
 public:
  explicit World(const std::string& unsafe = "", bool serializable = true)
      : writer_(std::make_unique<HistoryWriter>(
            path_, 3, 3 * 65536,
            history_parameters(keys_, {.unsafe = unsafe, .serializable = serializable}))) {
    writer_->keep();
    for (Key key = 0; key < kKeys; ++key) {
      rows_.ledger.emplace_back(key, LedgerRow{}).second.seal(key);
    }
    for (uint64_t number = 0; number < kCells; ++number) {
      rows_.cells.emplace_back(number, CellRow{});
      const bool present = number < kSlots && number % 2 == 0;
      set_cell(number, 0, present);
      if (present) set_slot(number, 0);
    }
  }

  LedgerRow& row(Key key) { return rows_.ledger[key].second; }
  CellRow& cell(uint64_t number) { return rows_.cells[number].second; }
  TransactionId writer_of(Key key) {
    return keys_.is_cell(key) ? cell(key - kKeys).writer : row(key).writer;
  }
  LedgerRows& rows() { return rows_; }
  TransactionId id(uint32_t worker) { return make_id(worker, ++counts_[worker]); }
  HistoryWriter& history() { return *writer_; }
  // Starts another life with the present rows. The previous life has ended by itself if the test
  // has called history().record_end(); otherwise it was killed.
  void next_life() {
    const gflags::FlagSaver saver;
    gflags::SetCommandLineOption("history_mb", "1");
    writer_->record_start();
    ++lives_;
    const HistoryOrigin origin{.ordinal = lives_, .after = lives_ - 1};
    writer_ = start_life(path_, 3, history_parameters(keys_, origin)).writer;
    writer_->keep();
    writer_->record_start();
  }
  const std::string& path() const { return path_; }

  void write(Key key, TransactionId writer) {
    row(key).overwritten = row(key).writer;
    row(key).writer = writer;
    for (const Access& read : reads_[writer]) row(key).remember(read.key, read.writer);
    row(key).seal(key);
  }

  void record(const Attempt& attempt, Fate fate) {
    reads_[attempt.id] = attempt.reads;
    HistoryArea& area = writer_->area(worker_of(attempt.id));
    intend(area, attempt);
    if (fate == kAcknowledged) area.acknowledge(attempt.id);
  }

  // Records and applies a transaction that reads and overwrites the current rows.
  TransactionId run(uint32_t worker, std::initializer_list<Key> reads,
                    std::initializer_list<Key> writes, Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id(worker));
    for (const Key key : reads) attempt.reads.push_back({key, writer_of(key)});
    reads_[attempt.id] = attempt.reads;
    for (const Key key : writes) {
      attempt.writes.push_back({key, row(key).writer, Op::kUpdate});
      if (fate != kLost) write(key, attempt.id);
    }
    record(attempt, fate);
    return attempt.id;
  }

  // Records and applies a transaction that reads some keys and then changes cells.
  TransactionId change(uint32_t worker, std::initializer_list<Key> reads,
                       std::initializer_list<CellChange> changes, Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id(worker));
    for (const Key key : reads) attempt.reads.push_back({key, writer_of(key)});
    for (const auto& [op, number] : changes) {
      attempt.writes.push_back({cell_key(number), cell(number).writer, op});
    }
    record(attempt, fate);
    for (const auto& [op, number] : changes) {
      if (fate != kLost) apply(op, number, attempt.id);
    }
    return attempt.id;
  }

  // Changes a cell, and its slot if the cell has one, as if transaction `writer` had changed them.
  void apply(Op op, uint64_t number, TransactionId writer) {
    const bool slot = keys_.has_slot(cell_key(number));
    std::erase_if(rows_.slots, [&](const auto& s) { return s.first == number; });
    if (slot && op != Op::kErase) set_slot(number, writer);
    set_cell(number, writer, slot && op != Op::kErase);
  }

  // Records a transaction with the given accesses, and does not change the rows. Each write that is
  // not of a cell counts as an update.
  void record(TransactionId id, std::vector<Access> reads, std::vector<Access> writes,
              Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id);
    attempt.reads = std::move(reads);
    attempt.writes = std::move(writes);
    for (Access& write : attempt.writes) {
      if (!keys_.is_cell(write.key)) write.op = Op::kUpdate;
    }
    record(attempt, fate);
  }

  // Records a transaction of `worker` as record() does. Returns the transaction's id.
  TransactionId make(uint32_t worker, std::vector<Access> reads, std::vector<Access> writes,
                     Fate fate = kAcknowledged) {
    const TransactionId made = id(worker);
    record(made, std::move(reads), std::move(writes), fate);
    return made;
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
    rows_.entries.emplace_back(entry_key(key, now.generation), EntryRow::sealed(id, key));
  }

  CheckResult check() { return ledger::check(rows_, open_history(path_)); }

  // Expects the checker to report `sentence`. If `sentence` is empty, expects no violation.
  void expect(const std::string& sentence) {
    const CheckResult result = check();
    EXPECT_EQ(result.passed, sentence.empty());
    EXPECT_EQ(result.violation, sentence);
  }

 private:
  void set_cell(uint64_t number, TransactionId writer, bool present) {
    CellRow& now = cell(number);
    now = CellRow{};
    now.writer = writer;
    now.present = present ? 1 : 0;
    for (const Access& read : reads_[writer]) {
      now.seen = LedgerRow::remember(now.seen, read.key, read.writer);
    }
    now.seal(number);
  }
  void set_slot(uint64_t number, TransactionId writer) {
    const auto at = std::ranges::upper_bound(rows_.slots, number, {},
                                             [](const auto& slot) { return slot.first; });
    rows_.slots.insert(at, {number, EntryRow::sealed(writer, number)});
  }

  const KeySpace keys_{.ledger = kKeys, .cells = kCells, .slots = kSlots};
  TemporaryDirectory directory_;
  std::string path_ = directory_.path_of("history");
  uint32_t lives_ = 1;
  std::unique_ptr<HistoryWriter> writer_;
  LedgerRows rows_;
  std::map<TransactionId, std::vector<Access>> reads_;
  uint64_t counts_[3] = {};
};

}  // namespace logjam::ledger
