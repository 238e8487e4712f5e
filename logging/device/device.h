// The device seam: where a log stream's bytes become durable.
//
// One write is under way at a time: start() it, and finished() says when the bytes are durable.
// The two are separate so that a worker can look in, without sleeping, on a write that its flusher
// started. start(), start_and_wait() and finished() are called under the stream's flush latch;
// wait() by any thread without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace logjam {

enum class Sync : uint8_t { kNone, kData };

// A device that is memory, for schemes that put their records into it themselves. Any thread may
// call, each for bytes of its own; offsets are the file's.
class PersistentMemory {
 public:
  // Where the device keeps [offset, offset + bytes), contiguous, for as long as the device lives.
  // May wait until the file has grown.
  virtual std::byte* mapped(uint64_t offset, uint64_t bytes) = 0;

  // Returns when these bytes are durable. False if they never will be: the power was cut, as only
  // `faulty` can tell; nothing may be acknowledged then.
  [[nodiscard]] virtual bool persist(std::span<const std::byte> bytes) = 0;

 protected:
  ~PersistentMemory() = default;
};

class Device {
 public:
  virtual ~Device() = default;

  // Offsets, lengths and memory passed to start() are multiples of this: 4096 for direct I/O.
  virtual uint32_t block_bytes() const = 0;

  // Begins to write `bytes` at `offset` and, with Sync::kData, to make them durable. The memory
  // must stay until finished(). A failure is final (R7): the process ends, naming file and errno.
  virtual void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) = 0;

  // The same for a caller with nothing else to do: may block until finished(), or for about
  // `timeout_ns`. A device overrides it where that saves a thread hand-off.
  virtual void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                              uint64_t timeout_ns);

  // Whether nothing is under way. Does not block.
  virtual bool finished() = 0;

  // Sleeps until finished() may have become true, or `timeout_ns` has passed.
  virtual void wait(uint64_t timeout_ns) = 0;

  // Whether start() itself blocks for as long as the device takes (no worker should help then).
  virtual bool start_blocks() const = 0;

  // Whether recovery finds something afterwards (`null` keeps nothing).
  virtual bool keeps() const { return true; }

  // Not null if the device is memory (`nvm`).
  virtual PersistentMemory* memory() { return nullptr; }

  // Convenience for set-up and tests: writes and syncs.
  void write_through(uint64_t offset, std::span<const std::byte> bytes);
};

struct DeviceOptions {
  std::string path;                // the file to create or recycle
  uint64_t preallocate_bytes = 0;  // zeros written ahead of the log
  uint64_t seed = 1;               // for `faulty`
  bool late = false;  // `sim` under `faulty`: what is killed unfinished has written nothing
};

// Kinds, for `logjam list`: name with parameters, and what it is.
struct DeviceKind {
  std::string_view spec;
  std::string_view what;
};
const std::vector<DeviceKind>& all_device_kinds();

// Why `spec` is not a device, in one sentence; empty if it is.
std::string check_device_spec(std::string_view spec);

// What an open device would answer to keeps() and memory() != nullptr.
bool device_keeps(std::string_view spec);
bool device_is_memory(std::string_view spec);

// Opens `spec` (`file`, `sync`, `sim:LATENCY_US[:MB_S]`, `nvm[:NS]`, `null`, `faulty:<spec>`).
std::unique_ptr<Device> open_device(std::string_view spec, const DeviceOptions& options);

}  // namespace logjam
