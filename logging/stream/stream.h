// A log stream: a ring buffer, one device or several (striped_devices.h), and the watermark up to
// which the stream is durable. Most schemes are made of streams. Schemes differ in which threads
// fill the ring and in how filled() advances.
//
// stream_state.h has the state that threads share, and the step. Three kinds of threads take steps:
//
//   * Workers that wait for their commits. One of them *leads*: it writes and sleeps on the device
//     itself, under the latch, until its commit is durable or nothing is left to flush. Then it
//     hands the lead to another waiter, if there is work (flush_lead.h). The other waiters park.
//     This is group commit without the two hand-offs between threads that a daemon costs.
//   * Busy workers, which *poll* between two transactions and never block. Commit latency stays low
//     when workers keep all cores busy and the daemon would wake up late. Workers do not poll where
//     log threads preempt workers (LogConfig::preemptible_workers): the daemon is prompt there. A
//     write that a worker submits may even finish late: io_uring's kernel thread, which finishes
//     the write, has the worker's class, and waits for busy workers.
//   * The daemon (flush_daemon.h), which takes a turn when no worker takes steps.
//
// The timeouts that bound sleeps are a safety net, except for naps and the flush timeout
// (--flush=us). On a device that discards there is no daemon, and no worker polls: a worker that
// finds the ring full takes steps until there is space. It naps if a hole is in the way.
//
// Protocol. Workers that poll store and load looked_ (relaxed): an old value costs one more look.
#pragma once

#include <cstddef>
#include <cstdint>

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/durability_waiters.h"
#include "logging/stream/flush_daemon.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/stream_state.h"

namespace logjam {

// Any thread may call a function, unless its comment says which thread does.
class Stream {
 public:
  // Makes stream `index` of `config`, whose devices, `waiters` and `owner` outlive the stream.
  Stream(const LogConfig& config, uint32_t index, DurabilityWaiters& waiters, StreamOwner& owner,
         Writers writers = Writers::kDealt);

  Ring& ring() { return state_.ring(); }
  const Ring& ring() const { return state_.ring(); }
  const StreamHome& home() const { return state_.home(); }
  std::byte* at(uint64_t position, uint64_t bytes) const { return state_.at(position, bytes); }
  uint64_t durable() const { return state_.durable(); }
  bool idle() const { return state_.idle(); }

  // Waits until the ring has space for a hole that ends at `end`. Returns the ticks that it waited.
  uint64_t wait_for_space(uint64_t end) { return ring().fits(end) ? 0 : sleep_for_space(end); }
  // Locks `latch`, which guards `offset`, when the ring has space for `bytes` from `offset` on.
  // Waits for space without the latch, because a flush may need it. Returns the ticks of the wait.
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
  // Wakes the daemon, or a waiter to lead, if the daemon or a waiter waits for filled() to advance.
  // Call it after filled() may have advanced. `commits`: the publish counts for --flush=txns.
  void on_publish(bool commits);
  // Wakes the same threads as on_publish(), because commits in other streams wait for this stream.
  // If this stream has nothing to write yet, its next write does not wait for the flush timeout.
  // With Flush::kNow no write waits for this timeout, as those commits have already waited for it.
  void on_wanted(Flush flush);
  // Returns up to where padding must follow a record that ends at `end`, so that the next write by
  // the flush policy includes the record. Padding, if there is any, has at least `least` bytes.
  uint64_t padded(uint64_t end, uint64_t least) const {
    constexpr uint64_t kLeastBlocks = 4;  // in the ring, or there might never be room for a block
    const bool whole = ring().block_up(end) == end || !state_.ends_at_block(durable(), end) ||
                       ring().capacity() < kLeastBlocks * ring().block();
    return whole ? end : ring().block_up(end + least);
  }
  // Takes a step if a step is due, without blocking. Any worker may call it, between transactions.
  void poll(Flush flush = Flush::kByPolicy) LJ_EXCLUDES(state_.latch());
  // Waits until the scheme says that `point`, a point in this stream, is durable: after a flush, a
  // hole or another stream may still be in the way. With Flush::kNow the thread may lead even if
  // the policy is not immediate. The thread of `worker` calls it.
  void wait(uint32_t worker, const CommitPoint& point, Flush flush = Flush::kByPolicy);
  // Tells the daemon that a worker begins (`begins`) or ends a wait without leading or polling.
  void rely_on_daemon(bool begins) { daemon_.rely(begins); }
  // Takes one step, or sleeps for at most 20 ms. With Flush::kNow, also writes the end of the log
  // when the stream is idle. Only the daemon calls it.
  void flush(Flush flush) LJ_REQUIRES(platform::log_role) { daemon_.turn(flush); }

  Counters counters() const;

 private:
  // Wakes the threads that wait for filled() to advance or, if `now`, for the timeout to pass.
  void tell(bool now = false);
  uint64_t sleep_for_space(uint64_t end) LJ_EXCLUDES(state_.latch());
  bool help_to_make_space();
  void lead(const CommitPoint& point) LJ_EXCLUDES(state_.latch());

  StreamState state_;
  alignas(platform::kCacheLine) FlushLead lead_;
  FlushDaemon daemon_;
  DurabilityWaiters& waiters_;
  const bool help_;            // waiting workers may lead
  const bool polls_;           // busy workers may poll
  const bool shared_;          // several workers write to the stream
  const uint64_t look_ticks_;  // the least time between two looks at the device
  const uint64_t safety_timeout_ns_;

  alignas(platform::kCacheLine) platform::atomic<uint64_t> looked_{0};  // ticks of the last look
};

}  // namespace logjam
