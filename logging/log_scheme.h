// The log scheme interface: all that the engine knows of a scheme. It has a side for each user:
//
//   CommitSide      concurrency control, in one place (cc/commit_log.h)
//   WaitSide        the workers: waiting for commits, and the workers' share of the log's work
//   FlushSide       the Log's threads (logging/log.h)
//   CheckpointSide  checkpoints (engine/checkpoint)
//
// A worker commits a transaction like this:
//
//   LogReservation reservation = scheme.reserve(worker, deps, bytes);  // a number and a hole
//   // ... write the record into reservation.hole ...
//   CommitPoint point = scheme.publish(worker, reservation, RecordRole::kCommit);
//   // ... install the rows, release the locks; with early lock release, others may read now ...
//   if (pipelined) {
//     // ... execute more transactions; after each, scheme.poll(worker) ...
//     while (!scheme.is_durable(point)) scheme.poll(worker);
//   } else {
//     scheme.wait_durable(worker, point);
//   }
//   // ... acknowledge the transaction ...
//
// A scheme composes parts from logging/ (schemes/common, stream, device) and registers itself at
// the bottom of its file (scheme_registry.h). No other file names the scheme. Any thread may call a
// function, unless an annotation names the worker's thread (worker_role) or a thread of the log
// (log_role).
#pragma once

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "platform/thread_annotations.h"

namespace logjam {

class ReadStamps;
class RowVectors;

// Draws numbers before the validation and without a hole (NumberDrawn::kBeforeWithoutHole).
class EarlyNumbers {
 public:
  // Draws one number for all records of a transaction, at the serialization point. Then the caller
  // reserves and publishes these records. If the validation fails, the caller calls abandon().
  virtual void draw_number(uint32_t worker, const Dependencies& deps)
      LJ_REQUIRES(platform::worker_role) = 0;
  virtual void abandon(uint32_t worker) LJ_REQUIRES(platform::worker_role) = 0;

 protected:
  ~EarlyNumbers() = default;
};

// The parts of a commit that only some schemes have; a missing part is null. The scheme owns them.
struct CommitParts {
  // Not null exactly if LogTraits::number_drawn is kBeforeWithoutHole.
  EarlyNumbers* early_numbers = nullptr;
  // A committing writer raises the stamps of the tuples that it has read (read_stamps.h). A scheme
  // with stamps draws its numbers before the validation.
  ReadStamps* read_stamps = nullptr;
  // A transaction gathers vectors in Dependencies::vector, and raises the vectors of the rows that
  // it changes (row_vectors.h).
  RowVectors* row_vectors = nullptr;
};

class CommitSide {
 public:
  virtual ~CommitSide() = default;
  CommitSide(const CommitSide&) = delete;
  CommitSide& operator=(const CommitSide&) = delete;

  const LogTraits& traits() const { return traits_; }
  uint64_t run() const { return run_; }
  virtual uint64_t max_record_bytes() const = 0;
  // Returns the stream that the worker writes to, always or most often.
  virtual uint32_t home(uint32_t /*worker*/) const { return 0; }
  virtual CommitParts parts() { return {}; }

  // Returns a sequence number, and a hole for a record of `bytes` bytes. If the scheme wants a
  // vector in the record, the hole has space for the vector, too (LogReservation::vector). `bytes`
  // is a multiple of 8 and at most max_record_bytes(). Waits while the buffer is full; never fails.
  // Call it at the serialization point. A worker holds at most one reservation at a time.
  virtual LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes)
      LJ_REQUIRES(platform::worker_role) = 0;
  // Hands the hole over to the log. The hole contains a whole record; with kVoid, a void record.
  // Returns the transaction's commit point. Wait for the point only if the role is kCommit: for
  // another role, the point may become durable only after a later commit.
  virtual CommitPoint publish(uint32_t worker, const LogReservation& reservation, RecordRole role)
      LJ_REQUIRES(platform::worker_role) = 0;
  virtual CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps)
      LJ_REQUIRES(platform::worker_role) = 0;

 protected:
  explicit CommitSide(const LogConfig& config) : traits_(config.traits), run_(config.run) {}

 private:
  const LogTraits traits_;
  const uint64_t run_;
};

class WaitSide : public Durability {
 public:
  // Performs work of the log, such as a flush. Call it between transactions and in waits for locks.
  virtual void poll(uint32_t worker) LJ_REQUIRES(platform::worker_role) = 0;
  virtual void wait_durable(uint32_t worker, const CommitPoint& point)
      LJ_REQUIRES(platform::worker_role) {
    while (!is_durable(point)) waiters_.park(worker, point, safety_timeout_ns_);
  }
  // Waits until `point` is durable, `timeout_ns` has passed, or the worker is woken. Meanwhile the
  // worker does none of the flushers' work.
  void park_until_durable(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns)
      LJ_REQUIRES(platform::worker_role) {
    rely_on_flushers(true);
    waiters_.park(worker, point, timeout_ns);
    rely_on_flushers(false);
  }
  // Announces that a worker begins (if `begins`) or ends a sleep. During the sleep the worker does
  // not help to flush, so flushers must not rely on workers.
  virtual void rely_on_flushers(bool /*begins*/) {}

 protected:
  explicit WaitSide(const LogConfig& config)
      : safety_timeout_ns_(config.safety_timeout_ns), waiters_(config.workers, *this) {}
  ~WaitSide() = default;

  DurabilityWaiters& waiters() { return waiters_; }

 private:
  const uint64_t safety_timeout_ns_;
  DurabilityWaiters waiters_;
};

class FlushSide {
 public:
  // Returns the number of flusher threads. Thread i calls flush(i) again and again.
  virtual uint32_t flushers() const = 0;
  // Returns the name of flusher thread `flusher`, at most 15 bytes.
  virtual std::string flusher_name(uint32_t flusher) const {
    return "log-" + std::to_string(flusher);
  }
  virtual int flusher_socket(uint32_t /*flusher*/) const { return platform::kNoSocket; }
  // Performs one step of flusher thread `flusher`, of at most 20 ms. If `stopping`, flushes all
  // published records, whatever the policy says. In a Log without threads, drain() calls it.
  virtual void flush(uint32_t flusher, bool stopping) LJ_REQUIRES(platform::log_role) = 0;
  // Returns whether all published records are durable. Called after the workers have stopped.
  virtual bool idle() const = 0;
  // Writes the end of the log, in a scheme without flushers, after all threads have ended.
  virtual void close() {}

 protected:
  ~FlushSide() = default;
};

// Each returned vector has one entry for each stream.
class CheckpointSide {
 public:
  // Returns the end of a record before which every hole is filled. May first move this end forward.
  // A record that was published before the call may still lie after this end.
  virtual std::vector<uint64_t> published_positions() { return {}; }
  // Returns the position up to which each stream is durable. Performs no work of the log.
  virtual std::vector<uint64_t> durable_positions() const { return {}; }
  // Returns a sequence number S for each stream. All records of the stream with sequence numbers up
  // to S are durable, and no such record will be added.
  virtual std::vector<uint64_t> durable_sequences() const { return {}; }

 protected:
  ~CheckpointSide() = default;
};

class LogScheme : public CommitSide, public WaitSide, public FlushSide, public CheckpointSide {
 public:
  virtual Counters counters() const { return {}; }

 protected:
  explicit LogScheme(const LogConfig& config) : CommitSide(config), WaitSide(config) {}
};

}  // namespace logjam
