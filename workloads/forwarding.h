// Bases of classes that observe a workload's run: their functions call the same functions of
// another object.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/workload.h"

namespace logjam {

class ForwardingTransaction : public Transaction {
 public:
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
  Status update(Table& table, Key key, std::byte** row) override {
    return transaction_->update(table, key, row);
  }
  Status write(Table& table, Key key, std::byte** row) override {
    return transaction_->write(table, key, row);
  }
  Status insert(Table& table, Key key, const std::byte* row) override {
    return transaction_->insert(table, key, row);
  }
  Status erase(Table& table, Key key) override { return transaction_->erase(table, key); }
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

 protected:
  Transaction* transaction_ = nullptr;
};

class ForwardingClient : public Client {
 public:
  uint32_t next() override { return client_->next(); }
  Status execute(Transaction& txn) override { return client_->execute(txn); }
  void acknowledged(uint64_t number) override { client_->acknowledged(number); }
  bool exhausted() const override { return client_->exhausted(); }
  std::span<const uint64_t> arrivals_ns() const override { return client_->arrivals_ns(); }
  std::span<const std::byte> command() override { return client_->command(); }
  bool take(uint32_t type, std::span<const std::byte> input) override {
    return client_->take(type, input);
  }
  uint64_t committing() override { return client_->committing(); }
  CommitObserver* commit_observer() override { return client_->commit_observer(); }

 protected:
  explicit ForwardingClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  const std::unique_ptr<Client> client_;
};

class ForwardingWorkload : public Workload {
 public:
  void create_tables(Database& database) override { workload_->create_tables(database); }
  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    workload_->load(database, part, parts, arena);
  }
  void resume(Database& database) override { workload_->resume(database); }
  Specification spec() const override { return workload_->spec(); }
  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return workload_->make_client(database, worker, workers, seed);
  }
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return workload_->make_replayer(database);
  }
  std::vector<Check> verify(Database& database) override { return workload_->verify(database); }
  std::vector<Share> shares() const override { return workload_->shares(); }
  void note_any_order() override { workload_->note_any_order(); }
  void start_history(uint32_t workers, const HistoryOrigin& origin) override {
    workload_->start_history(workers, origin);
  }
  void keep_history() override { workload_->keep_history(); }
  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return workload_->verify_history(database, path);
  }
  std::string export_history(Database& database, const std::string& path,
                             const std::string& to) override {
    return workload_->export_history(database, path, to);
  }

 protected:
  explicit ForwardingWorkload(std::unique_ptr<Workload> workload)
      : workload_(std::move(workload)) {}

  const std::unique_ptr<Workload> workload_;
};

}  // namespace logjam
