#include "logging/stream/flush_daemon.h"

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kDeviceLookNs = 1'000'000;
constexpr uint64_t kLatchBusyNs = 100'000;
constexpr uint64_t kHoleNs = 100'000;

}  // namespace

void FlushDaemon::rely(bool begins) {
  stream_.count_relying(begins);
  if (!begins) return;
  platform::full_fence();
  const uint32_t state = state_.load(platform::memory_order_relaxed);
  if (state == kNapping || (state == kTimed && stream_.policy().immediate())) wake();
}

void FlushDaemon::turn(Flush flush) {
  if (nap_if_workers_flush(flush)) return;
  const Turn taken = take_step(flush);
  if (taken == Turn::kNotTaken) return platform::sleep_ns(kLatchBusyNs);
  // Returns first: the scheme may have to tell other streams of the advance before the daemon
  // sleeps.
  if (taken == Turn::kAdvanced) return;
  if (stream_.under_way() != 0) {
    if (!leads_) stream_.wait_for_device(kDeviceLookNs);
    return;
  }
  const Progress filled = stream_.look();
  if (stream_.due(filled) != Due::kNo) return let_hole_be_filled();
  if (filled.position == stream_.durable()) return sleep_idle(flush);
  stream_.note_publish();  // a step may have cleared the time stamp of the latest publish
  park(kTimed, std::min(stream_.ns_until_due(), kMostSleepNs),
       [this] { return stream_.due(stream_.look()) != Due::kNo; });
}

// Naps if a worker leads, or has taken steps since the last call. Returns whether it napped.
bool FlushDaemon::nap_if_workers_flush(Flush flush) {
  // Where log threads preempt workers, only a held lead counts: after it, the daemon flushes.
  const uint64_t helped = stream_.helped();
  const bool workers_flush = lead_.held() || (naps_ && helped != helped_seen_);
  helped_seen_ = helped;
  if (!workers_flush || flush == Flush::kNow || !nobody_waits()) return false;
  idle_naps_ = 0;
  nap();
  return true;
}

FlushDaemon::Turn FlushDaemon::take_step(Flush flush) {
  if (leads_) {
    if (!lead_.take()) return Turn::kNotTaken;
    stream_.latch().lock();
  } else if (!stream_.latch().try_lock()) {
    return Turn::kNotTaken;
  }
  const bool may_block = leads_ && writes_one_at_a_time();
  bool advanced = stream_.step(flush, may_block).advanced;
  if (leads_ && !advanced && stream_.under_way() != 0) {
    stream_.wait_for_device(stream_.all_busy() ? kMostSleepNs : next_start_ns());
    advanced = stream_.step(flush, may_block).advanced;
  }
  if (flush == Flush::kNow && stream_.idle()) stream_.write_log_end();
  stream_.latch().unlock();
  if (leads_) give_up_lead();
  if (advanced) waiters_.wake_durable();
  return advanced ? Turn::kAdvanced : Turn::kStepped;
}

// Sleeps until something is published. After workers have flushed, the first kNapsBeforeIdle calls
// only nap. A publisher that waits for space does not keep the daemon awake: a hole must be filled
// first, and the publisher that fills the hole wakes the daemon.
void FlushDaemon::sleep_idle(Flush flush) {
  stream_.forget_wanted();
  if (naps_ && flush == Flush::kByPolicy && nobody_waits() && ++idle_naps_ <= kNapsBeforeIdle) {
    nap();
  } else {
    park(kIdle, kMostSleepNs, [this] { return !stream_.idle(); });
  }
}

// Lets a worker fill the record that holds a write up. If the daemon preempts workers, perhaps it
// has preempted this one: sleeps until a record is filled, or for a moment. Otherwise returns at
// once.
void FlushDaemon::let_hole_be_filled() {
  const uint64_t seen = stream_.look().position;
  if (preempts_) park(kIdle, kHoleNs, [&] { return stream_.look().position != seen; });
}

// Returns whether the daemon may sleep until a write ends. It may if it would start no other write:
// the device takes one write at a time, or the last write took less than its gap.
bool FlushDaemon::writes_one_at_a_time() {
  if (stream_.depth() == 1) return true;
  return stream_.policy().immediate() && stream_.writes_within_gap() && nobody_waits();
}

// Returns for how long the daemon may sleep on the device before it looks whether another write can
// start. No publisher wakes the daemon during this time.
uint64_t FlushDaemon::next_start_ns() const {
  const uint64_t gap_ns = stream_.gap_ns();
  if (!stream_.policy().immediate() || gap_ns == 0) return kMostSleepNs;
  const uint64_t left_ns = stream_.ns_until_due();
  return left_ns == 0 ? gap_ns : left_ns;
}

}  // namespace logjam
