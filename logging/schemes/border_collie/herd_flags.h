// Border-Collie's tracker. A worker's flag has a colour and an LSN. A *black* flag says that the
// worker may have a hole, which begins at the LSN or after it. A *white* flag says that the worker
// has no hole, and that its last record ended at the LSN. The thread that herds takes a cutoff, and
// then the least value of all flags. The value of a black flag is its LSN; the value of a white
// flag is the larger of LSN and cutoff. The least value is SBL (the paper's RLB, recoverable
// logging boundary).
//
// Why the boundary passes no hole (common/worker_words.h has the orders). Take an open hole, its
// worker's flag as the thread saw it, and a boundary that is at most the flag's value.
//   black  The LSN was loaded from `next` before the flag's hole was drawn, or the hole begins at
//          the LSN. So this hole, and each later hole of the worker, begins at the LSN or after it.
//          The worker's earlier holes are filled.
//   white  Holes that the cutoff counts are filled. A later hole begins at the cutoff or after it,
//          and after the worker's last record.
// An idle worker is white, with the value of the cutoff: it stops no boundary (R5).
//
// The boundary is always the end of a record. The boundary may go back when a worker draws its hole
// long after the announcement; advance() keeps the larger boundary, which stays true.
#pragma once

#include "logging/schemes/common/worker_words.h"
#include "logging/stream/ring.h"

namespace logjam {

class HerdFlags : public WorkerWords {
 public:
  HerdFlags(uint32_t workers, const Ring&) : WorkerWords(workers) {}

  void announce(uint32_t worker, const platform::atomic<uint64_t>& next) {
    store(worker, kOpen | next.load(platform::memory_order_relaxed));
  }
  void publish(uint32_t worker, uint64_t, uint64_t end) { store(worker, end); }
  // Returns the boundary, or `filled` if that is larger. Any thread may call it.
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>& next) const {
    const uint64_t cutoff = next.load(platform::memory_order_acquire);
    uint64_t boundary = kNoHole;
    for_each_word([&](uint64_t flag) {
      const bool black = (flag & kOpen) != 0;
      boundary = std::min(boundary, black ? flag & ~kOpen : std::max(flag, cutoff));
    });
    return std::max(filled, boundary);
  }
};

}  // namespace logjam
