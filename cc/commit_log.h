// The one place where concurrency control meets the log.
#pragma once

#include <cstdint>
#include <span>

#include "cc/access_set.h"
#include "engine/protocol.h"
#include "logging/log_scheme.h"
#include "logging/read_stamps.h"
#include "logging/record.h"

namespace logjam {

// A commit is draw(), then finish(). With --log_records=op the begin and operation records go out
// within draw(), each through its own reserve and publish, because a worker may hold one ticket:
// the one draw() leaves open is the commit record's, and recovery ignores operations whose commit
// record is void or missing. A log of commands gets the worker's instead of the writes.
class CommitLog {
 public:
  explicit CommitLog(WorkerContext& context);

  // The number must be drawn before reads are validated, and voided if that fails.
  bool draws_before_validation() const { return before_validation_; }

  // At the serialization point. `writes` must be the same, with their tuples unchanged, until
  // finish().
  void draw(Dependencies deps, std::span<const Write> writes);
  // Behind draw(), before reads are validated or unlocked: each tuple that was read, if the scheme
  // wants to know.
  bool stamps_reads() const { return stamps_ != nullptr; }
  void stamp_read(const Tuple& tuple) { stamps_->raise(&tuple, ticket_.sequence); }
  // The version of everything written.
  uint64_t sequence() const { return ticket_.sequence; }
  // Fills the hole, or voids it. Returns what the commit must wait for.
  Point finish(bool ok);

  // For a transaction that wrote nothing.
  Point observe(const Dependencies& deps);

 private:
  Ticket reserve(const Dependencies& deps, uint64_t bytes);
  Point publish(const Ticket& ticket, bool ok, bool commits);
  void log_operations(Dependencies deps);
  void fill(const Ticket& ticket, RecordKind kind, std::span<const Write> writes);
  LoggedCommand command() const;

  WorkerContext& context_;
  LogScheme& log_;
  ReadStamps* const stamps_;  // null: nobody asked
  bool logs_;
  bool commands_;
  bool before_validation_;
  uint64_t max_record_bytes_;

  uint64_t txn_ = 0;
  uint8_t flags_ = 0;  // of all its records
  std::span<const Write> writes_;
  Ticket ticket_;
};

}  // namespace logjam
