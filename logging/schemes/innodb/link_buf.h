// The links of InnoDB's log: a tracker that finds the position up to which the log has no hole, the
// *tail* (MySQL 8.0, WL#10310: link_buf, `recent_written`). Each filled record is a link: its end,
// stored in the table entry of its begin. A thread that has stored a link, or needs the tail,
// follows the links from the tail on. The table covers a window of the log, and is reused for the
// next window. A worker whose record begins at the tail stores no link. It stores the record's end
// as the new tail.
//
// Protocol.
//   links_  an entry is stored by the worker whose record begins at one of the entry's positions
//           (release, after the record's bytes), and set to 0, by compare-and-swap, by the thread
//           that takes the link at the tail. Any thread loads it (acquire).
//   tail_   stored (release) by the thread that may move it; any thread loads it (acquire).
//
// Which thread may move the tail from position p. If the worker of the record at p sees that the
// tail is p before it stores its link, only that worker may move the tail: p will never have a
// link. Otherwise the thread that takes out the link at p, by a compare-and-swap, may move the
// tail. In both cases the thread has acquired the bytes before the new tail, from the links or from
// the tail.
//
// Only the link at the tail is set to 0. Further links stay in the table. If the tail is p, a value
// above p in p's entry is p's link. (A *lap* is one window of the log.)
//   * A link of an earlier lap is at most p: it is the end of a record before the record at p.
//   * A link of a later lap is stored only when the tail has passed p, because its worker waits
//     until its begin is less than a window after the tail. So a thread that finds a value and then
//     sees that the tail *still* is p has found p's link. If the entry changes after that, the
//     compare-and-swap fails: an entry's links grow from lap to lap, and 0 (no link) is not a link.
//     A thread stores the tail only after it has read further links, so these do not belong to a
//     later lap either.
//
// A worker that waits for the window to move holds nothing that an earlier worker needs: the worker
// of the record at the tail waits for nobody here.
//
// Who looks last. Let worker A store the tail and miss the link of the next record, and let worker
// B store this link and miss the new tail. Both fence after they have published
// (Stream::on_publish). The later worker looks again and sees both stores, or a flusher sees both,
// because it fences and looks before it sleeps. But a worker that moves the tail while it waits for
// the window tells no flusher. So the passed records may wait for a flusher's timeout.
#pragma once

#include <bit>

#include "logging/schemes/common/tracker_base.h"
#include "logging/stream/ring.h"

namespace logjam {

class LinkBuf : public TrackerBase {
 public:
  // A worker does not link a record that begins `window_bytes` or more after the tail. The window
  // is at most as long as the ring.
  LinkBuf(uint32_t, const Ring& ring, uint64_t window_bytes)
      : LinkBuf(std::min(window_bytes, ring.capacity())) {}
  explicit LinkBuf(uint64_t window_bytes)
      : window_bytes_(window_bytes), links_(window_bytes / kEntryBytes) {
    LJ_ASSERT(std::has_single_bit(window_bytes) && window_bytes >= kEntryBytes);
  }

  // Links the filled record [begin, end). Waits while `begin` is a window or more after the tail.
  void publish(uint32_t, uint64_t begin, uint64_t end) {
    LJ_ASSERT_IN_TESTS(begin % kEntryBytes == 0 && begin < end);
    uint64_t tail = this->tail();
    for (platform::SpinWait wait; begin - tail >= window_bytes_; tail = this->tail()) {
      wait.once();
      follow(kToTheEnd);
    }
    if (tail == begin) return tail_.store(end, platform::memory_order_release);
    LJ_ASSERT_IN_TESTS(link(begin).load(platform::memory_order_relaxed) <= begin);
    link(begin).store(end, platform::memory_order_release);
    follow(end);
  }

  // Returns the tail. Any thread may call it.
  template <class Position>
  uint64_t advance(uint64_t, const Position&) {
    follow(kToTheEnd);
    return tail();
  }

 private:
  static constexpr uint64_t kEntryBytes = 8;  // bytes of the log for each entry
  static constexpr uint64_t kTaken = 0, kToTheEnd = ~uint64_t{0};

  uint64_t tail() const { return tail_.load(platform::memory_order_acquire); }
  platform::atomic<uint64_t>& link(uint64_t position) {
    return links_[(position & (window_bytes_ - 1)) / kEntryBytes];
  }

  // Moves the tail along the links, to `stop` or later, unless another thread is moving the tail.
  void follow(uint64_t stop) {
    for (uint64_t from = tail(); from < stop; from = tail()) {
      uint64_t to = link(from).load(platform::memory_order_acquire);
      if (to <= from) return;
      if (tail() != from || !link(from).compare_exchange_strong(to, kTaken)) continue;
      for (uint64_t next; to < stop; to = next) {
        next = link(to).load(platform::memory_order_acquire);
        if (next <= to) break;
      }
      return tail_.store(to, platform::memory_order_release);
    }
  }

  const uint64_t window_bytes_;
  std::vector<platform::atomic<uint64_t>> links_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> tail_{0};
};

}  // namespace logjam
