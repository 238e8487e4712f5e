// What a concurrency-control protocol gives the worker loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/stats/breakdown.h"
#include "engine/storage/reclaimer.h"
#include "engine/transaction.h"
#include "logging/log_scheme.h"

namespace logjam {

enum class LogRecords : uint8_t { kTransaction, kOperation };

// What a transaction needs of the worker that runs it. Outlives the transaction.
struct WorkerContext {
  uint32_t id = 0;
  Database* database = nullptr;
  LogScheme* log = nullptr;
  uint64_t run = 0;  // seeds record checksums
  LogRecords log_records = LogRecords::kTransaction;
  bool early_lock_release = true;
  Arena* arena = nullptr;
  Reclaimer* reclaimer = nullptr;  // null: absent tuples stay
  Breakdown* breakdown = nullptr;
  platform::atomic<uint64_t>* ages = nullptr;  // shared by all workers: wait-die's time stamps
  uint64_t transactions_begun = 0;             // numbers this worker's transactions in log records
  // Of the transaction about to commit, where the log holds commands; valid until it ends.
  uint32_t command_type = 0;
  std::span<const std::byte> command_input;
  uint64_t log_bytes = 0;  // put into holes by this worker
  uint64_t log_records_written = 0;
  // Settles what this worker has in flight. A transaction that waits for a lock calls it, because
  // without early lock release the locks it waits for may be held by parked transactions.
  std::function<void()> settle;
};

// The life cycle the worker drives:
//   begin(); workload calls; then commit() or abort(); and after a commit without early lock
//   release, release_locks() once the point is durable.
class ProtocolTransaction : public Transaction {
 public:
  // `retry`: the same transaction again after an abort (it keeps its age for wait-die).
  virtual void begin(bool retry) = 0;

  // kOk: pre-committed, point() says what to wait for. kAbort: undone, abort_reason() says why.
  virtual Status commit() = 0;
  // Undoes everything. Call after any call returned kAbort, or to roll back.
  virtual void abort() = 0;

  virtual AbortReason abort_reason() const = 0;
  virtual Point point() const = 0;

  // True after a commit that kept its locks (--elr=false): the transaction must not be begun again
  // before release_locks().
  virtual bool holds_locks() const = 0;
  virtual void release_locks() = 0;
};

struct ProtocolInfo {
  std::string_view name;
  std::string_view what;
  std::function<std::unique_ptr<ProtocolTransaction>(WorkerContext&)> make;
};

class ProtocolRegistration {
 public:
  explicit ProtocolRegistration(ProtocolInfo info);
};
const std::vector<ProtocolInfo>& all_protocols();
const ProtocolInfo* find_protocol(std::string_view name);

}  // namespace logjam
