// The log scheme interface: what a scheme must do, and all that the engine knows of a scheme.
//
// cc/ calls a scheme in one place (cc/commit_log.h), the worker loop polls it, and a flusher thread
// of the Log (logging/log.h) calls flush(). A scheme composes parts from logging/ (buffer, stream,
// device) and registers itself at the bottom of its file (logging/scheme_registry.h). No other file
// names the scheme.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "logging/commit_point.h"
#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "platform/placement.h"

namespace logjam {

class ReadStamps;

class LogScheme : public Durability {
 public:
  virtual ~LogScheme() = default;
  LogScheme(const LogScheme&) = delete;
  LogScheme& operator=(const LogScheme&) = delete;

  const LogTraits& traits() const { return traits_; }

  // Returns the table in which committing writers stamp what they read, or null if the scheme has
  // no stamps. A scheme whose numbers grow along write-after-read has them, and then also has the
  // trait sequence_before_validation. The scheme owns the table.
  virtual ReadStamps* read_stamps() { return nullptr; }

  // draw(), abandon(), reserve(), publish(), commit_read_only(), poll() and wait_durable() are
  // called by the thread of worker `worker` only.

  // Only with the trait hole_after_validation. draw() is called at the serialization point, before
  // the validation: it draws the number of all reservations of this transaction. Either these
  // follow, up to the publish() that `commits`, or abandon(), because the validation failed. A
  // transaction for which draw() is not called gets a number with each reservation.
  virtual void draw(uint32_t worker, const Dependencies& deps);
  virtual void abandon(uint32_t worker);

  // Called at the serialization point. Returns a log reservation of `bytes`. Never fails; waits
  // while the buffer is full. `bytes` is a multiple of 8 and at most max_record_bytes(). A worker
  // may hold one reservation at a time.
  virtual LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) = 0;

  // Says that the hole is filled (`ok`), or must be skipped (not `ok`: a record of kind void is in
  // it). `commits` says whether this record commits a transaction (with --log_records=op most do
  // not). Returns the commit point of the transaction.
  virtual CommitPoint publish(uint32_t worker, const LogReservation& reservation, bool ok,
                              bool commits) = 0;

  // Returns the commit point of a transaction that wrote nothing.
  virtual CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) = 0;

  // A worker's share of the scheme's work, called between transactions and while waiting for locks.
  virtual void poll(uint32_t worker) = 0;

  // Blocks the calling worker until `point` is durable. The default parks it until wake_durable().
  virtual void wait_durable(uint32_t worker, const CommitPoint& point);
  // Blocks the calling worker until `point` is durable, `timeout_ns` has passed, or the worker is
  // woken. The worker does no flusher's work meanwhile.
  void park_until_durable(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns) {
    rely_on_flushers(true);
    waiters_.park(worker, point, timeout_ns);
    rely_on_flushers(false);
  }
  // Any thread. Between a call with `begins` and one without, a worker sleeps that waits for
  // durability and does no flusher's work. So no flusher may leave its work to workers.
  virtual void rely_on_flushers(bool /*begins*/) {}

  // Returns how many flusher threads must call flush(), each with its number, counted from 0.
  virtual uint32_t flushers() const = 0;
  // Returns the name of that thread, at most 15 bytes.
  virtual std::string flusher_name(uint32_t flusher) const {
    return "log-" + std::to_string(flusher);
  }
  // Returns the socket to whose cores that thread keeps, or kNoSocket.
  virtual int flusher_socket(uint32_t /*flusher*/) const { return platform::kNoSocket; }
  // Takes one step of flusher thread `flusher`. May sleep, but returns at least every 20 ms. With
  // `stopping`, flushes what is published whatever the flush policy says.
  virtual void flush(uint32_t flusher, bool stopping) = 0;

  // Any thread: whether everything published is durable. Called after the workers have stopped, to
  // drain the log.
  virtual bool idle() const = 0;

  // Writes the end of the log, in a scheme without flushers. Called when all workers and flushers
  // have ended.
  virtual void close() {}

  // Any thread: the length of the largest record that reserve() takes, in bytes.
  virtual uint64_t max_record_bytes() const = 0;

  // Any thread: up to which position each stream is durable. It takes no part in the log's work.
  virtual std::vector<uint64_t> durable_positions() const { return {}; }

  // These two are for checkpoints, while the log runs; any thread. They have an entry for each
  // stream.
  //
  // Returns the end of a record up to which every hole is filled; the call may move that on. A
  // record that was published before the call may lie behind it.
  virtual std::vector<uint64_t> published_positions() { return {}; }
  // Returns a number up to which the stream has, or will ever have, only records that are durable.
  virtual std::vector<uint64_t> durable_sequences() const { return {}; }

  // Any thread: the scheme's figures for the output row.
  virtual Counters counters() const { return {}; }

 protected:
  explicit LogScheme(const LogConfig& config);

  DurabilityWaiters& waiters() { return waiters_; }

 private:
  const LogTraits traits_;
  const uint64_t safety_timeout_ns_;
  DurabilityWaiters waiters_;
};

}  // namespace logjam
