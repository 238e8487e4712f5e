// A log buffer that only its worker writes to, without a latch. While the worker is idle, another
// thread may append a watermark. Records are numbered by a counter that all buffers share.
//
// Protocol.
//   open_    is true while the worker has a record open. The worker stores true, draws its number
//            (an addition to the counter, seq_cst), and then waits as long as `claimed_` is true
//            (seq_cst). It stores false (release) after the place.
//   claimed_ a thread that wants to append a watermark sets it (exchange, seq_cst), loads the
//            counter (seq_cst), and then `open_` (acquire). If `open_` is true, the thread gives
//            up. If not, it appends a watermark of the counter's value and stores the place. Then
//            it stores false (release).
// Either the thread's load of the counter sees the worker's addition, and then the thread also sees
// `open_`, or the record that the worker has published since. Or the addition comes later, and then
// the worker, which loads `claimed_` after the addition, sees the claim and waits, or sees the
// place that was stored under the claim. So the two never fill the same bytes, and the numbers of
// all records after a watermark are larger than the watermark. A worker waits for some
// instructions, and only if its buffer was idle. If the thread is descheduled meanwhile, the worker
// waits for it.
//   slots_   the place: the end of the filled bytes, and the number of the record that ends there.
//            One thread at a time stores it: the worker, or the thread with the claim. It writes
//            the slot that is not current, and makes that slot current by the next `count_`
//            (release). A reader loads the count, the slot, and the count again. If the count is
//            the same, no store went into the slot meanwhile: the next one goes into the other
//            slot, and the one after that makes the count grow first. The slot's words are stored
//            with release and loaded with acquire, so a reader that sees a word of that later store
//            also sees the count grown. A thread that stops in the middle of a store keeps no
//            reader waiting.
#pragma once

#include <array>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class alignas(platform::kCacheLine) PrivateBuffer {
 public:
  struct Place {
    uint64_t end = 0, sequence = 0;
  };

  // Makes a buffer. `counter` is the last number that was drawn; it outlives the buffer.
  explicit PrivateBuffer(platform::atomic<uint64_t>& counter) : counter_(counter) {}

  // Draws the number of the next record, which begins at place().end. publish() or cancel()
  // follows. Called by the worker, as these two are.
  uint64_t open() {
    open_.store(true, platform::memory_order_relaxed);
    const uint64_t sequence = counter_.fetch_add(1) + 1;
    for (platform::SpinWait wait; claimed_.load(); wait.once()) {
    }
    return sequence;
  }
  void publish(const Place& place) {
    store(place);
    open_.store(false, platform::memory_order_release);
  }
  void cancel() { open_.store(false, platform::memory_order_release); }

  // Returns how far the buffer is filled. Any thread may call it.
  Place place() const {
    while (true) {
      const uint64_t count = count_.load(platform::memory_order_acquire);
      const Slot& slot = slots_[count % 2];
      const Place place{slot.end.load(platform::memory_order_acquire),
                        slot.sequence.load(platform::memory_order_acquire)};
      if (count_.load(platform::memory_order_relaxed) == count) return place;
    }
  }

  // Calls `append(place, counter)`, unless the worker has a record open or another thread is in
  // this function. Records after `place` will have larger numbers than `counter`. `append` returns
  // the place where the buffer then ends: `place`, or the end of a watermark. Returns whether a
  // watermark was appended. Any thread may call it.
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
