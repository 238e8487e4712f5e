// The only place where concurrency control calls the log.
#pragma once

#include <cstdint>
#include <span>

#include "cc/access_set.h"
#include "engine/protocol.h"
#include "logging/format/staged_record.h"
#include "logging/log_scheme.h"
#include "logging/read_stamps.h"

namespace logjam {

// The log side of one worker's transactions. A commit is draw(), then finish(). A protocol that
// validates calls before_validation() and validated() or validation_failed() in place of draw().
// Only the worker that owns the object calls it.
//
// draw() encodes what the transaction wrote before it reserves the hole, and finish() seals the
// record and copies it into the hole (logging/format/staged_record.h).
//
// With --log_records=op, draw() also writes the begin record and the operation records, each
// through a reserve and a publish of its own, because a worker may hold only one reservation. The
// reservation that draw() leaves open is the commit record's. Recovery ignores operations whose
// commit record is void or missing.
//
// For a scheme that logs commands, the record holds the command in the worker's context in place of
// the writes.
class CommitLog {
 public:
  explicit CommitLog(WorkerContext& context);

  // Draws the transaction's sequence number and reserves space for its record. The caller is at the
  // serialization point, and `writes` and their tuples are as they will be logged. Waits while the
  // log buffer is full. Ends the process with one sentence if the record exceeds what the buffer
  // can take.
  void draw(Dependencies deps, std::span<const Write> writes);
  // These divide draw() into what the scheme wants before the validation of reads, which may be
  // nothing, the number, or the number and the reserved space, and the rest. If the space was
  // reserved and the validation fails, the record is voided.
  void before_validation(const Dependencies& deps, std::span<const Write> writes);
  void validated(const Dependencies& deps, std::span<const Write> writes);
  void validation_failed();
  // If stamps_reads(), the protocol calls stamp_read() for every tuple that the transaction read:
  // after draw() or before_validation(), and before it validates or unlocks the reads (proof in
  // logging/read_stamps.h).
  bool stamps_reads() const { return stamps_ != nullptr; }
  void stamp_read(const Tuple& tuple) { stamps_->raise(&tuple, reservation_.sequence); }
  // The sequence number that draw() drew: the version of all that the transaction writes.
  uint64_t sequence() const { return reservation_.sequence; }
  // Tells the worker's observer, writes the record into its hole and publishes it. Returns the
  // point that the commit must wait for.
  CommitPoint finish();

  // For a transaction that wrote nothing: returns the point that its commit must wait for.
  CommitPoint commit_read_only(const Dependencies& deps);

 private:
  void stage(const Dependencies& deps, std::span<const Write> writes);
  void log_operations(Dependencies deps, std::span<const Write> writes);
  void log_staged(const Dependencies& deps, RecordKind kind);
  LogReservation reserve(const Dependencies& deps);
  void fill(const LogReservation& reservation, RecordKind kind);
  CommitPoint publish(const LogReservation& reservation, bool ok, bool commits);
  LoggedCommand command(std::span<const Write> writes) const;

  WorkerContext& context_;
  LogScheme& log_;
  ReadStamps* const stamps_;  // null: the scheme wants no stamps
  bool logs_;
  bool commands_;
  bool before_validation_;  // the number is drawn before the validation
  bool hole_after_;         // and the space reserved after it
  uint64_t max_record_bytes_;

  uint64_t txn_ = 0;
  uint8_t flags_ = 0;  // of all records of the transaction
  StagedRecord record_;
  LogReservation reservation_;
};

}  // namespace logjam
