// A log stream: one ring buffer, one device (or several, over which it is striped: its lanes,
// logging/lanes.h), and the watermark up to which it is durable. Every scheme is made of these;
// what differs is who fills the ring and how `filled` advances.
//
// Flushing. A *step* looks whether a write under way has finished, advances `durable`, and, when
// the flush policy says it is due, raises the *goal* to what is filled: every lane that is idle and
// has bytes before the goal then starts its next write. Steps are taken under the flush latch, a
// try lock, by whoever comes by:
//
//   * a worker that waits for its commit and finds nobody leading *leads*: it writes and sleeps on
//     the device itself, under the latch, and then hands the lead to another waiter. Followers
//     park. This is group commit without the two thread hand-offs a daemon costs.
//   * a busy worker between transactions (tick) looks in, without blocking, so that commit latency
//     stays low when workers keep all cores busy and the daemon would be woken late.
//   * the daemon. With --flush_help it naps as long as workers do the work, and takes a turn when
//     they have not for a whole nap. With --flush_help=false it alone flushes, as Aether's does
//     (section 4.1: "every X transactions, L bytes logged, or T time elapsed").
//
// Protocol.
//   durable_, goal_        stored under the latch; durable_ with release, after the devices said
//   so. filled()               the scheme's; only grows; acquire: what lies before it may be read.
//   leading_               the lead, taken by exchange. Given up with store; fence; look for parked
//                          waiters. A waiter parks with store; fence; look at its point and at
//                          leading_ (LogScheme::park_waiter). One sees the other.
//   daemon_                where the daemon sleeps. It stores that, fences, looks for work, parks.
//                          A publisher advances filled(), fences, looks at daemon_. Likewise space
//                          waiters (Ring). Whoever changes daemon_ back to kAwake unparks it, once.
//   oldest_                when the oldest unflushed publish was made: publishers set it from 0
//   after
//                          their fence, the step that raises the goal sets it to 0, fences, and
//                          looks at filled() again. So T runs although nobody publishes any more.
// Bounded timeouts of sleeps are a safety net, except for naps and T.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logging/buffer/ring.h"
#include "logging/lanes.h"
#include "logging/log_scheme.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

class Stream {
 public:
  static constexpr uint64_t kMaxWriteBytes = uint64_t{4} << 20;

  // `filled` says up to where the ring is filled without a hole; asking may move it on. `scheme`
  // knows the waiters. No write is larger than `max_write_bytes` (or one block).
  Stream(const LogConfig& config, uint32_t index, LogScheme& scheme,
         std::function<uint64_t()> filled, uint64_t max_write_bytes = kMaxWriteBytes);

  Ring& ring() { return ring_; }
  std::byte* at(uint64_t position) const { return ring_.at(position); }
  uint64_t durable() const { return durable_.load(platform::memory_order_acquire); }
  bool idle() const;

  // Before filling a hole that ends at `end`: waits until the ring has room for it.
  void wait_for_space(uint64_t end) {
    if (!ring_.fits(end)) sleep_for_space(end);
  }
  // After filled() may have advanced. `commits`: counts for --flush_txns.
  void published(bool commits);
  // A busy worker looks in. `urgent`, here and below: the flush policy is for those that do not
  // wait.
  void tick(bool urgent = false);
  // Blocks `worker` until the scheme says `point` is durable, whose `stream` is this one's index.
  void wait(uint32_t worker, const Point& point, bool urgent = false);
  // One step of the daemon; sleeps at most 20 ms.
  void flush(bool stopping);

  Counters counters() const;

 private:
  enum DaemonState : uint32_t {
    kAwake,
    kNapping,  // workers do its work: only a full ring wakes it
    kTimed,    // until T has passed: X transactions or L bytes wake it
    kIdle,     // nothing to do: any publish wakes it
  };

  bool immediate() const { return txns_ == 0 && bytes_ == 0 && wait_ticks_ == 0; }
  bool work_pending() const;
  bool enough(uint64_t filled) const;     // X or L reached
  bool asked_for(uint64_t filled) const;  // the policy says so
  bool due(uint64_t filled) const;

  // All under the latch.
  bool step(bool force, bool may_block);
  bool finish();  // whether `durable` advanced
  bool write(uint64_t filled, bool force, bool may_block);
  void raise_goal(uint64_t filled, uint64_t idle_since);
  void mark_end();

  void lead(const Point& point);
  void give_up_lead();
  void wake_daemon();
  void park_daemon(DaemonState state, uint64_t timeout_ns);
  void sleep_for_space(uint64_t end);

  const uint32_t index_;
  Lanes lanes_;
  LogScheme& scheme_;
  const std::function<uint64_t()> filled_;
  Ring ring_;
  const uint64_t txns_, bytes_, wait_ticks_;  // the flush policy; all 0: at once
  const bool help_;                           // workers may lead
  const bool tickable_;                       // workers may look in between transactions
  const uint64_t look_ticks_;                 // but not more often than this
  const uint64_t safety_timeout_ns_;
  const uint64_t max_write_bytes_;

  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  platform::atomic<uint64_t> goal_{0};
  platform::atomic<uint64_t> helped_{0};  // steps that were taken by workers

  alignas(platform::kCacheLine) platform::atomic<uint64_t> oldest_{0};  // ticks
  platform::atomic<uint64_t> commits_{0};
  platform::atomic<uint32_t> daemon_{kAwake};
  platform::Parker daemon_bed_;

  alignas(platform::kCacheLine) platform::SpinLock latch_;
  platform::atomic<uint64_t> looked_{0};  // ticks of the last look at the device
  platform::atomic<bool> leading_{false};

  // The daemon's own.
  uint64_t helped_seen_ = 0;
  uint32_t idle_naps_ = 0;

  // Under the latch.
  uint64_t marked_end_ = 0;  // a new log has zeros at its start
  std::unique_ptr<platform::MirroredMemory> end_mark_;

  // Written under the latch; read at any time.
  platform::atomic<uint64_t> commits_flushed_{0};
  platform::atomic<uint64_t> flushes_{0}, flushed_bytes_{0}, rewrites_{0}, helped_flushes_{0};
  platform::atomic<uint64_t> late_ticks_{0}, late_count_{0};
};

}  // namespace logjam
