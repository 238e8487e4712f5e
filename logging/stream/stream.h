// A log stream: one ring buffer, one device (or several, over which the stream is striped:
// logging/stream/striped_devices.h), and the watermark up to which it is durable. Most schemes are
// made of streams. Schemes differ in which threads fill the ring and in how filled() advances.
//
// Flushing. A *step* looks whether a write under way has finished, and advances durable(). When the
// flush policy (flush_policy.h) says that a flush is due, the step raises the *goal* to what is
// filled. Then every device that can take a write and has bytes before the goal starts its next
// one. Steps are taken under the flush latch, a try lock, by three kinds of threads:
//
//   * a worker that waits for its commit and finds no leader *leads*: it writes and sleeps on the
//     device itself, under the latch, until its commit is durable or nothing is left to flush, and
//     then hands the lead to another waiter, if there is work (flush_lead.h). Followers park. This
//     is group commit without the two thread hand-offs that a daemon costs.
//   * a busy worker *polls* between transactions, without blocking, so that commit latency stays
//     low when workers keep all cores busy and the daemon would be woken late. It does not poll
//     where log threads preempt workers (LogConfig::preemptible_workers): the daemon is prompt
//     then, and a write that a worker has submitted may be finished by kernel threads of the
//     worker's class (io_uring's), which would wait for busy workers. Where several workers write
//     to the stream, a worker takes the latch before it looks what is filled. Otherwise all workers
//     look at once, at lines that others write, and most find the latch taken then (64 simulated
//     cores made 8 M TPC-C transactions/s on `centr-faa` that way, and 13 M since).
//   * the daemon, which takes a turn when no worker does (flush_daemon.h).
//
// Protocol.
//   durable_, goal_  stored under the latch; durable_ with release, after the devices have said
//                    that the bytes are durable.
//   filled()         belongs to the owner. It loads with acquire: the bytes before it may be read.
//   filled_to_write()  belongs to the owner, and only grows: it is the position up to which a
//                    write may go. It is called under the latch when a flush is due, and seldom
//                    otherwise, so a scheme may close a segment then. filled() may be larger: it
//                    may also count a segment that is still open. Writes never use filled() of such
//                    an owner.
//   lead_            its protocol is in flush_lead.h. If a hole keeps waiters from being flushed,
//                    the lead is on call, and the publisher who fills the hole (published()) wakes
//                    one of them to lead.
//   daemon_          its protocol is in flush_daemon.h.
//   round_           stored and loaded (relaxed) by all streams that write in rounds. A stream that
//                    loads an old value writes a moment later. If two streams begin a round at the
//                    same time, the later store stays.
//   oldest_          when the oldest unflushed publish was made. A publisher sets it if it is 0,
//                    after its fence. The step that raises the goal sets it to 0, fences, and looks
//                    at filled() again. So T runs even if no thread publishes any more.
//                    wanted_by_others() sets it to FlushPolicy::kLongAgo; the daemon takes that
//                    back if there is nothing to write.
// The timeouts that bound sleeps are a safety net, except for naps and T.
//
// On a device that discards there is no daemon, and no worker polls: a worker that finds the ring
// full takes steps until there is room. If a hole is in the way, it looks again after a short nap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "logging/stream/flush_daemon.h"
#include "logging/stream/flush_gap.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/flush_policy.h"
#include "logging/stream/ring.h"
#include "logging/stream/sdl_store.h"
#include "logging/stream/stream_home.h"
#include "logging/stream/striped_devices.h"
#include "platform/counter.h"
#include "platform/spin.h"

namespace logjam {

// The scheme that fills the ring of a stream, as the stream sees it. `stream` is the stream's
// number.
class StreamOwner {
 public:
  // Returns the position up to which the ring is filled without a hole, and may advance that
  // position. Any thread may call it.
  virtual uint64_t filled(uint32_t stream) = 0;
  // Returns the position up to which a write may go, when filled() has returned `filled`. A scheme
  // overrides it that does more before a write than filled() does. Called under the flush latch.
  virtual uint64_t filled_to_write(uint32_t /*stream*/, uint64_t filled) { return filled; }

 protected:
  ~StreamOwner() = default;
};

class Stream {
 public:
  // Makes stream `index`, whose devices are those of `config`. They outlive the stream, as do the
  // scheme's `waiters` and `owner`. `writers` says where the stream is at home.
  Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters, StreamOwner& owner,
         Writers writers = Writers::kDealt);

  Ring& ring() { return ring_; }
  const Ring& ring() const { return ring_; }
  const StreamHome& home() const { return home_; }
  // Returns where the `bytes` from stream position `position` on lie in memory: in the ring, or in
  // the device's own memory (LogTraits::fills_device_memory). Any thread may call it.
  std::byte* at(uint64_t position, uint64_t bytes) const {
    if (memory_ == nullptr) return ring_.at(position);
    return memory_->mapped(devices_.file_offset(position), bytes);
  }
  // Returns the position up to which the stream is durable. Any thread may call it.
  uint64_t durable() const { return durable_.load(platform::memory_order_acquire); }
  // Returns whether all that is filled is durable and no write is under way. Any thread may call
  // it.
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
  // Wakes the daemon, or the waiter that is to lead, if they wait for filled() to advance.
  // `commits` says whether the publish counts for --flush=txns. Any thread may call it, after
  // filled() may have advanced.
  void published(bool commits);
  // Wakes them likewise, because commits in other streams wait for this one, which may have nothing
  // to write yet. If it has nothing, what it then writes does not wait for T. With Flush::kNow, the
  // commits have waited for the T of their own streams, and nothing here waits for T any more. Any
  // thread may call it.
  void wanted_by_others(Flush flush);
  // Makes the time from one write to the next at least `pace` times as long as the last call of
  // filled_to_write() took, or, if a worker made the write, as that took the worker. The gap
  // (flush_gap.h) is what the device leaves of that time. The streams with the same `round` write
  // in rounds: when one of them begins to write, half of the gap is enough for the others that have
  // not written since. `round` is 0 before, and outlives the streams. Called before workers start.
  void set_pace(uint64_t pace, platform::atomic<uint64_t>& round) {
    pace_ = pace;
    round_ = &round;
  }
  // Takes a step if one is due, without blocking. Any worker may call it, between transactions.
  void poll(Flush flush = Flush::kByPolicy);
  // Blocks until the scheme says that `point`, a point in this stream, is durable. With
  // Flush::kNow, the thread leads even if the policy is not immediate. Called by the thread of
  // `worker`.
  void wait(uint32_t worker, const CommitPoint& point, Flush flush = Flush::kByPolicy);
  // Tells the daemon that a worker starts (`begins`) or stops sleeping until something is durable
  // without leading or polling. Any thread may call it.
  void rely_on_daemon(bool begins) { daemon_.rely(begins, policy_.immediate()); }
  // Takes one step; sleeps at most 20 ms. With Flush::kNow, also writes the end of the log when the
  // stream is idle. Called by the daemon.
  void flush(Flush flush);

  // Returns the stream's figures for the output row. Any thread may call it.
  Counters counters() const;

 private:
  // Tells the threads that may wait for filled() to advance; `now`: or for T to pass.
  void tell(bool now = false);
  bool work_pending() const;
  // Returns how far the ring is filled. The commits are loaded before the position, and a publisher
  // counts its commit after it has advanced filled(). So all the commits lie before the position,
  // unless a hole is in the way.
  Progress look() const {
    const uint64_t commits = commits_.load(platform::memory_order_acquire);
    return {commits, owner_.filled(index_)};
  }
  bool enough(const Progress& filled) const;     // X transactions or L bytes are reached
  bool asked_for(const Progress& filled) const;  // the flush policy, or a full ring, asks for it
  bool due(const Progress& filled) const;
  // Returns whether T or the gap is over, or a thread waits for space or relies on the daemon.
  bool asked_by_time() const;
  bool may_be_due() const;
  uint64_t policy_clock() const;  // `since`, as FlushPolicy takes it
  FlushPolicy policy_now() const {
    FlushPolicy policy = policy_;
    policy.gap_ticks = gap_.ticks();
    if (round_is_new()) policy.gap_ticks /= 2;
    return policy;
  }
  uint64_t next_start_ns() const;
  // Returns whether a round has begun since the stream's last write.
  bool round_is_new() const {
    return round_ != nullptr && round_->load(platform::memory_order_relaxed) >
                                    started_.load(platform::memory_order_relaxed);
  }

  // The next nine are called under the latch.

  bool step(Flush flush, bool may_block);
  bool finish();  // returns whether durable() advanced
  const Progress& look_to_write();
  bool write(const Progress& filled, Flush flush, bool may_block);
  uint64_t goal_of(const Progress& filled, const StripedDevices::Member& member, Flush flush);
  void raise_goal(const Progress& filled, uint64_t idle_since);
  void keep_pace(uint64_t took_ticks);
  void write_log_end();
  bool one_at_a_time() const;

  void lead(const CommitPoint& point);
  void give_up_lead();
  bool take_turn(Flush flush, bool* advanced);
  uint64_t sleep_for_space(uint64_t end);
  void sleep_until_it_fits(uint64_t end);

  const uint32_t index_;
  StripedDevices devices_;
  DurabilityWaiters& waiters_;
  StreamOwner& owner_;
  const StreamHome home_;
  const bool shared_;  // several workers write to it
  Ring ring_;
  PersistentMemory* const memory_;  // the device's, if records are filled there
  const FlushPolicy policy_;
  const bool discards_;        // the device does
  const bool at_once_;         // its writes are finished when they have started
  const bool help_;            // workers may lead
  const bool pollable_;        // workers may poll
  const uint64_t look_ticks_;  // the least time between two looks of polls at the device
  const uint64_t safety_timeout_ns_;
  const uint64_t max_write_bytes_;
  uint64_t pace_ = 0;                            // 0: none
  platform::atomic<uint64_t>* round_ = nullptr;  // when the last round began, in ticks

  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  platform::atomic<uint64_t> goal_{0};
  platform::Counter helped_;  // steps that were taken by workers

  alignas(platform::kCacheLine) platform::atomic<uint64_t> oldest_{0};  // ticks
  platform::atomic<uint64_t> commits_{0};
  FlushLead lead_;
  FlushDaemon daemon_;

  alignas(platform::kCacheLine) platform::SpinLock latch_;
  platform::atomic<uint64_t> looked_{0};   // ticks of the last look at the device
  platform::atomic<uint64_t> started_{0};  // and of the last start of a write

  // Guarded by the latch.
  SdlStore sdl_store_;
  FlushGap gap_;              // its ticks(): any thread
  Progress seen_;             // by the last look
  uint64_t write_ticks_ = 0;  // the time of the last write that was under way alone
  uint64_t log_end_at_ = 0;   // where the log's end was written; a new log has zeros at its start
  std::unique_ptr<platform::MirroredMemory> log_end_;

  // Written under the latch; any thread may read them.
  platform::Counter flushes_, gap_ticks_, flushed_bytes_, rewrites_, helped_flushes_, late_ticks_,
      late_count_;
  platform::atomic<uint64_t> commits_flushed_{0};
};

}  // namespace logjam
