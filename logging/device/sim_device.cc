#include "logging/device/sim_device.h"

#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "platform/clock.h"
#include "platform/mutex.h"

namespace logjam {
namespace {

constexpr uint64_t kFirstOvershootNs = 30'000;
// The estimate of how late a sleep ends goes up by one step when a sleep ended later, and down by
// two steps when it did not, so it settles where one sleep in three ends earlier. With a mean,
// every preemption of some milliseconds would lengthen the spinning that follows.
constexpr uint64_t kStepNs = 500;
constexpr uint64_t kShortestSleepNs = 5'000;

}  // namespace

std::shared_ptr<SimMedium> SimMedium::of(const std::string& path) {
  static platform::mutex mutex;
  static std::map<std::string, std::weak_ptr<SimMedium>> media;
  const platform::lock_guard<platform::mutex> hold(mutex);
  std::weak_ptr<SimMedium>& known = media[std::filesystem::path(path).parent_path()];
  std::shared_ptr<SimMedium> medium = known.lock();
  if (medium == nullptr) known = medium = std::make_shared<SimMedium>();
  return medium;
}

uint64_t SimMedium::transfer(uint64_t ns) {
  latch_.lock();
  const uint64_t end = busy_until_ns_ = std::max(platform::now_ns(), busy_until_ns_) + ns;
  latch_.unlock();
  return end;
}

SimDevice::SimDevice(const DeviceOptions& options, double latency_us, double mb_per_second)
    : file_({options.path, 0, options.seed}, 0),
      medium_(SimMedium::of(options.path)),
      latency_ns_(static_cast<uint64_t>(latency_us * 1e3)),
      ns_per_byte_(mb_per_second == 0 ? 0 : 1e3 / mb_per_second),
      late_(options.late),
      writes_(options.depth),
      overshoot_ns_(kFirstOvershootNs) {}

void SimDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync, uint32_t slot) {
  Write& write = writes_[slot];
  const uint64_t transferred =
      medium_->transfer(static_cast<uint64_t>(ns_per_byte_ * static_cast<double>(bytes.size())));
  if (late_) {
    write.late_offset = offset;
    write.late_bytes = bytes;
  } else {
    file_.write(offset, bytes);
  }
  write.deadline_ns.store(transferred + latency_ns_, platform::memory_order_release);
}

bool SimDevice::finished(uint32_t slot) {
  Write& write = writes_[slot];
  const uint64_t deadline = write.deadline_ns.load(platform::memory_order_relaxed);
  if (deadline == 0) return true;
  if (platform::now_ns() < deadline) return false;
  if (!write.late_bytes.empty()) file_.write(write.late_offset, write.late_bytes);
  write.late_bytes = {};
  write.deadline_ns.store(0, platform::memory_order_relaxed);
  return true;
}

void SimDevice::wait(uint64_t timeout_ns) {
  const uint64_t begin = platform::now_ns();
  uint64_t until = begin + timeout_ns;
  bool under_way = false;
  for (const Write& write : writes_) {
    const uint64_t deadline = write.deadline_ns.load(platform::memory_order_acquire);
    if (deadline == 0) continue;
    under_way = true;
    until = std::min(until, deadline);
  }
  if (!under_way) return;
  const uint64_t overshoot = overshoot_ns_.load(platform::memory_order_relaxed);
  if (begin + overshoot + kShortestSleepNs < until) {
    prctl(PR_SET_TIMERSLACK, 1);  // without it the kernel adds up to 50 us
    const uint64_t wake_at = until - overshoot;
    platform::sleep_ns(wake_at - begin);
    const bool later = platform::now_ns() > until;
    overshoot_ns_.store(later ? overshoot + kStepNs : overshoot - std::min(overshoot, 2 * kStepNs),
                        platform::memory_order_relaxed);
  }
  while (platform::now_ns() < until) platform::pause();
}

}  // namespace logjam
