// The file under a device. The file is opened, it grows by zeros that are written ahead
// of the log, and it never shrinks.
//
// A sync after overwriting blocks that were written before takes about 60 % of the time of a sync
// after appending, so the log must never reach the end of the file. A file that is recycled from an
// earlier run keeps its blocks. The earlier run's records fail their checks, because the run seeds
// the checksums.
//
// Protocol. Any thread may call make_room(). It raises `wanted_` under `growing_`, and waits only
// when the log has caught up with the zeros. Only the grower thread writes zeros. It writes them
// only behind `written_`, and raises `written_` (release) when they are in the file. The device
// writes only before `written_` (acquire), so the device and the grower never write the same bytes.
// `event_` counts the changes of `written_`, `wanted_`, `error_` and `closing_`, for threads that
// sleep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "logging/device/device.h"
#include "platform/atomic.h"
#include "platform/mutex.h"
#include "platform/thread.h"

namespace logjam {

class DeviceFile {
 public:
  // Called when bytes [begin, end) are in the file, before the log may use them. Returns 0 or
  // errno.
  using Grown = std::function<int(int fd, uint64_t begin, uint64_t end)>;

  // Opens or creates options.path, with `open_flags` added to the flags of open(). Ends the process
  // with one sentence if the file cannot be used.
  DeviceFile(const DeviceOptions& options, int open_flags, Grown grown = nullptr);
  ~DeviceFile();
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  // Any thread. Returns when the file's blocks up to `end` have been written before. Does
  // nothing if the file is not preallocated.
  void make_room(uint64_t end) {
    if (grows_ && end + ahead_ > written_.load(platform::memory_order_acquire)) grow(end);
  }

  // Blocks, and with Sync::kData returns when these bytes are durable; other bytes of the file need
  // not be. Ends the process if it fails. fail() names `action`, the file and errno `error`.
  void write(uint64_t offset, std::span<const std::byte> bytes, Sync sync = Sync::kNone);
  [[noreturn]] void fail(const char* action, int error) const;

 private:
  void preallocate(uint64_t bytes);
  void grow(uint64_t end);
  void grower();
  // Writes zeros to [written_, end), unless the file is being closed. Returns 0 or errno.
  int write_zeros(uint64_t end);

  const std::string path_;
  int fd_;
  const bool grows_;
  const Grown grown_;
  uint64_t ahead_ = 0;
  platform::mutex growing_;  // guards raising wanted_ and starting grower_
  platform::atomic<uint64_t> written_{0};
  platform::atomic<uint64_t> wanted_{0};
  platform::atomic<int> error_{0};  // the grower's errno; fatal when the log reaches `written_`
  platform::atomic<bool> closing_{false};
  platform::atomic<uint32_t> event_{0};
  platform::thread grower_;
};

// Writes up to `count` bytes at `offset`, as pwrite() does, and returns as it does. Any thread.
using WriteAt = long(int fd, const std::byte* bytes, size_t count, uint64_t offset);
WriteAt pwrite_unseen;

// Writes all of `bytes` at `offset`. Returns 0 or errno; EIO if a write takes no byte. Any thread.
int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes,
                WriteAt* write_at = pwrite_unseen);

}  // namespace logjam
