#include "logging/device/device.h"

namespace logjam {

void Device::start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                            uint64_t timeout_ns) {
  start(offset, bytes, sync);
  if (!finished()) wait(timeout_ns);
}

void Device::write_through(uint64_t offset, std::span<const std::byte> bytes) {
  constexpr uint64_t kLookAgainNs = 20'000'000;
  start_and_wait(offset, bytes, Sync::kData, kLookAgainNs);
  while (!finished()) wait(kLookAgainNs);
}

}  // namespace logjam
