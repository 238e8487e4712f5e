// A device in memory. A write finishes when the test calls complete(). All calls are thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "logging/device/device.h"

namespace logjam {

class HeldDevice final : public Device {
 public:
  explicit HeldDevice(uint32_t depth = 1) : writes_(depth) {}

  uint32_t block_bytes() const override { return 512; }
  uint32_t depth() const override { return static_cast<uint32_t>(writes_.size()); }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync, uint32_t slot = 0) override {
    const std::lock_guard hold(mutex_);
    ASSERT_TRUE(writes_[slot].bytes.empty()) << "two writes in slot " << slot;
    for (const Write& other : writes_) {
      EXPECT_FALSE(offset < other.offset + other.bytes.size() &&
                   other.offset < offset + bytes.size())
          << "two writes of byte " << offset << " at once";
    }
    writes_[slot] = {offset, bytes};
  }
  bool finished(uint32_t slot = 0) override { return under_way(slot) == 0; }
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                      uint64_t timeout_ns) override {
    ++slept_in;
    Device::start_and_wait(offset, bytes, sync, timeout_ns);
  }
  void wait(uint64_t) override {
    if (on_wait) on_wait();
  }
  bool start_blocks() const override { return false; }

  void complete(uint32_t slot = 0) {
    const std::lock_guard hold(mutex_);
    const auto [offset, bytes] = writes_[slot];
    platter.resize(std::max(platter.size(), offset + bytes.size()));
    std::ranges::copy(bytes, platter.begin() + static_cast<ptrdiff_t>(offset));
    writes_[slot] = {};
  }
  void complete_all() {
    for (uint32_t slot = 0; slot < depth(); ++slot) {
      if (under_way(slot) != 0) complete(slot);
    }
  }
  bool any_under_way() const {
    const std::lock_guard hold(mutex_);
    return std::ranges::any_of(writes_, [](const Write& write) { return !write.bytes.empty(); });
  }
  // Returns the length of the write in `slot`, or 0 if no write is under way in this slot.
  uint64_t under_way(uint32_t slot = 0) const {
    const std::lock_guard hold(mutex_);
    return writes_[slot].bytes.size();
  }
  uint64_t offset(uint32_t slot = 0) const {
    const std::lock_guard hold(mutex_);
    return writes_[slot].offset;
  }

  std::vector<std::byte> platter;
  uint32_t slept_in = 0;          // calls of start_and_wait()
  std::function<void()> on_wait;  // called when a thread sleeps until a write has finished

 private:
  struct Write {
    uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };
  mutable std::mutex mutex_;
  std::vector<Write> writes_;
};

}  // namespace logjam
