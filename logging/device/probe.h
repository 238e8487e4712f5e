// Times the durable writes of a device: for `logjam device`, and to choose a sync method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "logging/device/device.h"

namespace logjam {

// How a Probe writes.
struct ProbePoint {
  uint64_t bytes;  // of each write
  uint32_t depth;  // the number of writes that are under way at once
  bool one_call;   // Device::start_and_wait() starts each write and waits for its end
};

// A device with a file of zeros, which is written from its begin to its end, repeatedly. The caller
// removes the file. One thread makes and uses the probe.
class Probe {
 public:
  static constexpr uint64_t kLargestBytes = uint64_t{1} << 20;

  // Opens the device with options.preallocate_bytes of zeros. Refuses if it cannot be used.
  Probe(const std::string& device, const DeviceOptions& options);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  uint32_t depth() const { return device_->depth(); }
  const Device& device() const { return *device_; }

  // Writes for `seconds`, and at least one write in each slot. Calls `wrote` with the ticks that
  // each write took. Returns the seconds that all writes together took.
  double measure(const ProbePoint& point, double seconds,
                 const std::function<void(uint64_t ticks)>& wrote);

 private:
  uint64_t next(uint64_t bytes);
  std::span<const std::byte> bytes_of(uint32_t slot, uint64_t bytes) const {
    return {memory_ + slot * kLargestBytes, bytes};
  }

  const uint64_t file_bytes_;
  std::unique_ptr<Device> device_;
  std::byte* const memory_;
  uint64_t offset_ = 0;
};

}  // namespace logjam
