// A log stream: one ring buffer, one device (or several, over which the stream is striped:
// striped_devices.h), and the watermark up to which it is durable. Most schemes are made of
// streams. Schemes differ in which threads fill the ring and in how filled() advances.
//
//   stream_state.h   what the threads share, and the step: the only code under the flush latch
//   leader.h         workers that wait for their commits, of which one takes the steps
//   poller.h         busy workers, which take a step between transactions
//   flush_daemon.h   the log's thread, which takes a turn when no worker does
//   flush_policy.h, flush_gap.h, flush_pacer.h   when a flush is due
//
// A thread that fills the ring tells the leader-to-be and the daemon (on_publish()). If a hole
// keeps waiters from being flushed, the lead is on call, and the publisher who fills the hole wakes
// one of them to lead. The timeouts that bound sleeps are a safety net, except for naps and the
// flush timeout (--flush=us).
//
// On a device that discards there is no daemon, and no worker polls: a worker that finds the ring
// full takes steps until there is room. If a hole is in the way, it looks again after a short nap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "logging/stream/flush_daemon.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/leader.h"
#include "logging/stream/poller.h"
#include "logging/stream/stream_state.h"

namespace logjam {

// Any thread may call a function, unless its comment says which thread does.
class Stream {
 public:
  // Makes stream `index`, whose devices are those of `config`. They outlive the stream, as do the
  // scheme's `waiters` and `owner`. `writers` says where the stream is at home.
  Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters, StreamOwner& owner,
         Writers writers = Writers::kDealt)
      : state_(config, index, owner, writers),
        lead_(index, waiters),
        daemon_(config, state_, lead_, waiters),
        leader_(config, state_, lead_, daemon_, waiters),
        poller_(config, state_, daemon_, waiters) {}

  Ring& ring() { return state_.ring(); }
  const Ring& ring() const { return state_.ring(); }
  const StreamHome& home() const { return state_.home(); }
  std::byte* at(uint64_t position, uint64_t bytes) const { return state_.at(position, bytes); }
  uint64_t durable() const { return state_.durable(); }
  bool idle() const { return state_.idle(); }

  // Waits until a hole that ends at `end` may be filled, because the ring has room for it. Returns
  // for how many ticks it waited, 0 if there was room.
  uint64_t wait_for_space(uint64_t end) {
    return ring().fits(end) ? 0 : poller_.sleep_for_space(end);
  }
  // Locks `latch`, which guards `offset`, when the ring has room for `bytes` from `offset` on.
  // Returns for how many ticks it waited for room, 0 if there was room. Does not wait for room
  // under the latch, because the flush that makes room may need the latch.
  template <class Latch>
  uint64_t lock_with_space(Latch& latch, const uint64_t& offset, uint64_t bytes) LJ_ACQUIRE(latch) {
    uint64_t waited = 0;
    latch.lock();
    while (!ring().fits(offset + bytes)) {
      const uint64_t end = offset + bytes;
      latch.unlock();
      waited += wait_for_space(end);
      latch.lock();
    }
    return waited;
  }
  // Wakes the daemon, or the waiter that is to lead, if they wait for filled() to advance.
  // `commits` says whether the publish counts for --flush=txns. Call it after filled() may have
  // advanced.
  void on_publish(bool commits);
  // Wakes them likewise, because commits in other streams wait for this one, which may have nothing
  // to write yet. If it has nothing, the write that follows does not wait for the flush timeout.
  // With Flush::kNow, the commits have waited for the timeout of their own streams, and nothing
  // here waits for it any more.
  void on_wanted(Flush flush);
  // Lets the writes keep the pace of `pacer`, which outlives the stream. Call it before workers
  // start.
  void set_pacer(FlushPacer& pacer) { state_.set_pacer(pacer); }
  // Takes a step if one is due, without blocking. Any worker may call it, between transactions.
  void poll(Flush flush = Flush::kByPolicy) { poller_.poll(flush); }
  // Blocks until the scheme says that `point`, a point in this stream, is durable. With
  // Flush::kNow, the thread leads even if the policy is not immediate. Called by the thread of
  // `worker`.
  void wait(uint32_t worker, const CommitPoint& point, Flush flush = Flush::kByPolicy) {
    leader_.wait(worker, point, flush);
  }
  // Tells the daemon that a worker starts (`begins`) or stops sleeping until something is durable
  // without leading or polling.
  void rely_on_daemon(bool begins) { daemon_.rely(begins); }
  // Takes one step; sleeps at most 20 ms. With Flush::kNow, also writes the end of the log when the
  // stream is idle. Only the daemon calls it.
  void flush(Flush flush) LJ_REQUIRES(platform::log_role) { daemon_.turn(flush); }

  // Returns the stream's figures for the output row.
  Counters counters() const;

 private:
  // Tells the threads that may wait for filled() to advance; `now`: or for the timeout to pass.
  void tell(bool now = false);

  StreamState state_;
  alignas(platform::kCacheLine) FlushLead lead_;
  FlushDaemon daemon_;
  Leader leader_;
  Poller poller_;
};

}  // namespace logjam
