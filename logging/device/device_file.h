// The file under a device: opened and locked, grown by writing zeros ahead of the log, never
// shrunk.
//
// Overwriting blocks that were written before syncs in about 60 % of the time of appending (DESIGN
// section 5), so the log must never reach the file's end. A file recycled from an earlier run keeps
// its blocks; its records do not validate, because the run seeds their checksums.
//
// Protocol. make_room(), by any thread, raises `wanted_` under `growing_` and waits only when the
// log has caught up. The grower thread alone writes zeros, only behind `written_`, and advances it
// (release) when they are in the file; the device writes only before `written_` (acquire), so the
// two never write the same bytes. `event_` counts changes of either, for sleeping.
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
  // Told of bytes [begin, end) that are in the file now, before the log may use them. 0 or errno.
  using Grown = std::function<int(int fd, uint64_t begin, uint64_t end)>;

  // Opens or creates options.path, with `open_flags` besides. Refuses what cannot be used.
  DeviceFile(const DeviceOptions& options, int open_flags, Grown grown = nullptr);
  ~DeviceFile();
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  // The file's blocks up to `end` have been written before, if it is preallocated at all.
  void make_room(uint64_t end) {
    if (grows_ && end + ahead_ > written_.load(platform::memory_order_acquire)) grow(end);
  }

  // Blocking. A failure is final.
  void write(uint64_t offset, std::span<const std::byte> bytes);
  void sync();
  [[noreturn]] void fail(const char* action, int error) const;

 private:
  void preallocate(uint64_t bytes);
  void grow(uint64_t end);
  void grower();
  // Zeros over [written_, end) as far as possible; returns 0 or errno.
  int write_zeros(uint64_t end);

  const std::string path_;
  int fd_;
  const bool grows_;
  const Grown grown_;
  uint64_t ahead_ = 0;
  platform::mutex growing_;  // guards raising wanted_ and starting grower_
  platform::atomic<uint64_t> written_{0};
  platform::atomic<uint64_t> wanted_{0};
  platform::atomic<int> error_{0};  // the grower's; fatal once the log gets there
  platform::atomic<bool> closing_{false};
  platform::atomic<uint32_t> event_{0};
  platform::thread grower_;
};

// Writes all of `bytes`; returns 0 or errno.
int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes);

}  // namespace logjam
