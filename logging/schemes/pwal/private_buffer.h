// A log buffer that only its worker fills, without a latch. While the worker is idle, another
// thread may append a watermark. Records get their numbers from a counter that all buffers share.
//
// Protocol. W1, W2 and A1, A2 are seq_cst.
//
//   the worker opens a record                    a thread appends a watermark
//   W0  open_ = true                             A1  claimed_ = true (exchange)
//   W1  counter_ += 1: the record's number       A2  load counter_: the watermark's number
//   W2  wait while claimed_ is true              A3  load open_ (acquire); if it is true, give up
//   W3  fill, store the place                        else append, store the place
//   W4  open_ = false (release)                  A4  claimed_ = false (release)
//
//   first       then
//   W1 then A2  A3 sees open_, or the place that W3 has stored
//   A2 then W1  the record's number is larger than the watermark's; W2 sees the claim and waits, or
//               sees the place that A3 has stored
//
// So the two never fill the same bytes, and records after a watermark have larger numbers.
//
//   slots_   the place: the end of the filled bytes, and the number of the record that ends there.
//            One thread at a time stores it: the worker, or the thread with the claim. The thread
//            writes the slot that is not current, and makes this slot current by the next `count_`
//            (release). place() loads the count, the slot, and the count again. If the count is the
//            same, no store changed the slot in between: the next store uses the other slot, and
//            the count grows before the second-next store. The slot's words are stored with release
//            and loaded with acquire. So a thread that sees a word of the second-next store also
//            sees a larger count. A thread that stops during a store does not delay place().
#pragma once

#include <array>

#include "platform/spin.h"

namespace logjam {

class alignas(platform::kCacheLine) PrivateBuffer {
 public:
  struct Place {
    uint64_t end = 0, sequence = 0;
  };

  // Makes a buffer. `counter` has the last drawn number, and outlives the buffer.
  explicit PrivateBuffer(platform::atomic<uint64_t>& counter) : counter_(counter) {}

  // Draws the number of the next record, which begins at place().end. publish() or cancel()
  // follows. Only the worker calls these three functions.
  uint64_t open() {
    LJ_ASSERT_IN_TESTS(!open_.load(platform::memory_order_relaxed));
    open_.store(true, platform::memory_order_relaxed);
    const uint64_t sequence = counter_.fetch_add(1) + 1;
    for (platform::SpinWait wait; claimed_.load(); wait.once()) {
    }
    return sequence;
  }
  void publish(const Place& place) {
    LJ_ASSERT_IN_TESTS(open_.load(platform::memory_order_relaxed));
    store(place);
    open_.store(false, platform::memory_order_release);
  }
  void cancel() { open_.store(false, platform::memory_order_release); }

  // Returns the place. Any thread may call it.
  Place place() const {
    while (true) {
      const uint64_t count = count_.load(platform::memory_order_acquire);
      const Slot& slot = slots_[count % 2];
      const Place place{slot.end.load(platform::memory_order_acquire),
                        slot.sequence.load(platform::memory_order_acquire)};
      if (count_.load(platform::memory_order_relaxed) == count) return place;
    }
  }

  // Calls `append(place, counter)`, which returns the new place. Calls nothing if the worker has an
  // open record, or if another thread is in this function. Records after `place` will have larger
  // numbers than `counter`. Returns whether a watermark was appended. Any thread may call it.
  template <class Append>
  bool append_if_idle(const Append& append) {
    if (open_.load(platform::memory_order_relaxed) || claimed_.exchange(true)) return false;
    const uint64_t counter = counter_.load();
    bool appended = false;
    if (!open_.load(platform::memory_order_acquire)) {
      const Place before = place();
      const Place after = append(before, counter);
      appended = after.end != before.end;
      if (appended) store(after);
    }
    claimed_.store(false, platform::memory_order_release);
    return appended;
  }

 private:
  struct Slot {
    platform::atomic<uint64_t> end{0}, sequence{0};
  };

  void store(const Place& place) {
    LJ_ASSERT_IN_TESTS(place.end > this->place().end && place.sequence > this->place().sequence);
    const uint64_t next = count_.load(platform::memory_order_relaxed) + 1;
    Slot& slot = slots_[next % 2];
    slot.end.store(place.end, platform::memory_order_release);
    slot.sequence.store(place.sequence, platform::memory_order_release);
    count_.store(next, platform::memory_order_release);
  }

  platform::atomic<uint64_t>& counter_;
  platform::atomic<bool> open_{false};
  platform::atomic<uint64_t> count_{0};
  std::array<Slot, 2> slots_;
  alignas(platform::kCacheLine) platform::atomic<bool> claimed_{false};
};

}  // namespace logjam
