// SDL on the device: "Once SDL is advanced, the flusher thread stores SDL to stable storage"
// (ELEDA, section 4.3). When a flush has made SDL advance, a write of its own stores SDL on the
// stream's first device (logging/format/log_file.h). The store takes one of the device's slots.
// With one slot the next flush waits for it; commits never do. A log whose end is lost is then
// reported, and not taken for a log that a crash has torn.
//
// Protocol. All functions are called under the stream's flush latch. SDL comes from finished writes
// alone, so the stored SDL is never ahead of the log. The block is changed only while no store is
// under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "logging/format/log_file.h"
#include "logging/log_config.h"
#include "logging/stream/striped_devices.h"

namespace logjam {

class SdlStore {
 public:
  explicit SdlStore(const LogConfig& config)
      : on_(config.store_sdl), block_(config.header_block), run_(config.run) {}

  // Begins to store `sdl`, unless it is stored already, a store is under way, or the device has no
  // free slot. Does nothing without LogConfig::store_sdl.
  void start(StripedDevices& devices, uint64_t sdl) {
    StripedDevices::Member& member = devices.device_of(0);
    if (!on_ || sdl == sdl_ || member.free_slots == 0 || !devices.finished(member, order_)) return;
    sdl_ = sdl;
    put_stored_sdl(block_, run_, sdl);
    const StripedDevices::Flight flight = devices.begin_rewrite(member);
    order_ = flight.order;
    member.device->start(0, block_, Sync::kData, flight.slot);
  }

 private:
  const bool on_;
  const std::span<std::byte> block_;
  const uint64_t run_;
  uint64_t sdl_ = 0;    // of the last store
  uint64_t order_ = 0;  // its number among the stream's writes
};

}  // namespace logjam
