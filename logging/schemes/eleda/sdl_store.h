// SDL on the device: "The SDL is stored in stable storage" (ELEDA, section 4.3). After each flush
// the flusher stores how far the log is durable (logging/format/stored_sdl.h), and flushes again
// when that write has finished. Commits do not wait for it. If a flush takes longer than a step (20
// ms, LogScheme::flush), SDL is stored after a later one. A log whose end is lost is then
// reported, and not taken for a log that a crash has torn.
//
// Protocol. Only the flusher writes to the device: the constructor refuses workers that flush. It
// has one write under way at a time, a flush or a store. `stored_` is set (release) when the device
// has said that SDL is durable.
#pragma once

#include <cstdint>

#include "logging/device/device.h"
#include "logging/format/stored_sdl.h"
#include "logging/log_config.h"
#include "platform/atomic.h"
#include "platform/fatal.h"

namespace logjam {

class SdlStore {
 public:
  // Ends the process with one sentence if other threads, or several writes at a time, use the
  // device.
  explicit SdlStore(const LogConfig& config)
      : device_(*config.devices[0]), block_(config.header_block), run_(config.run) {
    if (config.flush_help || device_.depth() != 1) {
      platform::refuse(
          "--eleda_store_sdl needs --flush_help=false and --io_depth=1: one thread flushes, one "
          "write at a time");
    }
  }

  // Returns whether no write is under way. Waits for one, at most `timeout_ns`. Called by the
  // flusher.
  bool finished(uint64_t timeout_ns) {
    if (!device_.finished()) device_.wait(timeout_ns);
    if (!device_.finished()) return false;
    stored_.store(storing_, platform::memory_order_release);
    return true;
  }

  // Begins to store `sdl`, unless it is stored already or a write is under way. Called by the
  // flusher.
  void start(uint64_t sdl) {
    if (sdl == storing_ || !device_.finished()) return;
    storing_ = sdl;
    put_stored_sdl(block_, run_, sdl);
    device_.start(0, block_, Sync::kData);
  }

  // Returns the last SDL that is durable on the device. Any thread may call it.
  uint64_t stored() const { return stored_.load(platform::memory_order_acquire); }

 private:
  Device& device_;
  const std::span<std::byte> block_;
  const uint64_t run_;
  uint64_t storing_ = 0;
  platform::atomic<uint64_t> stored_{0};
};

}  // namespace logjam
