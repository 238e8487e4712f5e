// Threads that take a step and do not block: a busy worker between two transactions, and a
// publisher that waits for room in the ring.
//
// Commit latency stays low when workers keep all cores busy, and the daemon would be woken late. A
// worker does not poll where log threads preempt workers (LogConfig::preemptible_workers): the
// daemon is prompt then, and a write that a worker has submitted may be finished by kernel threads
// of the worker's class (io_uring's), which would wait for busy workers.
//
// Where several workers write to the stream, a worker takes the latch before it looks how far the
// ring is filled. Otherwise all workers look at the same time, at lines that others write, and then
// most find the latch taken (64 simulated cores made 8 M TPC-C transactions/s on `centr-faa` that
// way, and 13 M since).
//
// Protocol. looked_ is stored and loaded (relaxed) by all workers that poll. A worker that loads an
// old value looks at the device once more.
#pragma once

#include <cstdint>

#include "logging/stream/flush_daemon.h"
#include "logging/stream/stream_state.h"

namespace logjam {

class Poller {
 public:
  Poller(const LogConfig& config, StreamState& state, FlushDaemon& daemon,
         DurabilityWaiters& waiters);

  // Takes a step if one is due. Any worker may call it, between transactions.
  void poll(Flush flush) LJ_EXCLUDES(state_.latch());
  // Waits until a hole that ends at `end` may be filled. Returns for how many ticks it waited.
  uint64_t sleep_for_space(uint64_t end) LJ_EXCLUDES(state_.latch());

 private:
  bool help_to_make_space();

  const bool polls_;           // workers may poll
  const bool shared_;          // several workers write to the stream
  const uint64_t look_ticks_;  // the least time between two looks at the device
  const uint64_t safety_timeout_ns_;
  StreamState& state_;
  FlushDaemon& daemon_;
  DurabilityWaiters& waiters_;

  alignas(platform::kCacheLine) platform::atomic<uint64_t> looked_{0};  // ticks of the last look
};

}  // namespace logjam
