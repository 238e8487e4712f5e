// One thread of a replay of commands.
//
// The thread executes a command before the command's turn, waits for the turn, and commits. If the
// commit is refused, an earlier command has overwritten a row that the execution had read. Then the
// thread executes the command again, at its turn. This attempt reads the final state, so it is
// refused only if other threads have changed an index node. After two attempts at its turn the
// thread gets the database to itself, and an attempt that fails then is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/protocol.h"
#include "engine/recovery/commands/command_feed.h"
#include "engine/recovery/commands/commit_order.h"
#include "engine/recovery/commands/replay_log.h"
#include "engine/recovery/commands/speculative_transaction.h"
#include "engine/workload.h"

namespace logjam {

// run() is called once, by a thread of its own. All other functions are called by one thread,
// before or after run().
class Replayer {
 public:
  // Makes thread number `id` of the threads that share `feed`, `order` and `epochs`, which outlive
  // this object. If there are several threads, `protocol` is optimistic.
  Replayer(uint32_t id, Workload& workload, Database& database, const ProtocolInfo& protocol,
           CommandFeed& feed, CommitOrder& order, Epochs& epochs);

  // Replays commands until all are taken, or until replay has stopped.
  void run();

  // Returns how many speculative executions had to be repeated.
  uint64_t repeated() const { return repeated_; }

 private:
  bool replay(const Command& command);
  std::string take(const Command& command);
  bool execute_ahead(const Command& command);
  std::string execute_at_turn(const Command& command);
  bool commit(const Command& command, Status status);
  void reclaim();

  const uint32_t id_;
  const size_t types_;
  CommandFeed& feed_;
  CommitOrder& order_;
  Epochs& epochs_;
  ReplayLog log_;
  Arena arena_;
  Reclaimer reclaimer_;
  Breakdown breakdown_;
  platform::atomic<uint64_t> ages_{0};
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  LoggedCommand logged_;  // the command that the client has taken
  uint64_t repeated_ = 0;
};

}  // namespace logjam
