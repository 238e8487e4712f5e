// A worker whose transactions a test executes one by one, without a log.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/protocol.h"
#include "engine/workload.h"
#include "logging/scheme_registry.h"
#include "workloads/command.h"

namespace logjam {

class OneWorker {
 public:
  explicit OneWorker(Database& database)
      : log_(find_scheme("none")->make({.workers = 1})), database_(database) {
    context_.id = 0;
    context_.database = &database_;
    context_.log = log_.get();
    context_.arena = &arena_;
    context_.breakdown = &breakdown_;
    context_.ages = &ages_;
    context_.acknowledge_durable = [] {};
    txn_ = all_protocols().front().make(context_);
  }

  // Executes the client's transaction, and commits it unless it rolls back. Returns what the
  // client returned.
  Status execute(Client& client) {
    txn_->begin(false);
    const Status status = client.execute(*txn_);
    if (status == Status::kRollback) {
      txn_->abort();
      return status;
    }
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    const uint64_t number = client.committing();
    EXPECT_EQ(txn_->commit(), Status::kOk);
    client.acknowledged(number);
    return status;
  }

  // Executes the client's transaction and undoes it. Returns what the client returned.
  Status rehearse(Client& client) {
    txn_->begin(false);
    const Status status = client.execute(*txn_);
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    txn_->abort();
    return status;
  }

  // Gives the client a transaction of `type` with these fields as its command, and executes it.
  template <class... Fields>
  Status execute(Client& client, uint32_t type, Fields... fields) {
    std::vector<std::byte> command;
    CommandFields encode(&command);
    encode(fields...);
    EXPECT_TRUE(client.take(type, command));
    return execute(client);
  }

 private:
  std::unique_ptr<LogScheme> log_;
  Database& database_;
  platform::atomic<uint64_t> ages_{0};
  Arena arena_;
  Breakdown breakdown_;
  WorkerContext context_;
  std::unique_ptr<ProtocolTransaction> txn_;
};

}  // namespace logjam
