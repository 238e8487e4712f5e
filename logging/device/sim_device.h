// `sim:LATENCY_US[:MB_S]`: a simulated device of that response time and bandwidth, on any machine.
// It does not keep a core busy. It transfers the bytes of one write after the other, and each write
// takes the response time as well: those of several writes under way overlap. A directory counts as
// one medium: writes to its files at the same time share its bandwidth.
//
// The bytes go into the page cache of a real file, so that they survive a killed process; only the
// time is simulated. (Under `faulty` they go there only when the simulated time is over.) The
// kernel wakes sleeping threads late, by tens of microseconds in a virtual machine. wait() learns
// how late, sleeps that much less, and spins for the rest.
//
// Protocol. start() and finished() are called under the flush latch. Any thread may call wait(), so
// the deadlines, which it reads, and what it learns (`overshoot_ns_`, only an estimate) are atomic.
// All devices whose files lie in one directory share a SimMedium; its latch guards the time until
// which the medium is busy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "logging/device/device_file.h"
#include "platform/spin.h"

namespace logjam {

// The simulated medium of one directory. Any thread may call its functions.
class SimMedium {
 public:
  // Returns the medium of the directory that `path` is in.
  static std::shared_ptr<SimMedium> of(const std::string& path);

  // Enters a transfer of `ns` behind all earlier transfers. Returns the time at which it ends, in
  // nanoseconds of platform::now_ns().
  uint64_t transfer(uint64_t ns);

 private:
  platform::SpinLock latch_;
  uint64_t busy_until_ns_ = 0;
};

class SimDevice final : public Device {
 public:
  // With `mb_per_second` 0 the bandwidth has no limit.
  SimDevice(const DeviceOptions& options, double latency_us, double mb_per_second);

  uint32_t block_bytes() const override { return 512; }
  uint32_t depth() const override { return static_cast<uint32_t>(writes_.size()); }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  bool finished(uint32_t slot = 0) override;
  void release(uint64_t before) override { file_.release(before); }
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return false; }

 private:
  struct Write {
    platform::atomic<uint64_t> deadline_ns{0};  // 0: no write is under way
    uint64_t late_offset = 0;
    std::span<const std::byte> late_bytes;  // not written yet; only under `faulty`
  };

  DeviceFile file_;
  const std::shared_ptr<SimMedium> medium_;
  const uint64_t latency_ns_;
  const double ns_per_byte_;
  const bool late_;
  std::vector<Write> writes_;  // by slot
  platform::atomic<uint64_t> overshoot_ns_;
};

}  // namespace logjam
