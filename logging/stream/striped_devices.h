// The devices of one stream, which writes are under way on them, and how far each device has come.
//
// With one device a write may have any length. With several devices the stream is striped, and no
// write crosses the end of its stripe. A device takes a write in each of its slots. The writes
// finish in any order. A device's position is the first byte of its stripes that is not durable.
// The position passes a write only when all earlier writes have finished. The smallest of these
// positions is the stream's watermark, SDL. After a crash a later write may be on the device while
// an earlier write is missing. The log then ends before the missing write.
//
// A write begins at the start of the block in which the write before it ended. If that write ended
// inside the block, the next write waits until it has finished: two simultaneous writes of one
// block may reach the device in either order.
//
// Protocol. Call all functions under the stream's flush latch, except under_way() and wait(), which
// load atomics that are stored under the latch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "logging/device/device.h"
#include "logging/format/log_file.h"
#include "logging/log_config.h"
#include "platform/atomic.h"

namespace logjam {

class StripedDevices {
 public:
  static constexpr uint32_t kMostDepth = 64;

  // A started write. It is dropped when it and all writes before it have finished.
  struct Flight {
    uint64_t next;   // the stream position of the device's first byte after the write
    uint64_t order;  // the number of the write, for the whole stream
    uint32_t slot;
    bool rewrites;
    bool finished = false;
  };
  struct Member {
    Device* device;
    uint64_t position;                 // the first position of the device that is not durable
    uint64_t next;                     // where the device's next write begins
    uint64_t free_slots;               // a bit for each slot without a write
    uint64_t idle_since = 0;           // when the device's last write finished, in ticks
    std::vector<Flight> flights = {};  // oldest first
  };

  // Uses the devices of stream `index` in `config`, which outlive this object.
  StripedDevices(const LogConfig& config, uint32_t index);

  uint32_t block_bytes() const { return devices_[0].device->block_bytes(); }
  uint32_t depth() const { return devices_[0].device->depth(); }
  bool start_blocks() const { return devices_[0].device->start_blocks(); }
  const DeviceTraits& traits() const { return devices_[0].device->traits(); }

  uint32_t under_way() const { return under_way_.load(platform::memory_order_acquire); }
  bool all_busy() const {
    for (const Member& member : devices_) {
      if (takes_one(member)) return false;
    }
    return true;
  }
  uint64_t durable() const;

  // Returns a device that can take a write and has bytes before `goal`, or null if there is none.
  // Of several devices, chooses the device whose next write begins first.
  Member* ready(uint64_t goal) {
    Member* found = nullptr;
    for (Member& member : devices_) {
      if (member.next >= goal || !takes_one(member)) continue;
      if (found == nullptr || member.next < found->next) found = &member;
    }
    return found;
  }
  Member& device_of(uint64_t position) { return devices_[stripes_.device(position)]; }
  uint64_t stripe_end(uint64_t position) const { return stripes_.stripe_end(position); }
  uint64_t file_offset(uint64_t position) const { return stripes_.file_offset(position); }

  // Notes that the caller starts a write on `member`, in the returned slot. When this write and all
  // earlier writes have finished, the device has all its bytes before `end`.
  uint32_t begin_write(Member& member, uint64_t end) {
    return starts(member, stripes_.next(end), /*rewrites=*/false).slot;
  }
  // Notes that the caller starts a write that does not change the device's position: of bytes that
  // no other write has, or of an idle device.
  Flight begin_rewrite(Member& member) { return starts(member, member.next, /*rewrites=*/true); }
  // Returns whether finish() has seen the end of write number `order`, or there is no such write.
  bool finished(const Member& member, uint64_t order) const {
    const auto flight = std::ranges::find(member.flights, order, &Flight::order);
    return flight == member.flights.end() || flight->finished;
  }

  // Looks which writes under way have finished. Returns whether any write has.
  bool finish();
  // Sleeps until the write that was started first may have finished, or `timeout_ns` has passed. As
  // a rule, the device of this write becomes free first.
  void wait(uint64_t timeout_ns) {
    devices_[oldest_.load(platform::memory_order_relaxed)].device->wait(timeout_ns);
  }

 private:
  bool takes_one(const Member& member) const {
    if (member.free_slots == 0) return false;
    if (member.next % block_bytes() == 0) return true;
    // The flights after the last write are rewrites. They have no bytes of this block.
    return std::ranges::none_of(member.flights, [&](const Flight& flight) {
      return flight.next == member.next && !flight.rewrites && !flight.finished;
    });
  }
  Flight starts(Member& member, uint64_t next, bool rewrites);
  void find_oldest() {
    if (devices_.size() > 1) look_for_oldest();
  }
  void look_for_oldest();

  std::vector<Member> devices_;
  const Stripes stripes_;
  uint64_t started_ = 0;  // how many writes have been started
  platform::atomic<uint32_t> under_way_{0};
  platform::atomic<uint32_t> oldest_{0};
};

}  // namespace logjam
