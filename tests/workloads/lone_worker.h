// What executes transactions on a database alone, without a log.
#pragma once

#include <memory>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"

namespace logjam {

class LoneWorker {
 public:
  explicit LoneWorker(Database& database) : log_(find_scheme("none")->make({.workers = 1})) {
    context_.id = 0;
    context_.database = &database;
    context_.log = log_.get();
    context_.arena = &arena_;
    context_.breakdown = &breakdown_;
    context_.ages = &ages_;
    context_.acknowledge_durable = [] {};
    transaction_ = all_protocols().front().make(context_);
  }

  ProtocolTransaction& transaction() { return *transaction_; }

 private:
  std::unique_ptr<LogScheme> log_;
  platform::atomic<uint64_t> ages_{0};
  Arena arena_;
  Breakdown breakdown_;
  WorkerContext context_;
  std::unique_ptr<ProtocolTransaction> transaction_;
};

}  // namespace logjam
