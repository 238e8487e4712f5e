// The anchors of one log (taurus.cc): watermark records that say how far the other logs were
// durable, so that the vectors of later records in this log can leave these positions out.
//
// An anchor's positions are ends of the logs that an earlier begin() saw and that are durable now.
// An anchor does not contain a log's durable position itself. This position may lie inside a
// record, of which a crash would lose a part.
//
// Protocol.
//   position_  the last anchor's position for each log. Stored (release) under `lock_`, after the
//              anchor has its place in the log. A worker loads it (acquire) before it takes its own
//              place. So the anchor lies before the worker's record.
//   lock_      a try lock, which a worker holds from begin() to finish().
//   due_       begin() does nothing until the end of the log reaches this position. It is stored
//              under the lock; an old value is harmless.
#pragma once

#include <utility>
#include <vector>

#include "platform/spin.h"

namespace logjam {

class Anchors {
 public:
  // Makes the anchors of log `own`, each of `bytes`.
  Anchors(uint32_t own, uint32_t logs, uint32_t bytes)
      : own_(own), bytes_(bytes), position_(logs), ends_(logs), next_positions_(logs) {}

  // Returns the last anchor's position in log `s`. Any thread may call it.
  uint64_t position(uint32_t s) const { return position_[s].load(platform::memory_order_acquire); }

  // Returns whether the caller must append an anchor with its next record, and call finish(). This
  // is so if the log has grown enough, and if a new anchor would have larger positions than the
  // last one. Any worker may call it.
  template <class EndOf, class Durable>
  bool begin(const EndOf& end_of, const Durable& durable) LJ_TRY_ACQUIRE(true, lock_) {
    if (ends_.size() == 1) return false;
    const uint64_t end = end_of(own_);
    if (end < due_.load(platform::memory_order_relaxed) || !lock_.try_lock()) return false;
    bool says_more = false;
    for (uint32_t s = 0; s < ends_.size(); ++s) {
      if (s == own_ || ends_[s] > durable(s)) continue;
      says_more = says_more || ends_[s] > next_positions_[s];
      next_positions_[s] = std::exchange(ends_[s], end_of(s));
    }
    if (says_more) return true;
    due_.store(end + kLookEvery * bytes_, platform::memory_order_relaxed);
    lock_.unlock();
    return false;
  }
  // Calls `write(positions)`, which writes the anchor at position `place` of the log.
  template <class Write>
  void finish(uint64_t place, const Write& write) LJ_RELEASE(lock_) {
    next_positions_[own_] = place;
    write(next_positions_);
    for (uint32_t s = 0; s < ends_.size(); ++s) {
      LJ_ASSERT(s == own_ || next_positions_[s] >= position(s));
      if (s != own_) position_[s].store(next_positions_[s], platform::memory_order_release);
    }
    due_.store(place + kAnchorEvery * bytes_, platform::memory_order_relaxed);
    lock_.unlock();
  }

 private:
  // How much the log grows, in lengths of an anchor, between two anchors and between two checks.
  static constexpr uint64_t kAnchorEvery = 64, kLookEvery = 16;

  const uint32_t own_, bytes_;
  std::vector<platform::atomic<uint64_t>> position_;
  platform::atomic<uint64_t> due_{0};
  platform::SpinLock lock_;
  std::vector<uint64_t> ends_ LJ_GUARDED_BY(lock_), next_positions_ LJ_GUARDED_BY(lock_);
};

}  // namespace logjam
