// `null`: a device that drops the bytes. It is for experiments on the log buffer, the flushers
// included. With `discard` there are no flushers either.
#pragma once

#include "logging/device/device.h"

namespace logjam {

class NullDevice : public Device {
 public:
  uint32_t block_bytes() const override { return 1; }
  void start(uint64_t, std::span<const std::byte>, Sync, uint32_t = 0) override {}
  bool finished(uint32_t = 0) override { return true; }
  void wait(uint64_t) override {}
  bool start_blocks() const override { return false; }
  bool keeps() const override { return false; }
};

class DiscardDevice final : public NullDevice {
 public:
  bool discards() const override { return true; }
};

}  // namespace logjam
