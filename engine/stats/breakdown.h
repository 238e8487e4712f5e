// Measures by samples where a worker's time goes. In one of kSampleEvery transactions, the
// breakdown reads the clock at every change of activity. It reads no clock in the other
// transactions, because a reading costs tens of nanoseconds. A sample runs from the start of one
// transaction to the start of the next. Waits for space in the log are so rare that samples would
// miss most of them, so the breakdown times each of these waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace logjam {

enum class Activity : uint8_t {
  kWork,           // the transaction itself, indexes, concurrency control
  kLockWait,       // waiting for a row lock, or backing off after an abort
  kLogContention,  // in reserve(): drawing a number, waiting for the buffer's mutex or watermark
  kSpaceWait,      // waiting for space in the log buffer
  kLogWork,        // encoding, publishing, polling, acknowledging
  kFlushWait,      // waiting for durability
  kIdle,           // in an open loop: waiting for the next arrival
  kCount,
};
inline std::string_view name_of(Activity activity) {
  LJ_ASSERT(activity < Activity::kCount);
  constexpr std::string_view kNames[] = {
      "work", "lock_wait", "log_contention", "space_wait", "log_work", "flush_wait", "idle"};
  static_assert(std::size(kNames) == static_cast<size_t>(Activity::kCount));
  return kNames[static_cast<size_t>(activity)];
}

// The measured time of a run, in ticks.
//
// Protocol. The main thread stores the begin, and later the end, relaxed, each before it stores the
// next phase (release). A worker that has loaded that phase (acquire) sees begin and end. Any other
// worker may miss a recent store, and then counts some nanoseconds too few or too many.
class MeasuredWindow {
 public:
  void begin(uint64_t now) {
    LJ_ASSERT(!has_begun());
    begin_.store(now, platform::memory_order_relaxed);
  }
  void end(uint64_t now) {
    LJ_ASSERT(ended() == kNever);
    end_.store(now, platform::memory_order_relaxed);
  }

  bool has_begun() const { return begun() != kNever; }
  // Returns the begin (or the end) of the window, or kNever.
  uint64_t begun() const { return begin_.load(platform::memory_order_relaxed); }
  uint64_t ended() const { return end_.load(platform::memory_order_relaxed); }
  // Returns how many of the ticks between `from` and `to` are measured time.
  uint64_t part(uint64_t from, uint64_t to) const {
    const uint64_t first = std::max(from, begun()), last = std::min(to, ended());
    return last > first ? last - first : 0;
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  platform::atomic<uint64_t> begin_{kNever}, end_{kNever};
};

// The breakdown of one worker, which owns it during the run.
class Breakdown {
 public:
  static constexpr uint64_t kSampleEvery = 61;  // prime, unlike a period of the workload

  // Counts transactions from the number `worker` on, so that some workers take samples even if
  // every worker executes few transactions. Counts only time in `window` (null: all time).
  explicit Breakdown(bool enabled = false, uint64_t worker = 0,
                     const MeasuredWindow* window = nullptr)
      : enabled_(enabled), transactions_(worker), window_(window) {}

  // Begins a sample if one is due. Call it at the start of each transaction.
  void start_transaction() {
    if (!enabled_) return;
    if (sampling_) add_elapsed();
    sampling_ = ++transactions_ % kSampleEvery == 0;
    if (sampling_) {
      activity_ = Activity::kWork;
      since_ = platform::ticks();
    }
  }

  // Charges the time from this call on to `next`. Returns the activity that was charged before.
  Activity enter(Activity next) {
    if (!sampling_) return Activity::kWork;
    add_elapsed();
    const Activity before = activity_;
    activity_ = next;
    return before;
  }

  // Charges `ticks` of the time since the last change of activity to kSpaceWait.
  void waited_for_space(uint64_t ticks) {
    if (!enabled_) return;
    const uint64_t now = platform::ticks();
    ticks_[static_cast<size_t>(Activity::kSpaceWait)] += counted(now - ticks, now) / kSampleEvery;
    if (sampling_) since_ += ticks;
  }

  void stop() {
    if (sampling_) add_elapsed();
    sampling_ = false;
  }

  const std::array<uint64_t, static_cast<size_t>(Activity::kCount)>& sampled_ticks() const {
    return ticks_;
  }

 private:
  void add_elapsed() {
    const uint64_t now = platform::ticks();
    ticks_[static_cast<size_t>(activity_)] += counted(since_, now);
    since_ = now;
  }
  uint64_t counted(uint64_t from, uint64_t to) const {
    if (window_ != nullptr) return window_->part(from, to);
    return to > from ? to - from : 0;
  }

  bool enabled_;
  bool sampling_ = false;
  Activity activity_ = Activity::kWork;
  uint64_t since_ = 0;
  uint64_t transactions_;
  const MeasuredWindow* window_;
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> ticks_{};
};

// Charges the time of a scope to `activity`.
class ActivityScope {
 public:
  ActivityScope(Breakdown& breakdown, Activity activity)
      : breakdown_(breakdown), before_(breakdown.enter(activity)) {}
  ~ActivityScope() { breakdown_.enter(before_); }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  Breakdown& breakdown_;
  Activity before_;
};

}  // namespace logjam
