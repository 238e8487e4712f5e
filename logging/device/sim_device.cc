// `sim:LATENCY_US[:MB_S]`: a simulated device with this response time and bandwidth, on any
// machine. It transfers the bytes of one write at a time. Each write also takes the response time;
// the response times of several writes under way overlap. A directory counts as one medium:
// simultaneous writes to its files share the medium's bandwidth. No core is kept busy.
//
// `sim:FILE` plays the disk of a card (logging/device/disk_card.h). A write takes a random time of
// the card's times for its size, and for the number of writes under way when it starts. In a file,
// a write is under way until finished() has seen its end, as when the card was measured. Of other
// files in the directory, only the writes count whose time has not passed. A device's random
// numbers follow from its seed. Successive writes are independent: phases in which the real disk
// was slow are not played as phases.
//
// The bytes go into the page cache of a real file and survive a killed process; only the time is
// simulated. The kernel wakes sleeping threads late, by tens of microseconds in a virtual machine.
// wait() estimates this delay, sleeps less by the estimate, and then spins.
//
// Protocol. Any thread may call wait(), so the deadlines and the estimate `overshoot_ns_`, which
// wait() uses, are atomic. All devices whose files lie in one directory share a SimMedium.
#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "logging/device/device_file.h"
#include "logging/device/device_registry.h"
#include "logging/device/disk_card.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/mutex.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

constexpr uint64_t kFirstOvershootNs = 30'000;
// The estimate rises by one step when a sleep ended later than estimated, and falls by two steps
// otherwise. So it settles where one sleep in three ends earlier than estimated. A mean would grow
// with one preemption of some milliseconds, and lengthen all later spinning.
constexpr uint64_t kStepNs = 500;
constexpr uint64_t kShortestSleepNs = 5'000;

// The simulated medium of one directory. Any thread may call its functions.
class SimMedium {
 public:
  static std::shared_ptr<SimMedium> of(const std::string& path);

  // Queues a transfer of `ns` nanoseconds after all earlier transfers. Returns its end (now_ns).
  uint64_t transfer(uint64_t ns);

  // Returns how many writes of other devices than `device` are under way.
  uint32_t others(const Device* device);
  // Adds a write of `device` that is under way until `end_ns` (now_ns).
  void add(const Device* device, uint64_t end_ns);

 private:
  struct UnderWay {
    const Device* device;
    uint64_t end_ns;
  };
  platform::SpinLock latch_;
  uint64_t busy_until_ns_ LJ_GUARDED_BY(latch_) = 0;
  std::vector<UnderWay> writes_ LJ_GUARDED_BY(latch_);  // of cards; some have ended
};

struct SimParameters {
  double latency_us = 0;
  double mb_per_second = 0;  // 0: the bandwidth has no limit
};

class SimDevice final : public Device {
 public:
  SimDevice(const DeviceOptions& options, SimParameters parameters);
  SimDevice(const DeviceOptions& options, DiskCard card);

  uint32_t block_bytes() const override { return 512; }
  uint32_t depth() const override { return static_cast<uint32_t>(writes_.size()); }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync, uint32_t slot = 0) override {
    begin(offset, bytes, slot, false);
  }
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync,
                      uint64_t timeout_ns) override {
    begin(offset, bytes, 0, true);
    wait(timeout_ns);
  }
  bool finished(uint32_t slot = 0) override;
  void release(uint64_t before) override { file_.release(before); }
  uint32_t threads() const override { return file_.threads(); }
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return false; }

 private:
  void begin(uint64_t offset, std::span<const std::byte> bytes, uint32_t slot, bool one_call);
  // Returns when a write that starts now ends (now_ns).
  uint64_t end_of(uint64_t bytes, bool one_call);
  struct Write {
    platform::atomic<uint64_t> deadline_ns{0};  // 0: no write is under way
    uint64_t late_offset = 0;
    std::span<const std::byte> late_bytes;  // not written yet; only under `faulty`
  };

  DeviceFile file_;
  const std::shared_ptr<SimMedium> medium_;
  const SimParameters parameters_;  // unused with a card
  std::optional<CardTimes> card_;   // guarded by the flush latch
  const bool late_;
  std::vector<Write> writes_;  // by slot
  platform::atomic<uint64_t> overshoot_ns_;
};

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
  const platform::lock_guard<platform::SpinLock> hold(latch_);
  return busy_until_ns_ = std::max(platform::now_ns(), busy_until_ns_) + ns;
}

uint32_t SimMedium::others(const Device* device) {
  const uint64_t now = platform::now_ns();
  const platform::lock_guard<platform::SpinLock> hold(latch_);
  std::erase_if(writes_, [now](const UnderWay& write) { return write.end_ns <= now; });
  return static_cast<uint32_t>(std::ranges::count_if(
      writes_, [device](const UnderWay& write) { return write.device != device; }));
}

void SimMedium::add(const Device* device, uint64_t end_ns) {
  const platform::lock_guard<platform::SpinLock> hold(latch_);
  writes_.push_back({device, end_ns});
}

SimDevice::SimDevice(const DeviceOptions& options, SimParameters parameters)
    : file_({options.path, 0, options.seed}, 0),
      medium_(SimMedium::of(options.path)),
      parameters_(parameters),
      late_(options.late),
      writes_(options.depth),
      overshoot_ns_(kFirstOvershootNs) {}

SimDevice::SimDevice(const DeviceOptions& options, DiskCard card)
    : SimDevice(options, SimParameters()) {
  card_.emplace(std::move(card), options.seed);
}

uint64_t SimDevice::end_of(uint64_t bytes, bool one_call) {
  if (!card_) {
    const double mb_per_second = parameters_.mb_per_second;
    const double ns_per_byte = mb_per_second == 0 ? 0 : 1e3 / mb_per_second;
    const auto ns = static_cast<uint64_t>(ns_per_byte * static_cast<double>(bytes));
    return medium_->transfer(ns) + static_cast<uint64_t>(parameters_.latency_us * 1e3);
  }
  const uint64_t now = platform::now_ns();
  const auto own = std::ranges::count_if(writes_, [](const Write& write) {
    return write.deadline_ns.load(platform::memory_order_relaxed) != 0;
  });
  const auto under_way = 1 + static_cast<uint32_t>(own) + medium_->others(this);
  const double us = card_->next_us(bytes, under_way, one_call);
  const uint64_t end = now + 1 + static_cast<uint64_t>(us * 1e3);
  medium_->add(this, end);
  return end;
}

void SimDevice::begin(uint64_t offset, std::span<const std::byte> bytes, uint32_t slot,
                      bool one_call) {
  assert_in_blocks(offset, bytes);
  Write& write = writes_[slot];
  LJ_ASSERT(slot < depth() && write.deadline_ns.load(platform::memory_order_relaxed) == 0);
  const uint64_t end = end_of(bytes.size(), one_call);
  if (late_) {
    write.late_offset = offset;
    write.late_bytes = bytes;
  } else {
    file_.write(offset, bytes);
  }
  write.deadline_ns.store(end, platform::memory_order_release);
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
    prctl(PR_SET_TIMERSLACK, 1);  // otherwise the kernel adds up to 50 us
    const uint64_t wake_at = until - overshoot;
    platform::sleep_ns(wake_at - begin);
    const bool later = platform::now_ns() > until;
    overshoot_ns_.store(later ? overshoot + kStepNs : overshoot - std::min(overshoot, 2 * kStepNs),
                        platform::memory_order_relaxed);
  }
  while (platform::now_ns() < until) platform::pause();
}

bool parse(std::string_view given, SimParameters* sim) {
  if (!take_number(&given, &sim->latency_us)) return false;
  if (given.empty()) return true;
  // A slower device would need minutes for a write of 64 KiB.
  constexpr double kLeastMbPerSecond = 0.01;
  return take_number(&given, &sim->mb_per_second) && given.empty() &&
         sim->mb_per_second >= kLeastMbPerSecond;
}

const DeviceRegistration sim({
    .name = "sim",
    .parameters = ":LATENCY_US[:MB_S]",
    .what = "a simulated device of that response time and bandwidth, or the disk of a card",
    .plays_cards = true,
    .accepts =
        [](std::string_view given) {
          SimParameters sim;
          return parse(given, &sim);
        },
    .open = [](std::string_view given, const DeviceOptions& options) -> std::unique_ptr<Device> {
      SimParameters sim;
      if (!parse(given, &sim)) return std::make_unique<SimDevice>(options, card_of(given));
      return std::make_unique<SimDevice>(options, sim);
    },
});

}  // namespace
}  // namespace logjam
