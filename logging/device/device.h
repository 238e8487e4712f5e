// The device interface: where the bytes of a log stream become durable.
//
// A device has depth() slots, from 0 on. In each slot one write may be under way: start() begins
// it, and finished() says, without sleeping, when its bytes are durable. Writes in different slots
// finish in any order: after a power cut a later write may be on the device although an earlier
// write is not. Writes under way have no block in common: the device might keep either write's
// block. Call start(), start_and_wait() and finished() under the flush latch. Any thread may call
// the other functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "platform/assert.h"

namespace logjam {

// Whether a write also makes its bytes durable: kData does, kNone does not.
enum class Sync : uint8_t { kNone, kData };

// How a device with DeviceTraits::has_sync_methods makes a write with Sync::kData durable.
enum class SyncMethod : uint8_t {
  kDsync,      // the write itself is synced (RWF_DSYNC)
  kFdatasync,  // fdatasync() after the write
  kFsync,      // fsync() after the write
  kNone,  // nothing: the bytes survive a killed process, and a power cut if no cache is volatile
};
inline constexpr std::string_view kSyncMethods[] = {"dsync", "fdatasync", "fsync", "none"};
inline std::string_view name_of(SyncMethod method) {
  return kSyncMethods[static_cast<size_t>(method)];
}
inline std::optional<SyncMethod> sync_method(std::string_view name) {
  for (size_t i = 0; i < std::size(kSyncMethods); ++i) {
    if (kSyncMethods[i] == name) return static_cast<SyncMethod>(i);
  }
  return std::nullopt;
}

// A device that is memory, for schemes that put their records into it themselves. Any thread may
// call any function; no two threads may use the same bytes. Offsets count from the file's begin.
class PersistentMemory {
 public:
  // Returns the address at which the device keeps [offset, offset + bytes), valid as long as the
  // device lives. May wait until the file has grown. Ends the process if the file is too short.
  virtual std::byte* mapped(uint64_t offset, uint64_t bytes) = 0;

  // Waits until these bytes are durable, and returns true. Returns false if the power was cut
  // before (only `faulty` can tell). After false, acknowledge nothing.
  [[nodiscard]] virtual bool persist(std::span<const std::byte> bytes) = 0;

 protected:
  ~PersistentMemory() = default;
};

// The properties of a kind of device that a user of the device must know.
struct DeviceTraits {
  bool keeps = true;          // a recovery can read the bytes
  bool is_memory = false;     // has memory(), which schemes marked `in_place` need
  bool has_segments = false;  // divides a preallocated file into segment files
  // Flushes nothing, as in the papers' tests of the log buffer alone: no daemon and no polls. A
  // full ring drops its bytes. No thread waits for a commit, which might never be durable.
  bool discards = false;
  // A write is finished when start() returns. (`faulty` may finish later.)
  bool at_once = false;
  bool needs_disk = false;        // needs a real disk, which a simulated machine does not have
  bool has_sync_methods = false;  // uses DeviceOptions::sync_method
};

struct DeviceOptions;

class Device {
 public:
  virtual ~Device() = default;

  const DeviceTraits& traits() const { return traits_; }

  // Returns the block size in bytes, which is 4096 for direct I/O (assert_in_blocks()).
  virtual uint32_t block_bytes() const = 0;

  virtual uint32_t depth() const { return 1; }

  // Begins to write `bytes` at `offset` of the file and, with Sync::kData, to make them durable.
  // The memory stays valid until finished(slot) returns true. A failure ends the process (R7).
  virtual void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                     uint32_t slot = 0) = 0;

  // Begins a write as start() does, in slot 0, while no other write is under way. May wait until
  // this write is finished, or for about `timeout_ns`. An override may save a thread hand-off.
  virtual void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                              uint64_t timeout_ns) {
    start(offset, bytes, sync);
    if (!finished()) wait(timeout_ns);
  }

  virtual bool finished(uint32_t slot = 0) = 0;

  // Sleeps until a write may have finished, or until `timeout_ns` has passed.
  virtual void wait(uint64_t timeout_ns) = 0;

  // Returns whether start() waits for the device, so that workers should not help with flushes.
  virtual bool start_blocks() const = 0;

  // Returns by which interface of the kernel the device writes, or "" if there is no choice.
  virtual std::string_view io() const { return ""; }

  // Returns how many threads the device has started. Call it when no thread uses the device.
  virtual uint32_t threads() const { return 0; }

  // Returns the device's memory, or null if it is not memory.
  virtual PersistentMemory* memory() { return nullptr; }

  // Tells the device that the log needs no more bytes of its file below offset `before`, except the
  // header. These bytes are durable. A device reuses or frees their segments or blocks.
  virtual void release(uint64_t /*before*/) {}

  // Writes `bytes` at `offset`, and waits until they are durable. For set-up and tests.
  void write_through(uint64_t offset, std::span<const std::byte> bytes) {
    constexpr uint64_t kLookAgainNs = 20'000'000;
    start_and_wait(offset, bytes, Sync::kData, kLookAgainNs);
    while (!finished()) wait(kLookAgainNs);
  }

 protected:
  void assert_in_blocks(uint64_t offset, std::span<const std::byte> bytes) const {
    LJ_ASSERT(offset % block_bytes() == 0 && bytes.size() % block_bytes() == 0);
    LJ_ASSERT(reinterpret_cast<uintptr_t>(bytes.data()) % block_bytes() == 0);
  }

 private:
  friend std::unique_ptr<Device> open_device(std::string_view spec, const DeviceOptions& options);

  DeviceTraits traits_;
};

struct DeviceOptions {
  std::string path;                // the file to create or recycle
  uint64_t preallocate_bytes = 0;  // how many zeros are written ahead of the log
  uint64_t seed = 1;               // for the random choices of `faulty`
  uint32_t depth = 1;              // the most writes under way; `sync` and `nvm` allow one
  uint64_t segment_bytes = 0;      // logging/format/segments.h; 0 unless DeviceTraits::has_segments
  // For `sim` under `faulty`: a write's bytes reach the file only when the write has finished.
  bool late = false;
  SyncMethod sync_method = SyncMethod::kDsync;
};

}  // namespace logjam
