// `sim:LATENCY_US[:MB_S]`: a device of that response time and bandwidth, serving one write after
// the other, on any machine and without burning a core. A directory is a device: what is written to
// its files at once shares its bandwidth.
//
// The bytes go into the page cache of a real file, so that a killed process has them; only the time
// is simulated. (Under `faulty` they go there only when that time is over.) The kernel wakes
// sleepers late, by tens of microseconds in a virtual machine: wait() learns by how much, sleeps
// that much less, and spins what is left.
//
// Protocol: start() and finished() under the flush latch; wait() anywhere, so what it reads
// (`deadline_ns_`) and learns (`overshoot_ns_`, a mere estimate) is atomic. The medium is
// everybody's whose file lies in that directory: until when it is busy is under its latch.
#pragma once

#include <memory>
#include <string>

#include "logging/device/device_file.h"
#include "platform/spin.h"

namespace logjam {

class SimMedium {
 public:
  // The one of the directory that `path` is in.
  static std::shared_ptr<SimMedium> of(const std::string& path);

  // Returns when a transfer that takes so long has ended, behind all earlier ones.
  uint64_t transfer(uint64_t ns);

 private:
  platform::SpinLock latch_;
  uint64_t busy_until_ns_ = 0;
};

class SimDevice final : public Device {
 public:
  // mb_per_second 0: no limit.
  SimDevice(const DeviceOptions& options, double latency_us, double mb_per_second);

  uint32_t block_bytes() const override { return 512; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) override;
  bool finished() override;
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return false; }

 private:
  DeviceFile file_;
  const std::shared_ptr<SimMedium> medium_;
  const uint64_t latency_ns_;
  const double ns_per_byte_;
  const bool late_;
  uint64_t late_offset_ = 0;
  std::span<const std::byte> late_bytes_;  // still to be written
  platform::atomic<uint64_t> deadline_ns_{0};
  platform::atomic<uint64_t> overshoot_ns_;
};

}  // namespace logjam
