// The view that a client has of a transaction that runs before earlier ones have committed.
#pragma once

#include "engine/transaction.h"

namespace logjam {

// A client may know that a row exists, because the run had inserted it before, and end the process
// if the row is missing. Here a missing row only means that its insert commits later. So a missing
// row, or a row that is in the way of an insert, aborts this attempt. One thread uses the object.
class SpeculativeTransaction final : public Transaction {
 public:
  explicit SpeculativeTransaction(Transaction& txn) : txn_(txn) {}

  using Transaction::insert;
  using Transaction::read;
  using Transaction::update;
  Status read(Table& table, Key key, const std::byte** row) override {
    return as_expected(txn_.read(table, key, row));
  }
  Status update(Table& table, Key key, std::byte** row) override {
    return as_expected(txn_.update(table, key, row));
  }
  Status write(Table& table, Key key, std::byte** row) override {
    return as_expected(txn_.write(table, key, row));
  }
  Status insert(Table& table, Key key, const std::byte* row) override {
    return as_expected(txn_.insert(table, key, row));
  }
  Status erase(Table& table, Key key) override { return as_expected(txn_.erase(table, key)); }
  Status scan(Table& table, Key low, Key high, bool descending, const RowVisitor& visit) override {
    return txn_.scan(table, low, high, descending, visit);
  }
  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) override {
    return txn_.scan_secondary(table, which, low, high, descending, visit);
  }
  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) override {
    return txn_.read_secondary(table, which, key, visit);
  }

 private:
  static Status as_expected(Status status) {
    return status == Status::kOk ? Status::kOk : Status::kAbort;
  }

  Transaction& txn_;
};

}  // namespace logjam
