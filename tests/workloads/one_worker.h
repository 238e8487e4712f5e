// A worker whose transactions a test executes one by one, without a log.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "engine/workload.h"
#include "tests/workloads/lone_worker.h"
#include "workloads/command.h"

namespace logjam {

class OneWorker {
 public:
  explicit OneWorker(Database& database) : worker_(database), txn_(worker_.transaction()) {}

  // Executes the client's transaction, and commits it unless it rolls back. Returns what the
  // client returned.
  Status execute(Client& client) {
    txn_.begin(false);
    const Status status = client.execute(txn_);
    if (status == Status::kRollback) {
      txn_.abort();
      return status;
    }
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    const uint64_t number = client.committing();
    EXPECT_EQ(txn_.commit(), Status::kOk);
    client.acknowledged(number);
    return status;
  }

  // Executes the client's transaction and undoes it. Returns what the client returned.
  Status rehearse(Client& client) {
    txn_.begin(false);
    const Status status = client.execute(txn_);
    EXPECT_NE(status, Status::kAbort) << "a worker alone";
    txn_.abort();
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
  LoneWorker worker_;
  ProtocolTransaction& txn_;
};

}  // namespace logjam
