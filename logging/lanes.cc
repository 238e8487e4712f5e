#include "logging/lanes.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {

Lanes::Lanes(const LogConfig& config, uint32_t index)
    : stripes_{config.stripes, config.stripe_bytes} {
  for (uint32_t lane = 0; lane < config.stripes; ++lane) {
    lanes_.push_back({.device = config.devices[index * config.stripes + lane],
                      .position = stripes_.first(lane)});
  }
}

uint64_t Lanes::durable() const { return std::ranges::min(lanes_, {}, &Lane::position).position; }

bool Lanes::finish() {
  uint32_t finished = 0;
  for (Lane& lane : lanes_) {
    if (lane.order == 0 || !lane.device->finished()) continue;
    lane.position = lane.next;
    lane.order = 0;
    lane.idle_since = platform::ticks();
    ++finished;
  }
  if (finished == 0) return false;
  under_way_.store(under_way() - finished, platform::memory_order_release);
  find_oldest();
  return true;
}

void Lanes::look_for_oldest() {
  uint32_t oldest = 0;
  for (uint32_t lane = 1; lane < lanes_.size(); ++lane) {
    const uint64_t order = lanes_[lane].order;
    if (order != 0 && (lanes_[oldest].order == 0 || order < lanes_[oldest].order)) oldest = lane;
  }
  oldest_.store(oldest, platform::memory_order_relaxed);
}

}  // namespace logjam
