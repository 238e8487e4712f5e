// The number of the record, or of the transaction, that a worker has open. Other threads load this
// number, because the worker adds no more records with smaller numbers.
//
// Other threads would miss a number that is drawn but not announced yet. So the worker first
// announces a bound, which is at most the number, and then draws the number.
//
// Why a look misses no number. Numbers are drawn from `source`.
//
//   the worker                          the thread that looks
//   W1  announce a bound                L1  store or load a value of `source`
//   W2  fence                           L2  fence
//   W3  draw the number from `source`   L3  look
//   W4  announce the number
//
//   first fence   then
//   W2            L3 sees the bound, or a later announcement of the worker
//   L2            W3 draws from L1's value or a later one: the number is at least L1's value
//
// If numbers are drawn by read-modify-writes (release), they continue each other's release. Then L2
// is not necessary: if L1 loads (acquire) a value above the number, L3 sees the bound.
//
// If other workers draw between W1 and W3, the bound is stale. A thread that looks before W4 then
// finds that the worker blocks the numbers from the bound to the drawn number, and may go to sleep.
// So if announce() returns `others_may_wait`, its caller fences, and then looks or wakes waiters.
//
// Protocol. Only the worker stores `number_` (release); any thread loads it (acquire). A thread
// that sees kNone, or the number of a later record, sees all that the worker did before.
#pragma once

#include "platform/atomic.h"

namespace logjam {

class AnnouncedNumber {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Announced {
    uint64_t number;
    bool others_may_wait;  // for a number between the bound and `number`
  };
  // Announces the result of draw(), which is at least `bound`. Only the worker calls announce() and
  // withdraw().
  template <class Draw>
  Announced announce(uint64_t bound, const Draw& draw) {
    number_.store(bound, platform::memory_order_release);
    platform::full_fence();
    const uint64_t number = draw();
    if (number == bound) return {number, false};
    number_.store(number, platform::memory_order_release);
    return {number, true};
  }
  // Says that the worker adds no more records with the announced number.
  void withdraw() { number_.store(kNone, platform::memory_order_release); }

  // Returns a number (or kNone) below which the worker has no open number. Called by any thread.
  uint64_t look() const { return number_.load(platform::memory_order_acquire); }

 private:
  platform::atomic<uint64_t> number_{kNone};
};

}  // namespace logjam
