// The rule of `tide-announced`: a worker announces the number of its open record, and the thread
// that writes looks at the open numbers (as in `autonomous` and `nvmd`).
//
// Protocol. announced_number.h has the fields, and why a look misses no number.
//   the worker                                  the thread that writes stream s
//   W1  announces a bound, fences               L1  raises the floor of s to F, fences
//   W2  draws a number above the floor,         L2  looks at the workers of s: C is the lesser of F
//       and announces it                            and of what comes before the least open number
//   W3  takes the record's place (acquire)      L3  takes the watermark's place (release)
//   W4  fills the record, withdraws (release)
//
// Claim: each record of s with a number n up to C lies before the watermark of C. Proof: L2 has
// seen neither the record's bound nor n, because C would be smaller than n. If L2 has looked before
// W1, its look comes after L1's fence and misses the bound, so W2 comes after W1's fence and loads
// F or a later floor: n would exceed F. Hence L2 has acquired W4's withdrawal, or what the worker
// stored later, so W3 happened before L3. Places are taken by read-modify-writes of one word, so
// the record lies before the watermark.
//
// The number is drawn before the place. In the other order the ring would order them, too, and the
// announcement would be of no use (ring_order.h).
//
// A stale bound may hold a watermark back. No extra wake-up is necessary: the worker publishes
// soon, and the publish wakes the thread that writes.
#pragma once

#include <utility>

#include "logging/schemes/common/announced_number.h"
#include "logging/schemes/common/floors.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/schemes/tide/watermark_rule.h"

namespace logjam {

class AnnouncedNumbers {
 public:
  AnnouncedNumbers(uint32_t workers, WorkersOfStreams streams)
      : floors_(static_cast<uint32_t>(streams.size())),
        streams_(std::move(streams)),
        open_(workers) {}

  template <class TakePlace>
  auto reserve(uint32_t stream, uint32_t worker, uint64_t above, const TakePlace& take_place) {
    const auto draw = [&] { return std::max(above, floors_.of(stream)) + 1; };
    const uint64_t number = open_[worker].announce(above + 1, draw).number;
    return std::pair(number, take_place());
  }
  void publish(uint32_t worker, uint64_t /*number*/) { open_[worker].withdraw(); }

  uint64_t begin_watermark(uint32_t stream, uint64_t /*last*/) {
    const uint64_t floor = floors_.raise(stream);
    platform::full_fence();
    return floor;
  }
  uint64_t complete(uint32_t stream, uint64_t goal) {
    uint64_t complete = goal;
    for (const uint32_t worker : streams_[stream]) {
      complete = std::min(complete, open_[worker].look() - 1);
    }
    return complete;
  }

 private:
  Floors floors_;
  const WorkersOfStreams streams_;
  WorkerStates<AnnouncedNumber> open_;
};

}  // namespace logjam
