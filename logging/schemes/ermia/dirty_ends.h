// ERMIA's tracker. A worker's word has the end of its last record, and a dirty bit while the worker
// may have a hole. SBL is the least end of the dirty workers or, if no worker is dirty, the largest
// end of all workers. SBL is never larger than the tail, the cutoff that the thread loads first.
//
// Why SBL passes no hole (common/worker_words.h has the orders). A hole that the tail does not
// count begins at the tail or after it. Any other hole is filled, or the thread sees its worker
// dirty, with an end up to the hole's begin. If no worker is dirty, SBL is the tail: the worker
// whose hole ended at the tail is clean, so the largest end is at least the tail.
//
// A worker that was idle for a long time has an old end. So while this worker has a hole, SBL does
// not even advance to the hole. An idle worker is clean: it stops nothing (R5).
//
// The bound. ERMIA does not bound the largest end (sm-log-alloc.cpp, smallest_tls_lsn_offset).
// Without the bound this order is possible: a thread sees A clean; A sets its dirty bit, and draws
// a hole; B draws the next hole, and fills it; the thread sees B clean, and so finds no dirty
// worker; SBL passes A's hole. Recovery ends at the hole, and loses B's acknowledged record (R1).
#pragma once

#include "logging/schemes/common/worker_words.h"
#include "logging/stream/ring.h"

namespace logjam {

class DirtyEnds : public WorkerWords {
 public:
  DirtyEnds(uint32_t workers, const Ring&, bool bounded = true)
      : WorkerWords(workers), bounded_(bounded) {}

  void announce(uint32_t worker, const platform::atomic<uint64_t>&) {
    store(worker, kOpen | own(worker));
  }
  void publish(uint32_t worker, uint64_t, uint64_t end) { store(worker, end); }
  // Returns SBL, or `filled` if that is larger. Any thread may call it.
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>& next) const {
    const uint64_t tail = next.load(platform::memory_order_acquire);
    uint64_t least_dirty = kNoHole, largest = 0;
    for_each_word([&](uint64_t word) {
      if ((word & kOpen) != 0) {
        least_dirty = std::min(least_dirty, word & ~kOpen);
      } else {
        largest = std::max(largest, word);
      }
    });
    const bool all_clean = least_dirty == kNoHole;
    if (all_clean && !bounded_) return std::max(filled, largest);
    return std::max(filled, std::min(all_clean ? largest : least_dirty, tail));
  }

 private:
  const bool bounded_;
};

}  // namespace logjam
