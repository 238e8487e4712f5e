// The number of the record, or of the transaction, that a worker has open. Other threads learn from
// it up to which number the worker adds nothing any more.
//
// A worker cannot announce a number before it has drawn it, and a number that is drawn and not yet
// announced would be missed. So the worker announces a bound first, which is at most the number to
// come; fences; draws the number; and announces it.
//
// Why a look misses no number. A thread that looks knows a value of the source, from which the
// numbers are drawn. It has stored that value there, or has loaded it. Then it fences, and looks.
// Of the two fences one is the first. If it is the worker's, the look sees the bound, or what was
// announced later. If it is the other thread's, the worker draws from that value of the source, or
// from a later one. So the number is announced, or it is one that the value does not count. The
// looking thread needs no fence if it has loaded (acquire) a value of the source that counts the
// number, and numbers are drawn by read-modify-writes (release), which continue each other's
// release: then it sees the bound.
//
// The bound may be stale, when others draw meanwhile. A thread that looks at this moment finds the
// worker in the way of numbers between the bound and the drawn one, and may go to sleep. So
// announce() says that others may wait, and its caller looks for them after a fence.
//
// Protocol. Only the worker stores `number_` (release); any thread loads it (acquire). A thread
// that sees kNone, or the number of a later record, sees all that the worker did before.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

class AnnouncedNumber {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Announced {
    uint64_t number;
    bool others_may_wait;  // for a number between the bound and this one
  };
  // Announces and returns the number that draw() returns, which is at least `bound`. Called by the
  // worker.
  template <class Draw>
  Announced announce(uint64_t bound, const Draw& draw) {
    number_.store(bound, platform::memory_order_release);
    platform::full_fence();
    const uint64_t number = draw();
    if (number == bound) return {number, false};
    number_.store(number, platform::memory_order_release);
    return {number, true};
  }
  // Says that the worker adds nothing with the number any more. Called by the worker.
  void withdraw() { number_.store(kNone, platform::memory_order_release); }

  // Returns a number below which the worker has none open: the announced one, a bound, or kNone.
  // Any thread may call it.
  uint64_t look() const { return number_.load(platform::memory_order_acquire); }

 private:
  platform::atomic<uint64_t> number_{kNone};
};

}  // namespace logjam
