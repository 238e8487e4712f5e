// A log for each worker, a number for each record, and passive group commit over all logs
// (NV-Logging, NVM-D).
//
// Only its worker puts records into a log. So a hole needs no latch, only a private addition and
// the number. The worker also persists its log: it leads the flush of its stream when it waits, and
// polls between transactions (logging/stream/stream.h). On `nvm` the records are filled in place,
// and a flush is the write-back and the fence. Daemons and other workers flush the log of a worker
// that is descheduled.
//
// Group commit. A transaction is safe when its number <= pgsn. All workers have made durable the
// records that they have with numbers up to pgsn, and pgsn itself is durable. pgsn is a watermark
// in a separate stream. Each thread that waits or polls may write it, and so may the daemon:
//
//   1 raise `floor_` to the largest number that a commit waits for. In a scheme whose workers draw
//     their numbers without a shared counter, numbers drawn from now on are larger than the floor;
//   2 find the number up to which no worker has a record that is open or not yet durable; and in
//     each log a position, the end of a record, up to which the log is durable, and after which
//     the log has no record up to that number;
//   3 write a watermark record of the smaller of the two numbers, with these positions as its body.
//
// When that record is written, all records with numbers up to it, drawn or still to be drawn, are
// durable, and lie before its positions. Idle workers stall no other worker (R5), in memory or at
// recovery, and write nothing.
//
// Safe when number <= pgsn keeps R1: what a transaction depends on has a smaller number, in
// whatever log.
//
// Cut: the number of the last watermark, if that watermark is met, which means that every log is
// valid up to the watermark's position in it. A crash alone leaves every watermark met, because its
// positions were durable before it was written; so nothing acknowledged is lost (R1). A log that
// was damaged since ends before a position: it bounds the cut to the number of the last watermark
// that is met in it, or of its own last record if that is larger. Up to such a number it lacks no
// record: those up to the watermark's lie before the watermark's position, and a worker's numbers
// grow in its log. So no record up to the cut is missing in any log. What a member of the set
// depends on has a smaller number, so it is in the set too (R4). If the last record of a
// transaction is in the set, so are all its other records, which have smaller numbers and are
// before the last one in the same log (R2). The last writer is the one with the largest number,
// because numbers grow along overwrites (R3).
//
// Protocol. Only its worker uses WorkerState::end. WorkerState::log has its protocol in
// worker_log.h; the scheme may load `floor_` when it draws the number of a record.
//   publish     The worker raises `wanted_` to the number, before another thread can see the
//               version; records the durable sequence; says that the record is published.
//   persisted_up_to
//               The thread looks at the log, and then at how far the stream is durable. If the
//               stream is durable up to the end that it saw, so is every record that is published
//               with a number below the place that it saw.
//   advance_watermark
//               The thread stores `floor_`, fences, and loads the places. So, for each worker, it
//               sees the worker's bound, or the worker draws its number after the floor was raised,
//               hence above it.
// `floor_`, `watermark_` and `watermark_end_` are stored under `advancing_`, which also guards
// `positions_`. The thread that holds it may have looked at a stream before that became durable.
// If workers poll, another thread leaves the look to the holder, because the next poll looks again.
// Otherwise the other thread waits for the lock, or the flusher of watermarks would sleep although
// a watermark can advance. `watermark_end_` is stored (release) after its durable sequence was
// recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "logging/recovery_rule.h"
#include "logging/schemes/common/multi_stream_scheme.h"
#include "logging/schemes/common/watermark_scheme.h"
#include "logging/schemes/nvm/worker_log.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

class PerWorkerScheme : public MultiStreamScheme {
 public:
  explicit PerWorkerScheme(const LogConfig& config);

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override;
  bool is_durable(const CommitPoint& point) const override {
    if (point.sequence == 0) return true;
    const bool of_one_worker =
        point.scope == CommitPoint::Scope::kStream && point.index < workers();
    return point.sequence <=
           (of_one_worker ? persisted_up_to(point.index) : durable_sequence(watermark_stream()));
  }
  void poll(uint32_t worker) override;
  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role);
  void wait_durable(uint32_t worker, const CommitPoint& point) override;
  bool idle() const override;
  // Returns the last durable watermark, which stands for all streams.
  std::vector<uint64_t> durable_sequences() const override {
    return std::vector<uint64_t>(streams(), durable_sequence(watermark_stream()));
  }

 protected:
  // Reserves a hole of `bytes`. `draw_number` returns the number, which is at least `bound`. Called
  // by the thread of `worker`.
  template <class DrawNumber>
  LogReservation open(uint32_t worker, uint32_t bytes, uint64_t bound,
                      const DrawNumber& draw_number) {
    WorkerState& me = logs_[worker];
    // The wait comes before the record has a number, because other workers would wait for that
    // number.
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

  // Returns a number up to which the worker's log has no record that is open or not yet durable. If
  // `position` is not null, it becomes a record's end up to which the log is durable; no record up
  // to that number lies after it.
  uint64_t persisted_up_to(uint32_t worker, uint64_t* position = nullptr) const;
  bool watermark_wanted() const {
    return watermark_.load(platform::memory_order_acquire) < wanted_.wanted();
  }

  // Takes `advancing_`. Returns false if another thread looks, and that is enough.
  bool take_look() LJ_TRY_ACQUIRE(true, advancing_);
  // Wakes the workers, and the flusher of the watermarks, that have found the number of an open
  // record smaller than it is.
  void wake_others();

  uint64_t filled(uint32_t index) override;
  void advance_watermark() LJ_REQUIRES(advancing_);

  WorkerStates<WorkerState> logs_;
  WantedWatermark wanted_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> floor_{0};
  alignas(platform::kCacheLine) platform::SpinLock advancing_;
  platform::atomic<uint64_t> watermark_{0}, watermark_end_{0};
  std::vector<uint64_t> positions_
      LJ_GUARDED_BY(advancing_);  // of the watermark that is written now
  const bool workers_poll_;
};

// Returns the registration of a scheme of this kind. `number` is the name of its number, for the
// operator.
inline SchemeInfo per_worker_scheme(const std::string& number, SchemeInfo info) {
  info.streams = "1 per worker, 1 of watermarks";
  info.buffer = "private";
  info.flushed_by = "each worker its own; daemons";
  info.recovery = watermarks_cut(number);
  info.stream_count = [](uint32_t, const LogConfig& config) { return config.workers + 1; };
  return info;
}

}  // namespace logjam
