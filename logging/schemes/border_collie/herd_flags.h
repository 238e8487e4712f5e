// Border-Collie's tracker. A worker's flag has a colour and an LSN. A *black* flag says that the
// worker may have a hole, which begins at the LSN or after it. A *white* flag says that it has no
// hole, and that its last record ended at the LSN. The thread that herds takes a cutoff, and then
// the least value of all flags. The value of a black flag is its LSN; the value of a white flag is
// the larger of LSN and cutoff. The least value is SBL (the paper's RLB).
//
// Why the boundary passes no hole (common/worker_words.h has the orders). Let a worker have an open
// hole. The boundary is at most the value of this worker's flag, as the thread saw it:
//   black  The LSN was loaded from `next` before the flag's hole was drawn, or the hole begins at
//          the LSN. So this hole and the worker's later holes begin at the LSN or after it. Its
//          earlier holes are filled.
//   white  Holes that the cutoff counts are filled. A later hole begins neither before the cutoff
//          nor before the LSN.
// An idle worker is white, with the value of the cutoff: it stops no boundary (R5).
//
// The boundary is always the end of a record. If a worker draws its hole long after it has
// announced an LSN, a thread may find a smaller boundary than an earlier one. advance() keeps the
// larger boundary, which stays correct.
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
