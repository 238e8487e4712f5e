// `null`: a device that drops the bytes. `discard`: the same, without threads that flush.
#include "logging/device/device_registry.h"

namespace logjam {
namespace {

class NullDevice final : public Device {
 public:
  explicit NullDevice(const DeviceOptions&) {}
  uint32_t block_bytes() const override { return 1; }
  void start(uint64_t, std::span<const std::byte>, Sync, uint32_t) override {}
  bool finished(uint32_t) override { return true; }
  void wait(uint64_t) override {}
  bool start_blocks() const override { return false; }
};

const DeviceRegistration null_device({
    .name = "null",
    .parameters = "",
    .what = "drops the bytes: for experiments on the log buffer",
    .traits = {.keeps = false, .at_once = true},
    .open = open_plain<NullDevice>,
});

const DeviceRegistration discard({
    .name = "discard",
    .parameters = "",
    .what = "drops the bytes without a flush, for `logjam micro` alone: nothing but the ring",
    .traits = {.keeps = false, .discards = true},
    .open = open_plain<NullDevice>,
});

}  // namespace
}  // namespace logjam
