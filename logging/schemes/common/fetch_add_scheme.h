// Schemes whose LSN comes from a fetch-and-add. Workers reserve, fill and publish side by side, and
// the log has holes until the slowest worker has filled its hole. The schemes differ in the
// *tracker* (tracker_base.h), which finds SBL, the position up to which the log has no hole.
//
// Which thread advances SBL:
//
//   --flush_help (default)   every thread that asks for sbl(): a leader before it writes, a worker
//                            that polls, the daemon. The tracker's thread (flusher 0) advances SBL
//                            only if no other thread does.
//   --flush_help=false       the tracker's thread alone, as in ELEDA's pipeline; the daemon
//                            (flusher 1) alone flushes
//   no kOwnThread            every thread that asks, with both values of the flag; the daemon is
//                            flusher 0
//
// Protocol.
//   next_     the LSN sequencer; workers add to it. A record's number is larger than the numbers of
//             the records that it depends on: the worker has seen their versions, so these numbers
//             were drawn before (coherence). The addition is acquire and release. So a worker that
//             draws a number and then validates sees the write locks that workers with smaller
//             numbers took before they drew. (`command` needs this for read-write precedences.)
//   sbl_      stored (release) under advancing_, a try lock; loaded (acquire) by flushers. Before
//             SBL passes a record, the thread acquires what the record's worker released in the
//             tracker. SBL may lie inside a record. So published_positions() loads next_, which is
//             always the end of a record, and waits a little until SBL has reached this end. If a
//             hole stays open, published_positions() returns the end that an earlier call found,
//             and that SBL has reached since.
//   tracking_ where the tracker's thread sleeps. A publisher publishes in the tracker, fences
//             (Stream::on_publish), and loads tracking_ (platform/event_count.h).
// A thread that finds advancing_ taken waits a moment and then uses the current SBL. If the holder
// of advancing_ is descheduled, the daemon asks for SBL again after its nap.
#pragma once

#include "logging/schemes/common/single_stream_scheme.h"
#include "platform/mutex.h"

namespace logjam {

// A tracker whose workers announce a hole before they draw it (worker_words.h).
template <class Tracker>
concept AnnouncesHoles = requires(Tracker& tracker, const platform::atomic<uint64_t>& next) {
  tracker.announce(0, next);
};

// Returns where the hole of `bytes` begins. Only the worker calls it.
template <class Tracker>
uint64_t draw_hole(Tracker& tracker, uint32_t worker, platform::atomic<uint64_t>& next,
                   uint64_t bytes) {
  if constexpr (AnnouncesHoles<Tracker>) tracker.announce(worker, next);
  return next.fetch_add(bytes, platform::memory_order_acq_rel);
}

template <class Tracker>
class FetchAddScheme : public SingleStreamScheme {
 public:
  template <class... TrackerOptions>
  explicit FetchAddScheme(const LogConfig& config, const TrackerOptions&... tracker_options)
      : SingleStreamScheme(config),
        help_(config.flush_help),
        tracker_(config.workers, stream().ring(), tracker_options...) {}

  uint32_t flushers() const override { return Tracker::kOwnThread ? 2 : 1; }
  std::string flusher_name(uint32_t flusher) const override {
    return Tracker::kOwnThread && flusher == 0 ? "log-sbl" : "log-sdl";
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    // The wait comes before the worker owns a hole, because other workers would wait for that hole.
    if (!tracker_.room(worker)) wait_for_room(worker);
    const uint64_t begin = draw(worker, bytes);
    const uint64_t waited = stream().wait_for_space(begin + bytes);
    return reservation(begin, bytes, waited);
  }

  void fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    tracker_.publish(worker, reservation.position, reservation.sequence);
  }
  void after_publish(uint32_t, RecordRole) override {
    if (!helped()) tracking_.notify_after_fence();
  }

  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role) {
    if (Tracker::kOwnThread && flusher == 0) return track(stopping);
    if (stopping) advance();
    SingleStreamScheme::flush(flusher, stopping);
  }

  bool idle() const override {
    return sbl_.load(platform::memory_order_acquire) ==
               next_.load(platform::memory_order_acquire) &&
           SingleStreamScheme::idle();
  }
  uint64_t max_record_bytes() const override {
    return SingleStreamScheme::max_record_bytes() - tracker_.slack_bytes();
  }
  std::vector<uint64_t> published_positions() override {
    const platform::lock_guard<platform::mutex> hold(boundaries_);
    if (sbl() >= reserved_end_) published_end_ = reserved_end_;
    reserved_end_ = next_.load(platform::memory_order_acquire);
    for (platform::SpinWait wait; wait.rounds() < kBoundaryLooks; wait.once()) {
      if (sbl() < reserved_end_) continue;
      published_end_ = reserved_end_;
      break;
    }
    return {published_end_};
  }
  Counters counters() const override {
    const auto durable = static_cast<double>(sdl());  // loaded first, so that SDL is not beyond SBL
    const auto sbl = static_cast<double>(sbl_.load(platform::memory_order_acquire));
    return SingleStreamScheme::counters()
        .add({{"sbl_bytes", sbl}, {"sdl_bytes", durable}})
        .add(tracker_.counters());
  }

 protected:
  // Draws a hole of `bytes` for a word of the tracker. Returns where the hole begins. A scheme may
  // use words that belong to no worker, each by one thread at a time; fill_done() or note_filled()
  // follows.
  uint64_t draw(uint32_t word, uint64_t bytes) {
    const uint64_t begin = draw_hole(tracker_, word, next_, bytes);
    if constexpr (AnnouncesHoles<Tracker>) {
      if (!stream().ring().fits(begin + bytes)) tracker_.must_wait(word, begin);
    }
    return begin;
  }
  void note_filled(uint32_t word, uint64_t begin, uint64_t end) const {
    tracker_.publish(word, begin, end);
  }
  bool fits(uint64_t end) const { return stream().ring().fits(end); }
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }
  uint64_t sbl() const override {
    if (helped()) advance();
    return sbl_.load(platform::memory_order_acquire);
  }

 private:
  static constexpr int kTries = 64;       // tries to take the lock, which is held only briefly
  static constexpr uint32_t kLooks = 80;  // looks at SBL before the tracker's thread parks
  static constexpr uint32_t kBoundaryLooks = 1200;  // looks at SBL, some milliseconds in all
  static constexpr uint64_t kNapNs = 1'000'000;
  static constexpr uint64_t kSafetyTimeoutNs = 20'000'000;
  static constexpr uint64_t kStoppingNapNs = 100'000;

  // Returns whether a thread that asks for SBL also advances it.
  bool helped() const { return help_ || !Tracker::kOwnThread; }

  bool advance() const {
    if (sbl_.load(platform::memory_order_relaxed) == next_.load(platform::memory_order_relaxed)) {
      return false;
    }
    for (int i = 0; !advancing_.try_lock(); ++i) {
      if (i == kTries) return false;
      platform::pause();
    }
    const uint64_t before = sbl_.load(platform::memory_order_relaxed);
    const uint64_t after = tracker_.advance(before, next_);
    LJ_ASSERT(after >= before && after <= next_.load(platform::memory_order_relaxed));
    if (after != before) sbl_.store(after, platform::memory_order_release);
    advancing_.unlock();
    return after != before;
  }

  void wait_for_room(uint32_t worker) {
    for (platform::SpinWait wait; !tracker_.room(worker); wait.once()) {
      if (helped()) {
        advance();
      } else {
        tracking_.notify();
      }
    }
  }

  // Performs one step of the tracker's thread. Tells the stream if SBL has moved.
  void track(bool stopping) {
    if (help_ && !stopping) {
      const uint64_t sbl = sbl_.load(platform::memory_order_relaxed);
      const bool left_alone = sbl == sbl_seen_;
      sbl_seen_ = sbl;
      if (left_alone && advance()) return stream().on_publish(false);
      return platform::sleep_ns(left_alone ? kSafetyTimeoutNs : kNapNs);
    }
    for (platform::SpinWait wait; wait.rounds() < kLooks; wait.once()) {
      if (advance()) return stream().on_publish(false);
    }
    platform::EventCount::Waiter waiter(tracking_);
    const uint32_t seen = waiter.prepare();
    if (advance()) return stream().on_publish(false);
    waiter.sleep(seen, stopping ? kStoppingNapNs : kSafetyTimeoutNs);
  }

  const bool help_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  alignas(platform::kCacheLine) mutable platform::atomic<uint64_t> sbl_{0};
  mutable platform::SpinLock advancing_;
  mutable Tracker tracker_;
  alignas(platform::kCacheLine) platform::EventCount tracking_;
  uint64_t sbl_seen_ = 0;  // only the tracker's thread uses it
  platform::mutex boundaries_;
  // The record end for which published_positions() waits, and the last one that SBL has reached.
  uint64_t reserved_end_ LJ_GUARDED_BY(boundaries_) = 0;
  uint64_t published_end_ LJ_GUARDED_BY(boundaries_) = 0;
};

inline SchemeInfo fetch_add_scheme(SchemeInfo info) {
  fill_in(info.sequence, "byte offset (LSN), fetch-add");
  fill_in(info.safe_when, "LSN <= SDL");
  return lsn_scheme(std::move(info));
}

}  // namespace logjam
