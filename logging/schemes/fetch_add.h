// Schemes whose LSN comes from a fetch-and-add: workers reserve, fill and publish side by side, and
// the log has holes until the slowest has filled his. They differ in the *tracker* (Grasshopper,
// Bitmap, UnitCounts), which finds out up to where there is none: ELEDA's SBL. The stream's durable
// watermark is its SDL.
//
// Who advances SBL. With --flush_help (the default) whoever asks for filled(): the leader before
// it writes, a worker that looks in, the daemon; the tracker's thread (flusher 0) only when nobody
// did for a while, because on busy cores it is woken late. With --flush_help=false that thread
// alone, as in ELEDA's pipeline, and the daemon (flusher 1) alone flushes.
//
// Protocol.
//   next_     the LSN sequencer, workers. A record's number exceeds those of records it depends on
//             because their versions, which it has seen, were drawn before (coherence). Acquire and
//             release: who draws the larger number also sees, when it then validates, the write
//             locks taken before the smaller was drawn (read-write precedences, for `command`).
//   sbl_      stored (release) under advancing_, a try lock; loaded (acquire) by flushers. It
//             passes a record after acquiring what its worker released in the tracker.
//   asleep_   the tracker's thread stores true, fences, advances once more, parks. A publisher
//             publishes in the tracker, fences (Stream::published), and looks at it. One of the two
//             sees the other. Who changes it back to false unparks.
// One that finds advancing_ taken waits a moment and then goes on with the SBL there is; who holds
// it moves it on. Should that be descheduled, the daemon looks again after its nap.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "logging/schemes/single_stream.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

template <class Tracker>
class FetchAdd : public SingleStream {
 public:
  explicit FetchAdd(const LogConfig& config, uint64_t max_write_bytes = Stream::kMaxWriteBytes)
      : SingleStream(config, max_write_bytes), help_(config.flush_help) {
    if (!config.devices.empty()) tracker_.emplace(config, stream().ring());
  }

  Traits traits() const override {
    return {.flushers = Tracker::kOwnThread ? 2u : 1u, .unsafe = ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    // Before it owns a hole, which others would wait for.
    if (!tracker_->room(worker)) wait_for_room(worker);
    const uint64_t begin = next_.fetch_add(bytes, platform::memory_order_acq_rel);
    stream().wait_for_space(begin + bytes);
    return ticket(begin, bytes);
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool commits) override {
    tracker_->publish(worker, ticket.position, ticket.sequence);
    stream().published(commits);
    if (!helped()) wake_tracker();
    return {.sequence = ticket.sequence, .stream = 0};
  }

  void flush(uint32_t flusher, bool stopping) override {
    if (Tracker::kOwnThread && flusher == 0) return track(stopping);
    if (stopping) advance();
    stream().flush(stopping);
  }

  bool idle() const override {
    return sbl_.load(platform::memory_order_acquire) ==
               next_.load(platform::memory_order_acquire) &&
           SingleStream::idle();
  }
  uint64_t max_record_bytes() const override {
    return SingleStream::max_record_bytes() - tracker_->slack_bytes();
  }
  Counters counters() const override {
    auto all = SingleStream::counters();
    all.add(tracker_->counters());
    return all;
  }

 private:
  static constexpr int kTries = 64;       // at a lock that is held for a moment
  static constexpr uint32_t kLooks = 80;  // before the tracker's thread parks
  static constexpr uint64_t kNapNs = 1'000'000;
  static constexpr uint64_t kSafetyTimeoutNs = 20'000'000;
  static constexpr uint64_t kStoppingNapNs = 100'000;

  // Whoever asks advances: a tracker without a thread of its own depends on it.
  bool helped() const { return help_ || !Tracker::kOwnThread; }

  uint64_t filled() const override {
    if (helped()) advance();
    return sbl_.load(platform::memory_order_acquire);
  }

  // Whether SBL moved.
  bool advance() const {
    if (sbl_.load(platform::memory_order_relaxed) == next_.load(platform::memory_order_relaxed)) {
      return false;
    }
    for (int i = 0; !advancing_.try_lock(); ++i) {
      if (i == kTries) return false;
      platform::pause();
    }
    const uint64_t before = sbl_.load(platform::memory_order_relaxed);
    const uint64_t after = tracker_->advance(before, next_);
    if (after != before) sbl_.store(after, platform::memory_order_release);
    advancing_.unlock();
    return after != before;
  }

  void wait_for_room(uint32_t worker) {
    for (platform::SpinWait wait; !tracker_->room(worker); wait.once()) {
      if (helped()) {
        advance();
      } else {
        wake_tracker();
      }
    }
  }

  void wake_tracker() {
    if (asleep_.load(platform::memory_order_relaxed) && asleep_.exchange(false)) bed_.unpark();
  }

  // One step of the tracker's thread. What it finds the daemon must hear of, as from a publisher.
  void track(bool stopping) {
    if (help_ && !stopping) {
      const uint64_t sbl = sbl_.load(platform::memory_order_relaxed);
      const bool left_alone = sbl == sbl_seen_;
      sbl_seen_ = sbl;
      if (left_alone && advance()) return stream().published(false);
      return platform::sleep_ns(left_alone ? kSafetyTimeoutNs : kNapNs);
    }
    for (platform::SpinWait wait; wait.rounds() < kLooks; wait.once()) {
      if (advance()) return stream().published(false);
    }
    asleep_.store(true);
    platform::full_fence();
    if (advance()) {
      asleep_.store(false);
      return stream().published(false);
    }
    bed_.park(stopping ? kStoppingNapNs : kSafetyTimeoutNs);
    asleep_.store(false);
  }

  const bool help_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  alignas(platform::kCacheLine) mutable platform::atomic<uint64_t> sbl_{0};
  mutable platform::SpinLock advancing_;
  mutable std::optional<Tracker> tracker_;  // none when recovering
  alignas(platform::kCacheLine) platform::atomic<bool> asleep_{false};
  platform::Parker bed_;
  uint64_t sbl_seen_ = 0;  // the tracker's thread's own
};

}  // namespace logjam
