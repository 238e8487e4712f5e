#include "logging/device/probe.h"

#include <utility>
#include <vector>

#include "logging/device/device_registry.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/memory.h"

namespace logjam {
namespace {

constexpr uint64_t kSleepNs = 20'000'000;

}  // namespace

Probe::Probe(const std::string& device, const DeviceOptions& options)
    : file_bytes_(options.preallocate_bytes),
      device_(open_device(device, options)),
      memory_(static_cast<std::byte*>(platform::map_huge(device_->depth() * kLargestBytes))) {}

Probe::~Probe() { platform::unmap_huge(memory_, device_->depth() * kLargestBytes); }

double Probe::measure(const ProbePoint& point, double seconds,
                      const std::function<void(uint64_t ticks)>& wrote) {
  LJ_ASSERT(point.bytes != 0 && point.bytes <= kLargestBytes && file_bytes_ % point.bytes == 0);
  LJ_ASSERT(point.depth != 0 && point.depth <= device_->depth());
  LJ_ASSERT(!point.one_call || point.depth == 1);
  const uint64_t begin = platform::now_ns();
  const uint64_t end = begin + static_cast<uint64_t>(seconds * 1e9);
  std::vector<uint64_t> started(point.depth);  // in ticks; 0: the slot has no write under way
  uint32_t under_way = 0;
  const auto start = [&](uint32_t slot) {
    LJ_ASSERT(started[slot] == 0);
    started[slot] = platform::ticks();
    ++under_way;
    if (point.one_call) {
      device_->start_and_wait(next(point.bytes), bytes_of(slot, point.bytes), Sync::kData,
                              kSleepNs);
    } else {
      device_->start(next(point.bytes), bytes_of(slot, point.bytes), Sync::kData, slot);
    }
  };
  for (uint32_t slot = 0; slot < point.depth; ++slot) start(slot);
  while (under_way > 0) {
    bool any = false;
    for (uint32_t slot = 0; slot < point.depth; ++slot) {
      if (started[slot] == 0 || !device_->finished(slot)) continue;
      wrote(platform::ticks() - std::exchange(started[slot], 0));
      any = true;
      --under_way;
      if (platform::now_ns() < end) start(slot);
    }
    if (!any) device_->wait(kSleepNs);
  }
  return static_cast<double>(platform::now_ns() - begin) * 1e-9;
}

uint64_t Probe::next(uint64_t bytes) {
  if (offset_ + bytes > file_bytes_) offset_ = 0;
  const uint64_t at = offset_;
  offset_ += bytes;
  return at;
}

}  // namespace logjam
