// A log stream: one ring buffer, one device (or several, over which the stream is striped: its
// devices, logging/stream/striped_devices.h), and the watermark up to which it is durable. Most
// schemes are made of streams. Schemes differ in which threads fill the ring and in how `filled`
// advances.
//
// Flushing. A *step* looks whether a write under way has finished, and advances `durable`. When the
// flush policy says that a flush is due, the step raises the *goal* to what is filled. Then every
// device that can take a write and has bytes before the goal starts its next one. While workers are
// busy, a write begins at least --flush_gap_us after the one before it, because each costs them
// some 30 us of processor time; what is filled meanwhile becomes one larger write. No thread that
// waits for durability waits for the gap. Steps are taken under the flush latch, a try lock, by
// three kinds of threads:
//
//   * a worker that waits for its commit and finds no leader *leads*: it writes and sleeps on the
//     device itself, under the latch, until its commit is durable or nothing is left to flush, and
//     then hands the lead to another waiter, if there is work (logging/stream/flush_lead.h).
//     Followers park. This is group commit without the two thread hand-offs that a daemon costs.
//   * a busy worker looks in between transactions (poll), without blocking, so that commit latency
//     stays low when workers keep all cores busy and the daemon would be woken late. It does not
//     where log threads preempt workers (LogConfig::preemptible_workers): the daemon is prompt
//     then, and a write that a worker has submitted may be finished by kernel threads of the
//     worker's class (io_uring's), which wait behind busy workers. Where several workers write to
//     the stream, it takes the latch before it looks what is filled: otherwise all workers look at
//     once, at lines that others write, and most find the latch taken then (64 simulated cores made
//     8 M TPC-C transactions/s on `centr-faa` so, and 13 M since).
//   * the daemon. With --flush_help it naps as long as workers do the work, and takes a turn when
//     no worker did for a whole nap. It does not nap while a worker relies on it: in an open loop,
//     a worker that sleeps until its next arrival does not lead, because it would start that
//     transaction late. With --flush_help=false only the daemon flushes, as Aether's does (section
//     4.1: "every X transactions, L bytes logged, or T time elapsed").
//
// Protocol.
//   durable_, goal_  stored under the latch; durable_ with release, after the devices have said
//                    that the bytes are durable.
//   filled()         belongs to the scheme. It loads with acquire: the bytes before it may be read.
//   filled_to_write()  belongs to the scheme, and only grows: it is the position up to which a
//                    write may go. It is called under the latch when a flush is due, and seldom
//                    otherwise, so a scheme may close a segment then. filled() may be larger, if
//                    what a segment that is still open holds is filled as well; no write goes by
//                    filled().
//   lead_            its protocol is in flush_lead.h. If a hole keeps waiters from being flushed,
//                    the lead is on call, and the publisher who fills the hole (published()) wakes
//                    one of them to lead.
//   daemon_          where the daemon sleeps. The daemon stores a state here, fences, looks for
//                    work, and parks. A publisher advances filled(), fences, and looks at daemon_.
//                    The same holds for threads that wait for space (Ring). The thread that changes
//                    daemon_ back to kAwake unparks the daemon, once.
//   relying_         how many workers rely on the daemon. A worker counts itself, fences, and looks
//                    whether the daemon naps, or waits for the gap to pass. The daemon stores its
//                    state, fences, and looks at relying_, before it parks. One of the two sees the
//                    other.
//   oldest_          when the oldest unflushed publish was made. A publisher sets it if it is 0,
//                    after its fence. The step that raises the goal sets it to 0, fences, and looks
//                    at filled() again. So T runs even if no thread publishes any more.
// The timeouts that bound sleeps are a safety net, except for naps and T.
//
// On a device that discards there is no daemon, and no worker polls: a worker that finds the ring
// full takes steps until there is room. If a hole is in the way, it looks again after a short nap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/ring.h"
#include "logging/stream/stream_home.h"
#include "logging/stream/striped_devices.h"
#include "platform/counter.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

class Stream {
 public:
  static constexpr uint64_t kMaxWriteBytes = uint64_t{4} << 20;

  // `index` is the stream's number; its devices are those of `config`, which outlive it. `filled`
  // returns the position up to which the ring is filled without a hole; any thread may call it, and
  // the call may advance that position. `waiters` are the scheme's, and outlive the stream. No
  // write is larger than `max_write_bytes` (or one block). A scheme for which looking and being
  // about to write differ gives `filled_to_write` as well. `writers` says where the stream is at
  // home.
  Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters,
         std::function<uint64_t()> filled, uint64_t max_write_bytes = kMaxWriteBytes,
         std::function<uint64_t()> filled_to_write = nullptr, Writers writers = Writers::kByTurns);

  Ring& ring() { return ring_; }
  const Ring& ring() const { return ring_; }
  const StreamHome& home() const { return home_; }
  // Any thread may call the next three. at() returns where the byte at stream position `position`
  // lies in memory; durable() the position up to which the stream is durable; idle() whether all
  // that is filled is durable and no write is under way.
  std::byte* at(uint64_t position) const { return ring_.at(position); }
  uint64_t durable() const { return durable_.load(platform::memory_order_acquire); }
  bool idle() const;

  // Waits until a hole that ends at `end` may be filled, because the ring has room for it. Returns
  // for how many ticks it waited, 0 if there was room. Any thread may call it.
  uint64_t wait_for_space(uint64_t end) { return ring_.fits(end) ? 0 : sleep_for_space(end); }
  // Locks `latch`, which guards `offset`, when the ring has room for `bytes` from `offset` on.
  // Returns for how many ticks it waited for room, 0 if there was room. Does not wait for room
  // under the latch, because the flush that makes room may need the latch. Any thread may call it.
  template <class Latch>
  uint64_t lock_with_space(Latch& latch, const uint64_t& offset, uint64_t bytes) {
    uint64_t waited = 0;
    latch.lock();
    while (!ring_.fits(offset + bytes)) {
      const uint64_t end = offset + bytes;
      latch.unlock();
      waited += wait_for_space(end);
      latch.lock();
    }
    return waited;
  }
  // Any thread, after filled() may have advanced: wakes the daemon, or the waiter that is to lead,
  // if they wait for this. `commits` says whether the publish counts for --flush_txns.
  void published(bool commits);
  // Any worker, between transactions: takes a step if one is due, without blocking. With `urgent`,
  // here and in wait(), the thread flushes whatever the flush policy says.
  void poll(bool urgent = false);
  // The thread of `worker`: blocks until the scheme says that `point` is durable. `point` is in
  // this stream.
  void wait(uint32_t worker, const CommitPoint& point, bool urgent = false);
  // Any thread: a worker begins, or ends, to sleep until something is durable, without leading or
  // polling.
  void rely_on_daemon(bool begins);
  // The daemon: takes one step; sleeps at most 20 ms. With `stopping`, flushes whatever the flush
  // policy says, and writes the end of the log when the stream is idle.
  void flush(bool stopping);

  // Any thread.

  Counters counters() const;

 private:
  enum DaemonState : uint32_t {
    kAwake,
    kNapping,  // workers do the daemon's work: only a full ring or rely_on_daemon() wakes it
    kTimed,    // sleeps until T has passed: X transactions or L bytes wake it
    kIdle,     // has nothing to do: any publish wakes it
  };

  bool immediate() const { return txns_ == 0 && bytes_ == 0 && wait_ticks_ == 0; }
  bool work_pending() const;
  bool may_nap() const { return !ring_.waited_for() && relying_.load() == 0; }
  // The commits are loaded before the position, and a publisher counts its commit after it has
  // advanced filled(). So all `commits` lie before `position`, unless a hole is in the way.
  struct Filled {
    uint64_t commits, position;
  };
  Filled look() const {
    const uint64_t commits = commits_.load(platform::memory_order_acquire);
    return {commits, filled_()};
  }
  bool enough(const Filled& filled) const;     // X transactions or L bytes are reached
  bool asked_for(const Filled& filled) const;  // the flush policy, or a full ring, asks for a flush
  bool due(const Filled& filled) const;
  // Whether T or the gap is over, or a thread waits for space or relies on the daemon.
  bool asked_by_time() const;
  bool may_be_due() const;
  uint64_t ticks_until_asked() const;
  uint64_t next_start_ns() const;

  // These seven are called under the latch.
  bool step(bool force, bool may_block);
  bool finish();  // returns whether `durable` advanced
  const Filled& look_to_write();
  bool write(const Filled& filled, bool force, bool may_block);
  uint64_t goal_of(const Filled& filled, const StripedDevices::Member& member, bool force);
  void raise_goal(const Filled& filled, uint64_t idle_since);
  void write_log_end();

  void lead(const CommitPoint& point);
  void give_up_lead();
  void wake_daemon();
  void park_daemon(DaemonState state, uint64_t timeout_ns);
  uint64_t sleep_for_space(uint64_t end);
  void sleep_until_it_fits(uint64_t end);

  const uint32_t index_;
  StripedDevices devices_;
  DurabilityWaiters& waiters_;
  const std::function<uint64_t()> filled_, filled_to_write_;
  const StreamHome home_;
  const bool shared_;  // several workers write to it
  Ring ring_;
  const uint64_t txns_, bytes_, wait_ticks_;  // the flush policy; if all are 0, flush at once
  const uint64_t gap_ticks_;                  // the least time between two starts of writes
  const bool discards_;                       // the device does
  const bool help_;                           // workers may lead
  const bool preemptible_;                    // log threads preempt workers
  const bool pollable_;                       // workers may look in between transactions
  const uint64_t look_ticks_;                 // the least time between two such looks
  const uint64_t safety_timeout_ns_, nap_ns_;
  const uint64_t max_write_bytes_;

  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  platform::atomic<uint64_t> goal_{0};
  platform::Counter helped_;  // steps that were taken by workers

  alignas(platform::kCacheLine) platform::atomic<uint64_t> oldest_{0};  // ticks
  platform::atomic<uint64_t> commits_{0};
  platform::atomic<uint32_t> daemon_{kAwake};
  platform::atomic<uint32_t> relying_{0};
  FlushLead lead_;
  platform::Parker daemon_parker_;

  alignas(platform::kCacheLine) platform::SpinLock latch_;
  platform::atomic<uint64_t> looked_{0};   // ticks of the last look at the device
  platform::atomic<uint64_t> started_{0};  // and of the last start of a write

  // Only the daemon uses these.
  uint64_t helped_seen_ = 0;
  uint32_t idle_naps_ = 0;

  // Guarded by the latch.
  Filled seen_{};            // by the last look
  uint64_t log_end_at_ = 0;  // where the log's end was written; a new log has zeros at its start
  std::unique_ptr<platform::MirroredMemory> log_end_;

  // Written under the latch; any thread may read them.
  platform::atomic<uint64_t> commits_flushed_{0};
  platform::Counter flushes_, flushed_bytes_, rewrites_, helped_flushes_, late_ticks_, late_count_;
};

}  // namespace logjam
