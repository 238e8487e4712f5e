#include "logging/stream/striped_devices.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {

StripedDevices::StripedDevices(const LogConfig& config, uint32_t index)
    : stripes_{config.stripes, config.stripe_bytes} {
  for (uint32_t device = 0; device < config.stripes; ++device) {
    devices_.push_back({.device = config.devices[index * config.stripes + device],
                        .position = stripes_.first(device)});
  }
}

uint64_t StripedDevices::durable() const {
  return std::ranges::min(devices_, {}, &Member::position).position;
}

bool StripedDevices::finish() {
  uint32_t finished = 0;
  for (Member& member : devices_) {
    if (member.order == 0 || !member.device->finished()) continue;
    member.position = member.next;
    member.order = 0;
    member.idle_since = platform::ticks();
    ++finished;
  }
  if (finished == 0) return false;
  under_way_.store(under_way() - finished, platform::memory_order_release);
  find_oldest();
  return true;
}

void StripedDevices::look_for_oldest() {
  uint32_t oldest = 0;
  for (uint32_t device = 1; device < devices_.size(); ++device) {
    const uint64_t order = devices_[device].order;
    if (order != 0 && (devices_[oldest].order == 0 || order < devices_[oldest].order))
      oldest = device;
  }
  oldest_.store(oldest, platform::memory_order_relaxed);
}

}  // namespace logjam
