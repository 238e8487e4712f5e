// A log for each worker, and passive group commit over all logs (NV-Logging, NVM-D).
//
// Only the log's worker puts records into a log, so a reservation needs no latch. The worker also
// persists its log: it leads the flush of its stream when it waits, and polls between transactions.
// On `nvm` the records are filled in place, and a flush is the write-back and the fence. Daemons
// and other workers flush the log of a worker that is descheduled.
//
// Group commit. A transaction is safe when its number <= pgsn. All records with numbers up to pgsn
// are durable, and pgsn itself is durable. pgsn is a watermark in a separate stream. Each thread
// that waits or polls may write it, and so may the daemon:
//
//   1 raise `floor_` to the largest number that a commit waits for. In a scheme without a shared
//     counter, numbers drawn after that are larger than the floor;
//   2 find the number N up to which no worker has a record that is open or not yet durable. In each
//     log, find a record's end up to which the log is durable, such that all records after this end
//     have numbers above N;
//   3 write a watermark record of the smaller of the floor and N, with these ends as its body.
//
// When this watermark record is written, all records with numbers up to its number, drawn or still
// to be drawn, are durable, and lie before the ends in its body. Every record that a transaction
// depends on has a smaller number, in whatever log (R1). Idle workers stall no worker (R5), and
// write nothing.
//
// Cut: watermarks_cut() in logging/recovery_rule.h, which has the proof of R4. After a crash that
// does not damage the logs, every watermark is met, because the ends in its body were durable
// before it was written. So no acknowledged transaction is lost (R1). If the last record of a
// transaction is used, so are all its other records, which have smaller numbers and lie earlier in
// the same log (R2). The last writer has the largest number, because numbers grow along overwrites
// (R3).
//
// Protocol (worker_log.h has that of WorkerState::log). Only the worker uses WorkerState::end.
//   publish     The worker raises `wanted_` to the number. Then it records the durable sequence,
//               and says that the record is published. With LogParts::unlock another thread may see
//               the version before, and wait for its number. The open record holds up the group
//               commit until its publish, which raises `wanted_` and tells the stream's flusher.
//   persisted_up_to
//               The thread looks at the log, and then at how far the stream is durable. If the
//               stream is durable up to the end that the thread saw, so is every published record
//               with a number below the `place` that the thread saw.
//   advance_watermark
//               The thread stores `floor_`, fences, and looks at the logs. So the thread sees a
//               worker's bound, or the worker draws its number above the floor.
// `floor_`, `watermark_` and `watermark_end_` are stored under `advancing_`. The holder of
// `advancing_` may have looked at a stream before the stream became durable. If workers poll, the
// next poll looks again. Otherwise another thread must wait for the lock and look, or the flusher
// of watermarks would sleep although a watermark can advance. `watermark_end_` is stored (release)
// after its durable sequence was recorded.
#pragma once

#include "logging/schemes/common/watermark_scheme.h"
#include "logging/schemes/nvm/worker_log.h"

namespace logjam {

class PerWorkerScheme : public MultiStreamScheme {
 public:
  explicit PerWorkerScheme(const LogConfig& config)
      : MultiStreamScheme(config),
        logs_(config.workers),
        wanted_(config.workers),
        positions_(config.workers + 1),
        workers_poll_(config.flush_help) {}

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    if (commits(role)) wanted_.raise(worker, reservation.sequence);
    const uint64_t end = reservation.position + reservation.bytes;
    LJ_ASSERT_IN_TESTS(end == logs_[worker].end && end > logs_[worker].log.filled());
    record_durable_sequence(worker, end, reservation.sequence);
    logs_[worker].log.note_fill(end);
    return CommitPoint::in_every_stream(reservation.sequence);
  }
  bool is_durable(const CommitPoint& point) const override {
    if (point.sequence == 0) return true;
    const bool of_one_worker =
        point.scope == CommitPoint::Scope::kStream && point.index < workers();
    return point.sequence <=
           (of_one_worker ? persisted_up_to(point.index) : durable_sequence(watermark_stream()));
  }
  void poll(uint32_t worker) override {
    MultiStreamScheme::poll(worker);
    stream(watermark_stream()).poll();
  }
  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role) {
    MultiStreamScheme::flush(flusher, stopping);
    // The next watermark may have waited for this flush.
    if (flusher != watermark_stream() && watermark_wanted()) notify_flusher(watermark_stream());
  }
  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    for (uint32_t i = 0; i < workers() && !is_durable(point); ++i) {
      const uint32_t index = (worker + i) % workers();
      stream(index).wait(worker, CommitPoint::in_stream(index, point.sequence));
    }
    stream(watermark_stream())
        .wait(worker, CommitPoint::in_stream(watermark_stream(), point.sequence));
  }
  bool idle() const override { return !watermark_wanted() && MultiStreamScheme::idle(); }

  std::vector<uint64_t> durable_sequences() const override {
    return std::vector<uint64_t>(streams(), durable_sequence(watermark_stream()));
  }

 protected:
  // Opens a record. draw_number() returns its number, at least `bound`. The worker calls open().
  template <class DrawNumber>
  LogReservation open(uint32_t worker, uint32_t bytes, uint64_t bound,
                      const DrawNumber& draw_number) {
    WorkerState& me = logs_[worker];
    // The wait comes before the draw, because other workers wait for a record that has its number.
    const uint64_t waited = stream(worker).wait_for_space(me.end + bytes);
    const auto [sequence, others_may_wait] = me.log.open(bound, draw_number);
    if (others_may_wait) wake_others();
    const uint64_t begin = me.end;
    me.end += bytes;
    return reservation(worker, begin, bytes, sequence, waited);
  }
  uint64_t floor() const { return floor_.load(platform::memory_order_relaxed); }

 private:
  struct WorkerState {
    uint64_t end = 0;
    WorkerLog log;
  };

  uint32_t workers() const { return logs_.size(); }
  uint32_t watermark_stream() const { return workers(); }

  // Returns a number up to which the worker's log has no record that is open or not durable. Stores
  // in `position`, if not null, a record's end up to which the log is durable. No record with a
  // number up to the returned number lies after this end.
  uint64_t persisted_up_to(uint32_t worker, uint64_t* position = nullptr) const {
    const auto [place, filled] = logs_[worker].log.look();
    if (stream(worker).durable() < filled) {
      const uint64_t sequence = durable_sequence(worker);
      if (position != nullptr) *position = durable_sequence_end(worker);
      return sequence;
    }
    if (position != nullptr) *position = filled;
    return place == WorkerLog::kNone ? place : place - 1;
  }
  bool watermark_wanted() const {
    return watermark_.load(platform::memory_order_acquire) < wanted_.wanted();
  }

  // Returns false if this thread need not look, because another thread looks.
  bool take_look() LJ_TRY_ACQUIRE(true, advancing_) {
    if (workers_poll_) return advancing_.try_lock();
    advancing_.lock();
    return true;
  }
  // Wakes the workers and the flusher of watermarks. They may have gone to sleep because of a
  // number that only this worker's bound blocked.
  void wake_others() {
    waiters().wake_durable();
    if (watermark_wanted()) notify_flusher(watermark_stream());
  }

  uint64_t filled(uint32_t index) override {
    if (index != watermark_stream()) return logs_[index].log.filled();
    if (watermark_wanted() && take_look()) {
      advance_watermark();
      advancing_.unlock();
    }
    return watermark_end_.load(platform::memory_order_acquire);
  }
  void advance_watermark() LJ_REQUIRES(advancing_) {
    const uint32_t index = watermark_stream();
    const uint64_t begin = watermark_end_.load(platform::memory_order_relaxed),
                   end = begin + watermark_body_bytes();
    // One watermark record is written at a time. The next watermark covers later commits.
    if (begin != stream(index).durable() || !fits(index, end)) return;
    uint64_t least = std::max(floor(), wanted_.wanted());
    floor_.store(least, platform::memory_order_relaxed);
    platform::full_fence();
    for (uint32_t worker = 0; worker < workers(); ++worker) {
      least = std::min(least, persisted_up_to(worker, &positions_[worker]));
    }
    if (least <= watermark_.load(platform::memory_order_relaxed)) return;
    positions_[index] = begin;
    write_watermark_body(index, begin, least, positions_);
    count_watermark();
    record_durable_sequence(index, end, least);
    watermark_.store(least, platform::memory_order_release);
    watermark_end_.store(end, platform::memory_order_release);
  }

  WorkerStates<WorkerState> logs_;
  WantedWatermark wanted_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> floor_{0};
  alignas(platform::kCacheLine) platform::SpinLock advancing_;
  platform::atomic<uint64_t> watermark_{0}, watermark_end_{0};
  std::vector<uint64_t> positions_ LJ_GUARDED_BY(advancing_);  // the body of the next watermark
  const bool workers_poll_;
};

// Returns a registration. Messages of recovery call the scheme's sequence number `number`.
inline SchemeInfo per_worker_scheme(const std::string& number, SchemeInfo info) {
  info.streams = "1 per worker, 1 of watermarks";
  info.buffer = "private";
  info.may_have.pace = kEveryPart.pace;
  info.may_have.rounds = true;
  info.flushed_by = "each worker its own; daemons";
  info.recovery = watermarks_cut(number);
  info.stream_count = [](uint32_t, const LogConfig& config) { return config.workers + 1; };
  return info;
}

}  // namespace logjam
