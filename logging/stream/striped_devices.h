// The devices of one stream, and how far each of them has come.
//
// With one device a write may have any length. With several devices the stream is striped
// (logging/format/stripes.h). No write crosses the end of its stripe, and each device has at most
// one write under way. While one device still writes its stripe in several chunks, the next device
// may be ahead with the next stripe. The position of a device is the first byte of its stripes that
// is not durable. The smallest of these positions is the stream's watermark, so the watermark
// passes a stripe only when all stripes before it are durable.
//
// Protocol. All functions are called under the stream's flush latch, except under_way() and wait(),
// which load atomics that are stored under the latch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "logging/device/device.h"
#include "logging/format/stripes.h"
#include "logging/log_config.h"
#include "platform/atomic.h"

namespace logjam {

class StripedDevices {
 public:
  struct Member {
    Device* device;
    uint64_t position;        // the stream position of its first byte that is not durable
    uint64_t next = 0;        // the value of `position` when the write under way has finished
    uint64_t order = 0;       // the number of the write under way; 0: no write is under way
    uint64_t idle_since = 0;  // when its last write finished, in ticks
  };

  // The devices of stream `index`, which are the Log's and outlive this object.
  StripedDevices(const LogConfig& config, uint32_t index);

  uint32_t block_bytes() const { return devices_[0].device->block_bytes(); }
  bool start_blocks() const { return devices_[0].device->start_blocks(); }
  bool discards() const { return devices_[0].device->discards(); }

  // Any thread: how many writes are under way.
  uint32_t under_way() const { return under_way_.load(platform::memory_order_acquire); }
  bool all_busy() const { return under_way() == devices_.size(); }
  // Returns the stream position up to which all devices are durable.
  uint64_t durable() const;

  // Returns the device that is farthest behind among those that are idle and have bytes before
  // `goal` to write, or null if there is no such device.
  Member* ready(uint64_t goal) {
    Member* found = nullptr;
    for (Member& member : devices_) {
      if (member.order != 0 || member.position >= goal) continue;
      if (found == nullptr || member.position < found->position) found = &member;
    }
    return found;
  }
  Member& device_of(uint64_t position) { return devices_[stripes_.device(position)]; }
  uint64_t stripe_end(uint64_t position) const { return stripes_.stripe_end(position); }
  uint64_t file_offset(uint64_t position) const { return stripes_.file_offset(position); }

  // The caller starts a write on `member`. When the write has finished, the device has all its
  // bytes before `end`.
  void takes(Member& member, uint64_t end) { starts(member, stripes_.next(end)); }
  // The caller starts a write on `member` that does not change its position.
  void repeats(Member& member) { starts(member, member.position); }

  // Looks at the writes under way. Returns whether one has finished.
  bool finish();
  // Any thread: sleeps until the write that was started first may have finished, or `timeout_ns`
  // has passed. As a rule that write finishes first, and its device can go on while the others are
  // busy.
  void wait(uint64_t timeout_ns) {
    devices_[oldest_.load(platform::memory_order_relaxed)].device->wait(timeout_ns);
  }

 private:
  void starts(Member& member, uint64_t next) {
    member.next = next;
    member.order = ++started_;
    under_way_.store(under_way() + 1, platform::memory_order_release);
    if (under_way() == 1) find_oldest();
  }
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
