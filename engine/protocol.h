// The interface between a concurrency-control protocol and the worker loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/run_options.h"
#include "engine/stats/breakdown.h"
#include "engine/storage/reclaimer.h"
#include "engine/transaction.h"
#include "logging/log_scheme.h"
#include "logging/read_stamps.h"
#include "platform/registry.h"
#include "platform/thread_annotations.h"

namespace logjam {

inline const RunOptions kDefaultRunOptions;

// The part of a worker that its transactions use. Outlives the transactions.
struct WorkerContext {
  uint32_t id = 0;
  const RunOptions& options = kDefaultRunOptions;
  Database* database = nullptr;
  CommitSide* log = nullptr;
  Arena* arena = nullptr;
  Reclaimer* reclaimer = nullptr;  // null: absent tuples stay
  Breakdown* breakdown = nullptr;
  CommitObserver* observer = nullptr;          // null: none
  platform::atomic<uint64_t>* ages = nullptr;  // counter of wait-die's time stamps, shared by all
  ReadStamps* read_stamps = nullptr;           // shared by all (ProtocolInfo::stamps_reads)
  uint64_t transactions_begun = 0;             // numbers the worker's transactions in log records
  uint64_t commit_stamp = 0;                   // the last one that the worker has drawn
  // If the log holds commands: the current transaction's command, valid until the transaction ends.
  uint32_t command_type = 0;
  std::span<const std::byte> command_input = {};
  uint64_t log_bytes = 0;  // bytes of the records that this worker has written
  uint64_t log_records_written = 0;
  // Acknowledges the worker's durable transactions, and may write the log to do so. A transaction
  // that waits for a lock calls this function: without early lock release, a parked transaction of
  // the same worker may hold the lock.
  std::function<void()> acknowledge_durable = nullptr;
};

// An object that one worker uses for one transaction after the other. The worker calls begin(), the
// workload calls the Transaction API, and the worker calls commit() or abort().
class ProtocolTransaction : public Transaction {
 public:
  // Starts a transaction. With `retry`, repeats the previous transaction, with its age (wait-die).
  virtual void begin(bool retry) LJ_REQUIRES(platform::worker_role) = 0;

  // Executes the pre-commit. kOk: the transaction must wait for commit_point() before it is
  // acknowledged. kAbort: call abort(); abort_reason() says why.
  virtual Status commit() LJ_REQUIRES(platform::worker_role) = 0;
  // Undoes the transaction. Call it if a call returned kAbort, or to roll back.
  virtual void abort() LJ_REQUIRES(platform::worker_role) = 0;

  virtual AbortReason abort_reason() const = 0;
  virtual CommitPoint commit_point() const = 0;

  // Returns whether the committed transaction still holds its locks (--locks=write). The worker
  // calls release_locks() when the commit point is durable.
  virtual bool holds_locks() const = 0;
  virtual void release_locks() LJ_REQUIRES(platform::worker_role) = 0;
};

struct ProtocolInfo {
  std::string_view name;
  std::string_view what;
  std::function<std::unique_ptr<ProtocolTransaction>(WorkerContext&)> make;
  // If true, a transaction holds no lock before its commit(). So a replay of commands may execute
  // it before an earlier transaction (engine/recovery/commands/replay_commands.h).
  bool optimistic = false;
  bool serializable = true;  // if false, concurrent transactions may have no serial order
  // If false, the order in which transactions reserve their records is no serial order. Then no log
  // can hold commands, because their replay executes them in this order.
  bool serial_in_commit_order = true;
  bool keeps_old_versions = false;  // of rows, for the reclaimer
  bool stamps_reads = false;        // needs WorkerContext::read_stamps
};

// A protocol's file holds one static ProtocolRegistration for each of its protocols.
using Protocols = platform::Registry<ProtocolInfo>;
using ProtocolRegistration = Protocols::Registration;
inline const std::vector<ProtocolInfo>& all_protocols() { return Protocols::all(); }
inline const ProtocolInfo* find_protocol(std::string_view name) { return Protocols::find(name); }

}  // namespace logjam
