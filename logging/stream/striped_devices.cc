#include "logging/stream/striped_devices.h"

#include <algorithm>
#include <bit>

#include "platform/clock.h"

namespace logjam {
namespace {

uint64_t all_slots(const Device& device) {
  const uint32_t depth = device.depth();
  return depth == StripedDevices::kMostDepth ? ~uint64_t{0} : (uint64_t{1} << depth) - 1;
}

}  // namespace

StripedDevices::StripedDevices(const LogConfig& config, uint32_t index)
    : stripes_{config.stripes, config.stripe_bytes} {
  for (uint32_t i = 0; i < config.stripes; ++i) {
    Device* device = config.devices[index * config.stripes + i];
    devices_.push_back({.device = device,
                        .position = stripes_.first(i),
                        .next = stripes_.first(i),
                        .free_slots = all_slots(*device)});
    devices_.back().flights.reserve(device->depth());
  }
}

uint64_t StripedDevices::durable() const {
  return std::ranges::min(devices_, {}, &Member::position).position;
}

StripedDevices::Flight StripedDevices::starts(Member& member, uint64_t next, bool rewrites) {
  const auto slot = static_cast<uint32_t>(std::countr_zero(member.free_slots));
  member.free_slots &= member.free_slots - 1;
  member.next = next;
  const Flight flight{.next = next, .order = ++started_, .slot = slot, .rewrites = rewrites};
  member.flights.push_back(flight);
  under_way_.store(under_way() + 1, platform::memory_order_release);
  if (under_way() == 1) find_oldest();
  return flight;
}

bool StripedDevices::finish() {
  uint32_t finished = 0;
  for (Member& member : devices_) {
    for (Flight& flight : member.flights) {
      if (flight.finished || !member.device->finished(flight.slot)) continue;
      flight.finished = true;
      member.free_slots |= uint64_t{1} << flight.slot;
      member.idle_since = platform::ticks();
      ++finished;
    }
    const auto open = std::ranges::find(member.flights, false, &Flight::finished);
    if (open == member.flights.begin()) continue;
    member.position = std::prev(open)->next;
    member.flights.erase(member.flights.begin(), open);
  }
  if (finished == 0) return false;
  under_way_.store(under_way() - finished, platform::memory_order_release);
  find_oldest();
  return true;
}

void StripedDevices::look_for_oldest() {
  uint64_t least = ~uint64_t{0};
  uint32_t oldest = 0;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const auto& flights = devices_[device].flights;
    const auto open = std::ranges::find(flights, false, &Flight::finished);
    if (open != flights.end() && open->order < least) {
      least = open->order;
      oldest = device;
    }
  }
  oldest_.store(oldest, platform::memory_order_relaxed);
}

}  // namespace logjam
