// A worker's own log: the number of its open record, and the position up to which the log is
// filled. These two tell any other thread below which number the log has all its records.
//
// Protocol. Only the log's worker stores `open_` (announced_number.h) and `filled_` (release); any
// thread loads `filled_` (acquire). note_fill() stores the record's end in `filled_`, and then
// withdraws the number. look() looks at `open_`, and then loads `filled_`. So if look() sees a
// withdrawal, or the number of a later record, it also sees the end of what was published before.
// Hence every published record with a number below `place` lies before `filled` (Seen).
#pragma once

#include "logging/schemes/common/announced_number.h"

namespace logjam {

class WorkerLog {
 public:
  static constexpr uint64_t kNone = AnnouncedNumber::kNone;

  // Opens a record with the number that draw() returns, which is at least `bound`. Only the worker
  // calls open() and note_fill().
  template <class Draw>
  AnnouncedNumber::Announced open(uint64_t bound, const Draw& draw) {
    return open_.announce(bound, draw);
  }
  // Says that the open record is filled, up to `end`.
  void note_fill(uint64_t end) {
    filled_.store(end, platform::memory_order_release);
    open_.withdraw();
  }

  struct Seen {
    uint64_t place;   // the number of the open record, or a bound; kNone: no record is open
    uint64_t filled;  // a record's end; published records below `place` lie before it
  };
  Seen look() const {
    const uint64_t place = open_.look();
    return {place, filled()};
  }
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

 private:
  AnnouncedNumber open_;
  platform::atomic<uint64_t> filled_{0};
};

}  // namespace logjam
