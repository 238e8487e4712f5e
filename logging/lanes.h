// The devices of one stream, its *lanes*, and how far each has come.
//
// With one lane a write has any length. With several the stream is striped (logging/stripes.h): no
// write crosses the end of its stripe, each lane has at most one under way, and while one lane
// still writes its stripe in several pieces the next may be ahead with the next stripe. A lane's
// position is the first byte of its own stripes that is not durable; the smallest of these is the
// stream's watermark, which so passes a stripe only when all before it are durable.
//
// Protocol. All is called under the stream's flush latch, except under_way() and wait(), which read
// what is stored there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "logging/device/device.h"
#include "logging/log_scheme.h"
#include "logging/stripes.h"
#include "platform/atomic.h"

namespace logjam {

class Lanes {
 public:
  struct Lane {
    Device* device;
    uint64_t position;        // of its first byte that is not durable
    uint64_t next = 0;        // the same, once the write under way is finished
    uint64_t order = 0;       // of the write under way among all; 0: none is
    uint64_t idle_since = 0;  // ticks
  };

  // The devices of stream `index`.
  Lanes(const LogConfig& config, uint32_t index);

  uint32_t block_bytes() const { return lanes_[0].device->block_bytes(); }
  bool start_blocks() const { return lanes_[0].device->start_blocks(); }

  // How many writes are under way.
  uint32_t under_way() const { return under_way_.load(platform::memory_order_acquire); }
  bool all_busy() const { return under_way() == lanes_.size(); }
  uint64_t durable() const;

  // Of the lanes that are idle and have bytes before `goal` to write, the one farthest behind.
  Lane* ready(uint64_t goal) {
    Lane* found = nullptr;
    for (Lane& lane : lanes_) {
      if (lane.order != 0 || lane.position >= goal) continue;
      if (found == nullptr || lane.position < found->position) found = &lane;
    }
    return found;
  }
  Lane& lane_of(uint64_t position) { return lanes_[stripes_.lane(position)]; }
  uint64_t stripe_end(uint64_t position) const { return stripes_.stripe_end(position); }
  uint64_t file_offset(uint64_t position) const { return stripes_.file_offset(position); }

  // The caller starts a write on `lane`, after which it will have all its bytes before `end`.
  void takes(Lane& lane, uint64_t end) { starts(lane, stripes_.next(end)); }
  // The same for bytes that are no news.
  void repeats(Lane& lane) { starts(lane, lane.position); }

  // Looks at the writes under way; whether one has finished.
  bool finish();
  // Sleeps on the write that was started first: as a rule it finishes first, and its lane can go on
  // while the others are busy.
  void wait(uint64_t timeout_ns) {
    lanes_[oldest_.load(platform::memory_order_relaxed)].device->wait(timeout_ns);
  }

 private:
  void starts(Lane& lane, uint64_t next) {
    lane.next = next;
    lane.order = ++started_;
    under_way_.store(under_way() + 1, platform::memory_order_release);
    if (under_way() == 1) find_oldest();
  }
  void find_oldest() {
    if (lanes_.size() > 1) look_for_oldest();
  }
  void look_for_oldest();

  std::vector<Lane> lanes_;
  const Stripes stripes_;
  uint64_t started_ = 0;  // writes
  platform::atomic<uint32_t> under_way_{0};
  platform::atomic<uint32_t> oldest_{0};
};

}  // namespace logjam
