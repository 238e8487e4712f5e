// The plug: what a way of writing the log must say, and all that the engine knows of it.
//
// cc/ calls it in one place (cc/commit_log.h), the worker loop polls it, recovery asks it for the
// cut. A scheme composes parts from logging/ (buffer, stream, device) and registers itself at the
// bottom of its own file; nothing else names it.
//
// Words, as in the papers. LSN, SSN, GSN, TID: all are a *sequence number* here, 64 bits, larger
// than every sequence number the transaction read or overwrites, and 0 for the initial load. A
// *ticket* is a sequence number and a hole in a log buffer. A *point* is what an acknowledgement
// waits for. A *stream* is one buffer, one device, one flusher and its durable watermark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logging/counters.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

class ReadStamps;
struct RecordHeader;

// What a transaction depends on, known at its serialization point.
struct Dependencies {
  uint64_t max_read = 0;         // largest sequence number it read, 0 if none
  uint64_t max_overwritten = 0;  // largest sequence number it overwrites, 0 if none
  uint64_t max_war = 0;  // largest one that read what it overwrites (ReadStamps), 0 if not asked
  bool reads = false;    // false only if it wrote without reading anything
  bool commits = true;   // the record is to commit it: publish() will say the same, or void
};

// What reserve() hands out. The hole is `bytes` contiguous bytes, 8-byte aligned, owned by the
// reserving worker until it publishes the ticket; null when the scheme logs nothing.
struct Ticket {
  uint64_t sequence = 0;
  uint64_t position = 0;  // byte offset of the hole in its stream
  std::byte* hole = nullptr;
  uint32_t bytes = 0;
  uint32_t stream = 0;
};

// What a commit waits for. Schemes read the fields as they please, but for `queue`; 0, 0 is always
// durable.
struct Point {
  static constexpr uint32_t kQueues = 2;

  uint64_t sequence = 0;
  uint32_t stream = 0;
  // A worker's points become durable in order within a queue (Poplar's Qwr and Qww), below kQueues.
  uint32_t queue = 0;
};

struct Traits {
  uint32_t streams = 1;
  uint32_t flushers = 1;
  // Log order is serialization order: recovery may stop anywhere and has a consistent prefix.
  bool serial_order = true;
  // Draw the number before OCC validates its reads (and publish a void record if that fails).
  bool sequence_before_validation = false;
  // Records hold commands (record.h) instead of values: recovery executes them again in log order,
  // so that must be the serialization order, read-write precedences included.
  bool commands = false;
  // False: nothing is logged, commits are durable at once by definition (scheme `none`).
  bool logs = true;
  // R8: not empty if what is acknowledged may be lost; printed in every output row.
  std::string unsafe;
};

// The usable part of the log: stream s counts up to byte `bytes[s]`; `sequence` is a bound some
// schemes cut by instead. `why` says what ended it, for the operator.
struct Cut {
  std::vector<uint64_t> bytes;
  uint64_t sequence = ~uint64_t{0};
  std::string why;
};

// What the log reader found at the end of one stream.
struct StreamTail {
  uint64_t bytes = 0;          // of valid records, from the start, without a gap
  uint64_t last_sequence = 0;  // of the last valid record, 0 if none
  uint64_t last_mark = 0;      // of the last valid kMark, 0 if none
  uint64_t records = 0;
  // The bodies of its kMarks, one after the other, a batch each: shared, for tails are copied.
  std::vector<std::shared_ptr<const std::vector<uint64_t>>> mark_words;
  std::string why;  // what ended it: "end of log", "torn record at byte 812: ..."
};

class LogScheme {
 public:
  virtual ~LogScheme() = default;

  virtual Traits traits() const = 0;

  // Where committing writers stamp what they read, if numbers are to grow along write-after-read
  // too; such a scheme also asks for sequence_before_validation. Null: nobody stamps.
  virtual ReadStamps* read_stamps() { return nullptr; }

  // Called at the serialization point. Never fails; waits while the buffer is full.
  // `bytes` is a multiple of 8 and at most max_record_bytes(). A worker may hold one ticket.
  virtual Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) = 0;

  // The hole is filled (ok) or must be skipped (a record of kind void is in it). `commits` says
  // whether this record commits a transaction (with --log_records=op most do not).
  virtual Point publish(uint32_t worker, const Ticket& ticket, bool ok, bool commits) = 0;

  // What a transaction that wrote nothing must wait for.
  virtual Point observe(uint32_t worker, const Dependencies& deps) = 0;

  // Monotone: once true, true for ever.
  virtual bool is_durable(const Point& point) const = 0;

  // A worker's share of the scheme's work, called between transactions and while waiting.
  virtual void tick(uint32_t worker) = 0;

  // One step of flusher thread `flusher`; may sleep, but returns at least every 20 ms. `stopping`:
  // flush what is published whatever the flush policy says.
  virtual void flush(uint32_t flusher, bool stopping) = 0;

  // Blocks the calling worker until `point` is durable. The default parks it (see wake_waiters).
  virtual void wait_durable(uint32_t worker, const Point& point);

  // Everything published is durable. Called after the workers stopped, to drain.
  virtual bool idle() const = 0;

  // The last words, of a scheme without flushers. Called when nobody publishes or flushes any more.
  virtual void close() {}

  virtual uint64_t max_record_bytes() const = 0;

  // Recovery: how much of the streams may be used, and whether a record inside survives. Monotone:
  // what survives the cut of tails survives that of longer ones, so replay need not wait for ends.
  virtual Cut cut(const std::vector<StreamTail>& tails) const = 0;
  virtual bool survives(const RecordHeader& header, uint32_t stream, const Cut& cut) const = 0;

  // For the output row; read at any time.
  virtual Counters counters() const { return {}; }

  // Protocol of the waiters. Worker w alone stores waiters_[w].point and raises `waiting`; whoever
  // advances a watermark calls wake_waiters(), which unparks those whose point became durable.
  // Store-then-load on both sides (flag then watermark; watermark then flag) is ordered by
  // full_fence(), so one of the two always sees the other: no wake-up is lost.
  void wake_waiters();
  // Unparks one waiter for `stream` whose point is not durable yet, for it must take over a role
  // (see Stream); false if none is seen: one that comes to park later finds the role free
  // (`while_true` below).
  bool wake_one_waiter(uint32_t stream);
  // Blocks `worker` until woken, `point` durable, or `timeout_ns` passed. Does not sleep if
  // `while_true` turns out false behind the fence: a role it relied on has become free.
  void park_waiter(uint32_t worker, const Point& point, uint64_t timeout_ns,
                   const platform::atomic<bool>* while_true = nullptr);

 protected:
  explicit LogScheme(uint32_t workers) : waiters_(workers) {}

 private:
  struct alignas(platform::kCacheLine) Waiter {
    platform::atomic<bool> waiting{false};
    platform::atomic<uint64_t> sequence{0};
    platform::atomic<uint32_t> stream{0};
    platform::Parker bed;
  };
  std::vector<Waiter> waiters_;
};

class Device;

// What a scheme is built from. Devices are owned by the Log (logging/log.h) and outlive the scheme;
// when recovering there are none, and only cut() and survives() are called.
struct LogConfig {
  uint32_t workers = 1;
  uint32_t sockets = 1;
  uint64_t run = 0;                  // seeds record checksums; filled in by Log
  uint64_t buffer_bytes = 64 << 20;  // --log_buffer_mb, per stream
  uint64_t flush_txns = 0;           // --flush_txns, 0: not a criterion
  uint64_t flush_bytes = 0;          // --flush_bytes
  uint64_t flush_us = 0;             // --flush_us
  bool flush_help = true;            // --flush_help: workers may do a late flusher's step
  // Bounds a worker's sleep, in case a wake-up were lost. Nothing relies on it: tests make it so
  // long that a lost wake-up hangs.
  uint64_t safety_timeout_ns = 20'000'000;
  uint32_t carray_slots = 4;  // --carray_slots, of each consolidation array
  // For tests: every so manyth insert goes through the consolidation array though nothing is in
  // its way. 0: none.
  uint32_t force_consolidation = 0;
  // For tests: whoever reserves shows for a while a place that is not his
  // (logging/buffer/in_flight.h).
  bool force_stale_bounds = false;
  std::vector<Device*> devices;  // `stripes` for each stream
  uint32_t stripes = 1;
  uint64_t stripe_bytes = uint64_t{512} << 10;  // --stripe_kb

  // Of the schemes that add to the LSN, and of Poplar; powers of two. --hop_bytes, --io_unit_bytes.
  uint64_t hop_bytes = 4 << 20;
  uint64_t io_unit_bytes = 64 << 10;

  uint64_t epoch_us = 40'000;  // --epoch_ms: Silo's
  uint64_t pwal_group = 16;    // --pwal_ngroup: commits that a worker flushes together
  bool pwal_unsafe = false;    // --pwal_ack=unsafe: after the worker's own flush

  // Of the core that the worker is pinned to; pretended sockets get equal shares of the workers.
  uint32_t socket_of(uint32_t worker) const;
};

// The five choices, for `logjam list` (DESIGN section 3).
struct SchemeInfo {
  std::string_view name;
  std::string_view streams, buffer, sequence, flushed_by, safe_when, cut, source;
  // Its workers persist records where they lie: only on devices that are memory (`nvm`), and not
  // striped, which is Stream's business.
  bool in_place = false;
  // How many streams this scheme wants of `directories` log directories and `workers` workers.
  std::function<uint32_t(uint32_t directories, const LogConfig&)> stream_count;
  std::function<std::unique_ptr<LogScheme>(const LogConfig&)> make;
  // Flags on which the cut depends: recovery takes them from the log.
  std::vector<std::string_view> cut_flags = {};
};

// The registry. A scheme's file holds one static SchemeRegistration.
class SchemeRegistration {
 public:
  explicit SchemeRegistration(SchemeInfo info);
};
// All schemes, by name.
const std::vector<SchemeInfo>& all_schemes();
const SchemeInfo* find_scheme(std::string_view name);

}  // namespace logjam
