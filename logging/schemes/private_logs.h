// A log of its own for each worker, a number for each record, and passive group commit over them
// (NV-Logging, NVM-D).
//
// Nobody but its worker puts records into a log, so a hole needs no latch: a private addition, and
// the number. Its worker persists it: it leads the flush of its own stream when it waits, and looks
// in between transactions (logging/stream.h), which on `nvm` is the copy, the write-back and the
// fence. Daemons and other workers do it for one that does not come back.
//
// Group commit. A transaction is safe when its number <= pgsn: up to there all workers have made
// durable what they have, and pgsn itself is durable. It is a mark in a stream of its own, written
// by whoever waits, looks in, or is the daemon:
//
//   1 raise `floor_` to the largest number that somebody waits for: a scheme whose workers draw
//     numbers for themselves draws larger ones from here on;
//   2 look up to which number no worker has one that is open or not yet durable;
//   3 write a mark of the smaller of the two.
//
// When the mark is written, all numbers up to it, drawn or still to be drawn by anybody, are
// durable. Idle workers hold up nobody (R5), in memory or at recovery, and write nothing.
//
// Safe when number <= pgsn keeps R1: what a transaction depends on has a smaller number, in
// whatever log. Cut: the last mark. No record up to it is missing in any log, so the set is closed
// (R4); it has a transaction's last record only with all others, which are before it in the same
// log (R2). The last writer is the one with the largest number, which overwriting follows (R3).
//
// A worker that is descheduled between reserve and publish holds up the acknowledgement of larger
// numbers, nothing else: others go on reserving, filling and persisting.
//
// Protocol. Private::end is the worker's own. `place`, `filled` and `wanted` are stored by the
// worker (release), loaded by anyone (acquire):
//   open       `place` := a bound that the number is not smaller than; fence; the scheme draws the
//              number, and may load `floor_` for it; `place` := the number.
//   published  `wanted` := the number, before anybody can see the version; what the record covers;
//              `filled` := its end; `place` := kNone.
//   undone     loads `place`, then `filled`, then how far the stream is durable. If `place` is what
//              publishing, or opening a later ticket, has stored, all that was published is seen.
//   mark       stores `floor_`, fences, and loads the places. So it sees the bound of a number, or
//              the number was drawn from behind the floor.
// `floor_`, `marked_` and `mark_end_` are stored under `marking_`, a try lock; `mark_end_`
// (release) when it is known what it covers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "logging/schemes/many_streams.h"
#include "platform/spin.h"

namespace logjam {

class PrivateLogs : public ManyStreams {
 public:
  explicit PrivateLogs(const LogConfig& config);

  static uint32_t stream_count(const LogConfig& config) { return config.workers + 1; }

  Point publish(uint32_t worker, const Ticket& ticket, bool ok, bool commits) override;
  Point observe(uint32_t, const Dependencies& deps) override {
    return {deps.max_read, kEveryStream};
  }
  bool is_durable(const Point& point) const override {
    if (point.sequence == 0) return true;
    const bool marked = point.stream == kEveryStream || point.stream == marks();
    return point.sequence <= (marked ? durable_sequence(marks()) : undone(point.stream));
  }
  void tick(uint32_t worker) override;
  void flush(uint32_t flusher, bool stopping) override;
  void wait_durable(uint32_t worker, const Point& point) override;
  bool idle() const override;

  Cut cut(const std::vector<StreamTail>& tails) const override;
  bool survives(const RecordHeader& header, uint32_t, const Cut& cut) const override {
    return header.sequence <= cut.sequence;
  }

 protected:
  // `draw` gives the number, which is at least `bound`.
  template <class Draw>
  Ticket open(uint32_t worker, uint32_t bytes, uint64_t bound, const Draw& draw) {
    Private& log = logs_[worker];
    // Before it has a number that others would wait for.
    stream(worker).wait_for_space(log.end + bytes);
    log.place.store(bound, platform::memory_order_release);
    platform::full_fence();
    const uint64_t sequence = draw();
    log.place.store(sequence, platform::memory_order_release);
    const uint64_t begin = log.end;
    log.end += bytes;
    return ticket(worker, begin, bytes, sequence);
  }
  uint64_t floor() const { return floor_.load(platform::memory_order_relaxed); }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct alignas(platform::kCacheLine) Private {
    uint64_t end = 0;
    platform::atomic<uint64_t> place{kNone};
    platform::atomic<uint64_t> filled{0};
    platform::atomic<uint64_t> wanted{0};
  };

  uint32_t workers() const { return static_cast<uint32_t>(logs_.size()); }
  // The stream of the marks.
  uint32_t marks() const { return workers(); }

  // No number up to it is open or not yet durable in the worker's log.
  uint64_t undone(uint32_t worker) const;
  uint64_t wanted() const;
  bool mark_wanted() const { return marked_.load(platform::memory_order_acquire) < wanted(); }

  uint64_t filled(uint32_t index) override;
  void mark();

  std::vector<Private> logs_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> floor_{0};
  alignas(platform::kCacheLine) platform::SpinLock marking_;
  platform::atomic<uint64_t> marked_{0}, mark_end_{0};
};

}  // namespace logjam
