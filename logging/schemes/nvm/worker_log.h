// A worker's own log: which number its open record has, and up to where the log is filled. Any
// other thread learns from these up to which number the log lacks no record.
//
// Protocol. Only its worker stores `place_` and `filled_` (release); any thread loads them
// (acquire):
//   open        The worker stores in `place_` a bound, which is at most the number to come; fences;
//               the scheme draws the number; the worker stores the number in `place_`.
//               The bound may be stale: then a thread that looked at this moment found a hole where
//               there is none, and may have gone to sleep. So open() says that others may wait, and
//               its caller looks for them after a fence.
//   published   The worker stores the record's end in `filled_`, and then kNone in `place_`.
//   look        The thread loads `place_`, and then `filled_`. If it sees the `place_` that a
//               publish, or the opening of a later record, has stored, it also sees all that was
//               published before. So every record that is published with a number below the place
//               lies before the end that look() returns.
// If the scheme draws the number from something that another thread raises, fences and looks, the
// other thread sees the bound, or the number is drawn from the raised value.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

template <class Atomics>
class BasicWorkerLog {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Opened {
    uint64_t sequence;
    bool others_may_wait;  // for a number between the bound and this one
  };
  // Opens a record. Its number is what draw_number() returns, which is at least `bound`. Called by
  // the worker.
  template <class DrawNumber>
  Opened open(uint64_t bound, const DrawNumber& draw_number) {
    place_.store(bound, platform::memory_order_release);
    Atomics::full_fence();
    const uint64_t sequence = draw_number();
    if (sequence == bound) return {sequence, false};
    place_.store(sequence, platform::memory_order_release);
    return {sequence, true};
  }
  // Says that the open record is filled, and ends at `end`. Called by the worker.
  void published(uint64_t end) {
    filled_.store(end, platform::memory_order_release);
    place_.store(kNone, platform::memory_order_release);
  }

  struct Seen {
    uint64_t place;   // the number of the open record, or a bound; kNone: no record is open
    uint64_t filled;  // a record's end; all that is published below `place` lies before it
  };
  // Returns the place and the end. Any thread may call it.
  Seen look() const {
    const uint64_t place = place_.load(platform::memory_order_acquire);
    return {place, filled()};
  }
  // Returns the end of the last published record. Any thread may call it.
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

 private:
  typename Atomics::template atomic<uint64_t> place_{kNone};
  typename Atomics::template atomic<uint64_t> filled_{0};
};

using WorkerLog = BasicWorkerLog<platform::Atomics>;

}  // namespace logjam
