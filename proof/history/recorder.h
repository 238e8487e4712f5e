// A client around another client. It records in a history what the other client's transactions
// write and which of them are acknowledged. Without --history there is no such client.
//
// An entry's payload is written when its transaction is about to commit. The entry is intended at
// the serialization point, where its transaction is sure to commit, so no entry is ever retracted.
// Transactions that write nothing have no entry. A counter for each type counts all that are
// acknowledged.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/workload.h"
#include "proof/history/file.h"
#include "proof/history/writes.h"

namespace logjam::write_history {

// Forwards a client's calls to a transaction, and notes what they change.
class RecordingTransaction final : public Transaction {
 public:
  // Forgets the previous attempt. Later calls go to `transaction`.
  void begin(Transaction& transaction) {
    transaction_ = &transaction;
    changes_.clear();
  }
  size_t changes() const { return changes_.size(); }
  // Writes a RecordedWrite without its order to `to` for each change. Called when the attempt has
  // made all its changes and has not ended yet.
  void describe(RecordedWrite* to) const;

  using Transaction::insert;
  using Transaction::read;
  using Transaction::read_head;
  using Transaction::update;
  Status read(Table& table, Key key, const std::byte** row) override {
    return transaction_->read(table, key, row);
  }
  Status read_head(Table& table, Key key, uint32_t bytes, const std::byte** row) override {
    return transaction_->read_head(table, key, bytes, row);
  }
  Status update(Table& table, Key key, std::byte** row) override;
  Status write(Table& table, Key key, std::byte** row) override;
  Status insert(Table& table, Key key, const std::byte* row) override;
  Status erase(Table& table, Key key) override;
  Status scan(Table& table, Key low, Key high, bool descending, const RowVisitor& visit) override {
    return transaction_->scan(table, low, high, descending, visit);
  }
  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) override {
    return transaction_->scan_secondary(table, which, low, high, descending, visit);
  }
  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) override {
    return transaction_->read_secondary(table, which, key, visit);
  }
  Status read_secondary_head(Table& table, size_t which, Key key, uint32_t bytes,
                             const RowVisitor& visit) override {
    return transaction_->read_secondary_head(table, which, key, bytes, visit);
  }

 private:
  struct Change {
    Table* table;
    Key key;
    const std::byte* row;  // the transaction's copy, which the client still changes; null: `after`
    RowHash before, after;
  };
  void note_copy(Table& table, Key key, const std::byte* row, RowHash before);

  Transaction* transaction_ = nullptr;
  std::vector<Change> changes_;
};

// Called by its worker's thread only.
class RecordingClient final : public Client, private CommitObserver {
 public:
  // `history` and `order` outlive the client. `history` has a counter for each type. `count` is the
  // count in the worker's last id in earlier lives, or 0.
  RecordingClient(std::unique_ptr<Client> client, HistoryWriter& history, RowOrder& order,
                  uint32_t worker, uint64_t count);

  uint32_t next() override;
  Status execute(Transaction& txn) override;
  std::span<const std::byte> command() override { return client_->command(); }
  bool take(uint32_t type, std::span<const std::byte> input) override {
    return client_->take(type, input);
  }
  uint64_t committing() override;
  void acknowledged(uint64_t number) override;
  CommitObserver* commit_observer() override { return this; }
  bool exhausted() const override;

  // Returns whether a worker's part of the history has no room for one more transaction.
  static bool is_full(const HistoryArea& area);

 private:
  // A transaction that is committing, or has committed and is not acknowledged.
  struct Pending {
    TransactionId id;
    uint64_t number;  // of the other client
    uint32_t type;
    bool intended = false;  // has an entry
  };

  void serialized() override;

  const std::unique_ptr<Client> client_;
  HistoryWriter& history_;
  HistoryArea& area_;
  RowOrder& order_;
  const uint32_t worker_;
  const uint64_t die_after_;  // --test=history_die_after
  RecordingTransaction transaction_;
  std::deque<Pending> pending_;
  bool committing_ = false;  // the last attempt reached its commit, and may yet be aborted
  uint64_t count_;           // of attempts that reached their commit
  uint64_t acknowledgements_ = 0;
  uint32_t type_ = 0;
};

}  // namespace logjam::write_history
