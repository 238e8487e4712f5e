// Where a worker's time goes, sampled.
//
// Reading the clock at every change of activity costs tens of nanoseconds a time; done for one
// transaction in kSampleEvery it disappears. A sample runs from the start of one transaction to the
// start of the next, so the shares add up to all of the worker's time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "platform/clock.h"

namespace logjam {

enum class Activity : uint8_t {
  kWork,           // the transaction itself, indexes, concurrency control
  kLockWait,       // waiting for a row lock, backing off after an abort
  kLogContention,  // reserve(): waiting for the buffer's mutex, its space, its watermark
  kLogWork,        // encoding, publishing, ticking, acknowledging
  kFlushWait,      // waiting for durability
  kIdle,           // an open loop waiting for the next arrival
  kCount,
};
std::string_view name_of(Activity activity);

// One worker's; only that worker touches it while it runs.
class Breakdown {
 public:
  static constexpr uint64_t kSampleEvery = 61;  // prime: no beat with a workload's own rhythm

  explicit Breakdown(bool enabled = false) : enabled_(enabled) {}

  // Called at the start of every transaction.
  void start_transaction() {
    if (!enabled_) return;
    if (sampling_) charge();
    sampling_ = ++transactions_ % kSampleEvery == 0;
    if (sampling_) {
      activity_ = Activity::kWork;
      since_ = platform::ticks();
    }
  }

  // Changes what time is charged to; returns what it was charged to before.
  Activity enter(Activity next) {
    if (!sampling_) return Activity::kWork;
    charge();
    const Activity before = activity_;
    activity_ = next;
    return before;
  }

  // Discards what was counted (end of warm-up).
  void reset() { ticks_ = {}; }
  // Ends the running sample without counting it.
  void stop() { sampling_ = false; }

  const std::array<uint64_t, static_cast<size_t>(Activity::kCount)>& sampled_ticks() const {
    return ticks_;
  }

 private:
  void charge() {
    const uint64_t now = platform::ticks();
    ticks_[static_cast<size_t>(activity_)] += now - since_;
    since_ = now;
  }

  bool enabled_;
  bool sampling_ = false;
  Activity activity_ = Activity::kWork;
  uint64_t since_ = 0;
  uint64_t transactions_ = 0;
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> ticks_{};
};

// Charges a scope to `activity`.
class Charge {
 public:
  Charge(Breakdown& breakdown, Activity activity)
      : breakdown_(breakdown), before_(breakdown.enter(activity)) {}
  ~Charge() { breakdown_.enter(before_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Breakdown& breakdown_;
  Activity before_;
};

}  // namespace logjam
