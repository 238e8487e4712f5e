// Concurrency control calls the log only through this class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cc/access_set.h"
#include "engine/protocol.h"
#include "logging/format/record_writer.h"
#include "logging/log_scheme.h"
#include "logging/read_stamps.h"
#include "logging/row_vectors.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {

// Logs the transactions of one worker, which owns the object. For a commit, call begin(), reserve()
// and finish(). A protocol that validates calls before_validation() in place of reserve(). If the
// validation succeeds, call after_validation() and finish(), otherwise validation_failed().
//
// reserve() encodes the writes of the transaction before it reserves the hole. finish() seals the
// record and copies it into the hole (logging/format/record_writer.h).
//
// With --log_records=op, reserve() also logs the begin record and the operation records, one after
// the other. Only the reservation of the commit record stays open after reserve().
class CommitLog {
 public:
  explicit CommitLog(WorkerContext& context);

  // Returns whether `sequence` contains the number of another worker.
  bool is_foreign(uint64_t sequence) const { return (sequence & worker_mask_) != own_; }

  void begin() { std::ranges::fill(vector_, 0); }
  // Notes a read of `tuple`. Call it after the version is loaded, and only if a transaction, not
  // the initial load, wrote this version.
  void note_read(const Tuple& tuple) {
    if (parts_.row_vectors != nullptr) parts_.row_vectors->gather(&tuple, vector_);
  }

  // Draws the sequence number and reserves space for the record, at the serialization point. Waits
  // while the log buffer is full. Ends the process if the record is too long for the buffer.
  void reserve(Dependencies deps, std::span<const Write> writes) LJ_REQUIRES(platform::worker_role);
  // Executes the part of reserve() that the scheme requires before validation (NumberDrawn).
  void before_validation(const Dependencies& deps, std::span<const Write> writes)
      LJ_REQUIRES(platform::worker_role);
  void after_validation(const Dependencies& deps, std::span<const Write> writes)
      LJ_REQUIRES(platform::worker_role);
  // Gives up the number, and publishes the reserved space as a void record.
  void validation_failed() LJ_REQUIRES(platform::worker_role);
  // Returns whether a validation that fails after before_validation() leaves a void record.
  bool failure_leaves_a_hole() const { return traits_.number_drawn == NumberDrawn::kBefore; }
  // Returns whether the protocol must call stamp_read() for every tuple that the transaction read,
  // before it validates or unlocks the reads (proof in logging/read_stamps.h).
  bool stamps_reads() const { return parts_.read_stamps != nullptr; }
  void stamp_read(const Tuple& tuple) {
    LJ_ASSERT_IN_TESTS(reserved_);
    parts_.read_stamps->raise(&tuple, reservation_.sequence);
  }
  // Returns whether the protocol must install and unlock the rows before it calls finish(). If not,
  // it must call finish() first.
  bool fills_after_unlock() const { return traits_.fills_after_unlock; }
  // Returns the reserved sequence number, which becomes the version of all written rows.
  uint64_t sequence() const {
    LJ_ASSERT_IN_TESTS(reserved_);
    return reservation_.sequence;
  }
  // Fills and publishes the record. Returns the point that the commit must wait for.
  CommitPoint finish() LJ_REQUIRES(platform::worker_role);

  CommitPoint commit_read_only(Dependencies deps) LJ_REQUIRES(platform::worker_role);

 private:
  LoggedWrite logged(const Write& write);
  void stage(const Dependencies& deps, std::span<const Write> writes)
      LJ_REQUIRES(platform::worker_role);
  void log_operations(Dependencies deps, std::span<const Write> writes)
      LJ_REQUIRES(platform::worker_role);
  void log_staged(const Dependencies& deps, RecordKind kind) LJ_REQUIRES(platform::worker_role);
  LogReservation reserve_staged(const Dependencies& deps) LJ_REQUIRES(platform::worker_role);
  void fill(const LogReservation& reservation, RecordKind kind);
  CommitPoint publish(const LogReservation& reservation, RecordRole role)
      LJ_REQUIRES(platform::worker_role);
  LoggedCommand command(std::span<const Write> writes) const;

  WorkerContext& context_;
  CommitSide& log_;
  const CommitParts parts_;
  const LogTraits traits_;
  const uint64_t worker_mask_, own_;  // a number's worker bits; their value in own numbers
  const uint64_t max_record_bytes_;

  uint64_t txn_ = 0;
  uint8_t flags_ = 0;  // set in all records of the transaction
  StagedRecord record_;
  std::vector<std::byte> ranges_;  // the range image of the write that is being encoded
  LogReservation reservation_;
  bool reserved_ = false;         // a reservation is not published yet
  std::vector<uint64_t> vector_;  // the transaction's vector; empty if the scheme has none
};

}  // namespace logjam
