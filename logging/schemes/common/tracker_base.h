// A tracker finds SBL for a fetch-add scheme (fetch_add_scheme.h): the position up to which the log
// has no hole. Each tracker has two more functions:
//
//   publish(worker, begin, end)   notes that the record [begin, end) is filled; called by the
//                                 worker, after room() has returned true
//   advance(filled, next)         returns the new SBL, starting from `filled`; `next` is the
//                                 position at which the next record will begin. One thread at a
//                                 time calls it, unless the tracker's file says otherwise.
//
// A tracker whose workers announce holes has announce() and must_wait() too (worker_words.h).
#pragma once

#include <cstdint>

#include "logging/counters.h"

namespace logjam {

struct TrackerBase {
  // Whether the tracker gets a thread. If not, each thread that asks for SBL advances SBL.
  static constexpr bool kOwnThread = false;

  bool room(uint32_t) const { return true; }
  // Returns how many bytes of the ring must stay free in addition to the largest record.
  uint64_t slack_bytes() const { return 0; }
  Counters counters() const { return {}; }
};

}  // namespace logjam
