// A worker that executes transactions on a database without the engine's run loop.
#pragma once

#include <memory>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"

namespace logjam {

// A LoneWorker logs with the scheme `none`, unless the caller passes the log that it is to use.
class LoneWorker {
 public:
  explicit LoneWorker(Database& database, const ProtocolInfo& protocol = all_protocols().front(),
                      LogScheme* log = nullptr, uint32_t id = 0,
                      platform::atomic<uint64_t>* ages = nullptr)
      : own_log_(log == nullptr ? find_scheme("none")->make({.workers = 1}) : nullptr) {
    context.id = id;
    context.database = &database;
    context.log = log == nullptr ? own_log_.get() : log;
    context.arena = &arena_;
    context.breakdown = &breakdown_;
    context.ages = ages == nullptr ? &own_ages_ : ages;
    context.read_stamps = &read_stamps_;
    context.acknowledge_durable = [] {};
    transaction_ = protocol.make(context);
  }

  ProtocolTransaction& transaction() const { return *transaction_; }

  WorkerContext context;

 private:
  std::unique_ptr<LogScheme> own_log_;
  platform::atomic<uint64_t> own_ages_{0};
  ReadStamps read_stamps_;
  Arena arena_;
  Breakdown breakdown_;
  std::unique_ptr<ProtocolTransaction> transaction_;
};

}  // namespace logjam
