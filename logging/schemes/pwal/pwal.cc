// `pwal`: each worker has its own log buffer and log file, to which no other worker writes. All
// workers share one counter (Kamiya et al., P-WAL, Algorithm 2).
//
// LSN: 1, 2, 3, ... by fetch-and-add, one for each record. A record's LSN is larger than the LSNs
// that the transaction depends on, which were drawn before. LSNs grow in each file.
//
// Flushing. A worker flushes its buffer, and waits for that flush, every NGROUP commits, and also
// when its buffer is full. As in the paper (Algorithm 2, line 4), it flushes inside the log insert,
// while the transaction holds its row locks (not with --test=pwal_unlocked_flush:1). An incomplete
// group is flushed by the thread of its buffer after a delay (1 ms, or --flush=us).
//
//   default              NGROUP is 16, as in the paper. A worker that has to wait flushes its own
//                        and other workers' buffers at once. Where log threads preempt workers
//                        (LogConfig::preemptible_workers), there are no groups.
//   --pwal_ngroup=N      No worker flushes an incomplete group at once, and there are groups even
//                        where log threads preempt workers. Under --commit=sync a worker has one
//                        commit in its buffer, so every commit waits for the delay, unless N is 1.
//   --flush_help=false   The threads make all flushes, and workers wait for them.
//
// Safe when (--ack=safe) all records with LSNs up to the transaction's LSN, present or future, are
// on disk in every file. All records that the transaction depends on have smaller LSNs (R1).
//
// The paper acknowledges after the worker's flush of its buffer (--ack=unsafe). This is enough if
// locks are kept until the flush (--locks=write). Under early lock release, a transaction can be
// acknowledged and recovered although a transaction from which it read is lost: R1 and R4 break.
//
// Cut. The least of the files' last LSNs (R4: min_cut()). If the last record of a transaction is
// used, so are all records of the transaction, which lie earlier in the same file (R2). The last
// writer has the largest LSN (R3). With --ack=unsafe, all records are used.
//
// Idle workers (R5). A thread flushes, or waits for, an idle worker's file. If the file's last LSN
// is below the counter's value, the thread writes a watermark of this value into the file. If one
// worker of N is busy, every acknowledgement costs N writes. This is the price of R1 here.
//
// Protocol. private_buffer.h proves how a watermark gets into an idle worker's buffer. `recorded`
// is raised (release) to an LSN after the LSN's durable sequence was recorded.
#include <gflags/gflags.h>

#include "logging/schemes/common/multi_stream_scheme.h"
#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/pwal/private_buffer.h"
#include "platform/test_value.h"

DECLARE_uint64(pwal_ngroup);

namespace logjam {
namespace {

using platform::memory_order_acquire, platform::memory_order_relaxed,
    platform::memory_order_release;

constexpr uint64_t kIdleDelayUs = 1000;
constexpr uint64_t kNoGroup = ~uint64_t{0};

const platform::TestValue unlocked_flush("pwal_unlocked_flush");

// Returns how many commits a worker flushes together. Where log threads preempt workers, only the
// log threads decide when to flush, unless --pwal_ngroup is given.
uint64_t group(const LogConfig& config) {
  return FLAGS_pwal_ngroup == 0 && config.preemptible_workers ? kNoGroup : pwal_ngroup();
}

LogConfig grouped(LogConfig config) {
  if (group(config) == kNoGroup) return config;
  if (config.flush_txns == 0 && config.flush_bytes == 0) config.flush_txns = group(config);
  if (config.flush_us == 0) config.flush_us = kIdleDelayUs;
  return config;
}

class Pwal final : public MultiStreamScheme {
 public:
  explicit Pwal(const LogConfig& config)
      : MultiStreamScheme(grouped(config), FLAGS_pwal_ngroup <= 1 ? Flush::kNow : Flush::kByPolicy),
        unsafe_(acknowledges_unsafely()),
        locked_flush_(unlocked_flush.get() == 0),
        group_(group(config)) {
    for (uint32_t s = 0; s < streams(); ++s) buffers_.push_back(std::make_unique<Buffer>(counter_));
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    PrivateBuffer& records = buffers_[worker]->records;
    for (uint64_t waited = 0;;) {
      waited += stream(worker).wait_for_space(records.place().end + bytes);
      const uint64_t lsn = records.open();
      const uint64_t begin = records.place().end;
      if (fits(worker, begin + bytes)) return reservation(worker, begin, bytes, lsn, waited);
      records.cancel();  // a watermark has taken the space
      stream(worker).on_publish(false);
    }
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    Buffer& buffer = *buffers_[worker];
    buffer.records.publish({reservation.position + reservation.bytes, reservation.sequence});
    if (commits(role)) {
      ++buffer.commits;
      buffer.committed = reservation.sequence;
    }
    return unsafe_ ? CommitPoint::in_stream(worker, reservation.sequence)
                   : CommitPoint::in_every_stream(reservation.sequence);
  }
  void after_publish(uint32_t worker, const LogReservation&, RecordRole) override {
    if (locked_flush_) flush_full_group(worker);
  }

  // Returns, with --ack=unsafe, a point that is durable at once, as in the paper.
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return unsafe_ ? CommitPoint{} : CommitPoint::in_every_stream(deps.max_read);
  }

  void poll(uint32_t worker) override {
    flush_full_group(worker);
    MultiStreamScheme::poll(worker);
  }

  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role) {
    // Wakes the flushers of the streams whose last LSN is smaller than this stream's.
    if (!unsafe_) {
      notify_lagging_flushers(last_lsn(flusher), [&](uint32_t s) { return last_lsn(s); });
    }
    MultiStreamScheme::flush(flusher, stopping);
  }

 private:
  struct Buffer {
    explicit Buffer(platform::atomic<uint64_t>& counter) : records(counter) {}

    PrivateBuffer records;
    uint64_t commits = 0;    // the commits since the owner last flushed
    uint64_t committed = 0;  // the LSN of the last commit
    alignas(platform::kCacheLine) platform::atomic<uint64_t> recorded{0};
  };

  // Flushes the worker's buffer if the worker's group is full, and waits for the flush. No other
  // worker can block the flush: the buffer has no hole, and any thread may write it.
  void flush_full_group(uint32_t worker) {
    Buffer& buffer = *buffers_[worker];
    if (buffer.commits < group_) return;
    buffer.commits = 0;
    stream(worker).wait(worker, CommitPoint::in_stream(worker, buffer.committed), Flush::kNow);
  }
  uint64_t last_lsn(uint32_t index) const { return buffers_[index]->records.place().sequence; }

  uint64_t filled(uint32_t index) override {
    Buffer& buffer = *buffers_[index];
    if (raise_if_idle(index)) notify_flusher(index);  // so that the watermark's delay is bounded
    const auto [end, lsn] = buffer.records.place();
    if (lsn > buffer.recorded.load(memory_order_acquire)) {
      record_durable_sequence(index, end, lsn);
      platform::atomic_max(buffer.recorded, lsn, memory_order_release);
    }
    return end;
  }

  // Writes a watermark if the file is durable up to its end, and its last LSN is smaller than the
  // counter. Any thread may call it.
  bool raise_if_idle(uint32_t index) {
    PrivateBuffer& records = buffers_[index]->records;
    using Place = PrivateBuffer::Place;
    const auto quiet = [&](const Place& at) { return at.end == stream(index).durable(); };
    const Place at = records.place();
    // The counter is loaded last, because this load is expensive: all workers write to the counter.
    if (unsafe_ || !quiet(at) || at.sequence >= counter_.load(memory_order_relaxed)) return false;
    return records.append_if_idle([&](const Place& place, uint64_t counter) {
      const uint64_t end = place.end + kWatermarkBytes;
      if (place.sequence >= counter || !quiet(place) || !fits(index, end)) return place;
      write_watermark(index, place.end, counter);
      return Place{end, counter};
    });
  }

  const bool unsafe_;
  const bool locked_flush_;
  const uint64_t group_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> counter_{0};
};

// Returns a rule that uses all records if --ack=unsafe, as in the paper.
RecoveryRule recovery() {
  RecoveryRule rule = min_cut(&StreamTail::last_sequence, "LSN");
  rule.cut = [safe = rule.cut](const StreamTails& tails) {
    Cut cut = safe(tails);
    if (acknowledges_unsafely()) {
      cut.sequence = ~uint64_t{0};
      cut.why = "none (--ack=unsafe): all of every stream";
    }
    return cut;
  };
  return rule;
}

const SchemeRegistration registration({
    .name = "pwal",
    .differs = "without --ack=unsafe, acknowledges when all that was read is durable, and writes "
               "watermark records into idle files; a write has a checksum, where the paper writes "
               "bodies and then headers",
    .streams = "1 per worker",
    .buffer = "private",
    .sequence = "global fetch-add (LSN)",
    .flushed_by = "worker, every --pwal_ngroup",
    .safe_when = "every stream durable up to its LSN",
    .cut = "least last LSN",
    .source = "P-WAL Alg. 2, 3",
    .recovery = recovery(),
    .stream_count = stream_per_worker,
    .construct = construct<Pwal>,
    .check_flags = check_ack_flag,
    .unsafe = unsafe_ack_flag,
    .recovery_flags = {"ack"},
    .flags = {"ack", "pwal_ngroup"},
});

}  // namespace
}  // namespace logjam
