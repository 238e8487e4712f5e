// The threads that write for the device `file` where io_uring may not be used: one for each slot.
//
// Protocol. A slot is free, full (its write is under way) or done. The thread that holds the
// stream's flush latch stores the slot's pieces, and then kFull (release). The slot's thread loads
// kFull (acquire), writes and syncs the pieces, and stores kDone (release). The thread with the
// latch loads kDone (acquire), and makes the slot free again. So the bytes are durable when
// finished() says so, and one thread at a time uses the pieces. Each write has its own sync, which
// begins after the write. No wake-up is lost, because all waits are on event counts: a slot's
// `begin` counts kFull and `closing_`, `done_` counts kDone. Any thread may call wait(), which only
// loads the states.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "logging/device/device_file.h"
#include "platform/atomic.h"
#include "platform/event_count.h"
#include "platform/thread.h"

namespace logjam {

class WriterThreads {
 public:
  // Uses `file`, which outlives this object. A slot's thread starts with the slot's first write.
  WriterThreads(DeviceFile& file, uint32_t depth);
  // Waits for the writes under way.
  ~WriterThreads();

  // Begins a write, as Device::start() does. Call start() and finished() under the flush latch.
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync, uint32_t slot);
  bool finished(uint32_t slot);
  void wait(uint64_t timeout_ns);
  // Returns how many threads have started. Call it when no thread uses the device.
  uint32_t count() const;

 private:
  enum State : uint32_t { kFree, kFull, kDone };
  struct Slot {
    platform::atomic<uint32_t> state{kFree};
    std::vector<DeviceFile::Piece> pieces;
    Sync sync = Sync::kNone;
    platform::EventCount begin;
    platform::thread thread;
  };
  void write_for(Slot& slot);
  bool any_done() const;

  DeviceFile& file_;
  std::vector<std::unique_ptr<Slot>> slots_;
  platform::atomic<bool> closing_{false};
  platform::EventCount done_;
};

}  // namespace logjam
