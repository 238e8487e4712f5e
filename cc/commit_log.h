// The only place where concurrency control calls the log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cc/access_set.h"
#include "engine/protocol.h"
#include "logging/format/staged_record.h"
#include "logging/log_scheme.h"
#include "logging/read_stamps.h"
#include "logging/row_vectors.h"

namespace logjam {

// The log side of one worker's transactions. A commit is reserve(), then finish(). A protocol that
// validates calls before_validation() and then either after_validation() or validation_failed() in
// place of reserve(). Only the worker that owns the object calls it.
//
// reserve() encodes the writes of the transaction before it reserves the hole. finish() seals the
// record and copies it into the hole (logging/format/staged_record.h).
//
// With --log_records=op, reserve() also writes the begin record and the operation records. Each
// takes a reservation and a publish of its own, because a worker may hold only one reservation. The
// reservation that reserve() leaves open is the commit record's. Recovery ignores operations whose
// commit record is void or missing.
//
// For a scheme that logs commands, the record holds the command in the worker's context in place of
// the writes.
class CommitLog {
 public:
  explicit CommitLog(WorkerContext& context);

  // Returns whether `sequence` names another stream than the worker's; false if numbers name none.
  bool is_foreign(uint64_t sequence) const { return (sequence & stream_mask_) != home_; }

  // Notes that a transaction begins.
  void begin() { std::ranges::fill(vector_, 0); }
  // Notes that the transaction has read the tuple in its present version, which is not that of the
  // initial load. Called after the version was loaded.
  void note_read(const Tuple& tuple) {
    if (vectors_ != nullptr) vectors_->gather(&tuple, vector_);
  }

  // Draws the transaction's sequence number and reserves space for its record. The caller is at the
  // serialization point, and `writes` and their tuples are as they will be logged. Waits while the
  // log buffer is full. Ends the process with one sentence if the record exceeds what the buffer
  // can take.
  void reserve(Dependencies deps, std::span<const Write> writes);
  // Takes the part of reserve() that the scheme wants before the validation: nothing, the number,
  // or all of it (NumberDrawn).
  void before_validation(const Dependencies& deps, std::span<const Write> writes);
  // Takes the rest of reserve().
  void after_validation(const Dependencies& deps, std::span<const Write> writes);
  // Gives up the number, and publishes the reserved space as a void record.
  void validation_failed();
  // Returns whether a validation that fails after before_validation() leaves a void record.
  bool failure_leaves_a_hole() const { return traits_.number_drawn == NumberDrawn::kBefore; }
  // Returns whether the protocol must call stamp_read() for every tuple that the transaction read:
  // after reserve() or before_validation(), and before it validates or unlocks the reads (proof in
  // logging/read_stamps.h).
  bool stamps_reads() const { return stamps_ != nullptr; }
  void stamp_read(const Tuple& tuple) { stamps_->raise(&tuple, reservation_.sequence); }
  // Returns whether the rows are installed and unlocked before finish(), and not after it.
  bool fills_after_unlock() const { return traits_.fills_after_unlock; }
  // Returns the transaction's sequence number: the version of all that it writes. Called after
  // reserve() or after_validation().
  uint64_t sequence() const { return reservation_.sequence; }
  // Writes the record into its hole and publishes it. Returns the point that the commit must wait
  // for.
  CommitPoint finish();

  // Returns the point that the commit of a transaction that wrote nothing must wait for.
  CommitPoint commit_read_only(Dependencies deps);

 private:
  LoggedWrite logged(const Write& write);
  void stage(const Dependencies& deps, std::span<const Write> writes);
  void log_operations(Dependencies deps, std::span<const Write> writes);
  void log_staged(const Dependencies& deps, RecordKind kind);
  LogReservation reserve_staged(const Dependencies& deps);
  void fill(const LogReservation& reservation, RecordKind kind);
  CommitPoint publish(const LogReservation& reservation, RecordRole role);
  LoggedCommand command(std::span<const Write> writes) const;

  WorkerContext& context_;
  LogScheme& log_;
  ReadStamps* const stamps_;   // null: the scheme wants no stamps
  RowVectors* const vectors_;  // null: the scheme has no vectors
  const LogTraits traits_;
  const uint64_t stream_mask_, home_;  // of sequence numbers; 0 if they name no stream
  const uint64_t max_record_bytes_;

  uint64_t txn_ = 0;
  uint8_t flags_ = 0;  // of all records of the transaction
  StagedRecord record_;
  std::vector<std::byte> ranges_;  // the range image of the write that is being encoded
  LogReservation reservation_;
  std::vector<uint64_t> vector_;  // of the transaction; empty if the scheme has no vectors
};

}  // namespace logjam
