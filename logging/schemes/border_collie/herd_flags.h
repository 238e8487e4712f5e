// Border-Collie's tracker. A worker's flag has a colour and an LSN: *black*, the worker may have a
// hole, which begins at the LSN or after it; *white*, it has none, and its last record ended there.
// The thread that herds takes a cutoff and then the least of what the flags say: of a black flag
// the LSN, and of a white one the larger of LSN and cutoff. That is the recoverable logging
// boundary (RLB), here SBL.
//
// Why the boundary passes no hole (common/worker_words.h has the orders). Take a hole that is open,
// its worker's flag as the thread saw it, and a boundary that is not larger than what the flag
// says.
//   black  The LSN was loaded from `next` before the hole of that flag was drawn, or is where that
//          hole begins. So this hole, and each later one of the worker, begins there or after it;
//          the earlier ones are filled.
//   white  Holes that the cutoff counts are filled. A later hole begins at the cutoff or after it,
//          and after the worker's last record.
// An idle worker is white, and says the cutoff: it stops no boundary (R5).
//
// The boundary is always the end of a record. It may go back when a worker draws its hole long
// after its announcement; advance() keeps the larger one, which stays true.
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
