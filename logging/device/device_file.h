// The log file under a device: opened or recycled, made longer ahead of the log, never shortened.
//
// A sync after overwriting blocks that were written before takes about 60 % of the time of a sync
// after appending, so the log must never reach the end of the blocks that were written before. A
// file with segments (logging/format/segments.h) is made longer by whole segment files; a file
// without segments by zeros at its end.
//
// Protocol. Any thread may call make_room(), which raises `wanted_` under `growing_`, and waits
// only when the log has caught up with the end of the file. Only the grower thread makes the file
// longer: it writes from offset `ready_` on, and raises `ready_` (release) when the log may use the
// bytes before that offset. The device writes only before `ready_` (acquire), so the device and the
// grower never write the same bytes. `event_` counts the changes of `ready_`, `wanted_`, `error_`
// and `closing_`, for threads that sleep. With segments, place() and write() are called by one
// thread at a time: under the stream's flush latch. Any thread may call release(); the segments
// that it frees pass to the grower through FreeSegments, and place() closes those that it has open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "logging/device/device.h"
#include "logging/device/device_file.h"
#include "logging/format/log_file.h"
#include "platform/atomic.h"
#include "platform/event_count.h"
#include "platform/mutex.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"

namespace logjam {

class DeviceFile {
 public:
  // Called with bytes [begin, end) when they are in the file, before the log may use them. Returns
  // 0 or errno.
  using Grown = std::function<int(int file, uint64_t begin, uint64_t end)>;

  // Opens or creates options.path in platform::files(), with `open_flags` added to the flags of
  // open(). Refuses if the file cannot be used. `grown` is called only
  // for a file without segments.
  DeviceFile(const DeviceOptions& options, int open_flags, Grown grown = nullptr);
  ~DeviceFile();

  const std::string& path() const { return path_; }

  // Waits until the blocks up to `end` have been written before. Does nothing if the file is not
  // preallocated. Any thread may call it.
  void make_room(uint64_t end) {
    if (grows_ && end + ahead_ > ready_.load(platform::memory_order_acquire)) grow(end);
  }

  // The place of a byte of the log file.
  struct Place {
    int file;         // an open file: a descriptor, if the system's files are in use
    uint64_t offset;  // of the byte in that file
    uint64_t bytes;   // from the byte to the end of that file
  };
  // Returns the place of the byte at `offset`, valid until the next call. make_room() has made room
  // for the byte. Ends the process if the file cannot be opened.
  Place place(uint64_t offset);

  // Releases the bytes before `before`, except the header: nobody will read or write them again
  // (Device::release). Whole segments are used again or removed. The blocks of a file without
  // segments go back to the file system, if it can take them. Any thread may call it.
  void release(uint64_t before);

  // Writes the bytes, and with Sync::kData returns when they are durable; other bytes of the file
  // need not be. Blocks. Ends the process if it fails.
  void write(uint64_t offset, std::span<const std::byte> bytes, Sync sync = Sync::kNone);
  // Ends the process with a sentence that names `action`, the file and errno `error`.
  [[noreturn]] void fail(const char* action, int error) const { fail(action, path_, error); }

 private:
  [[noreturn]] static void fail(const char* action, const std::string& path, int error);
  void preallocate(uint64_t bytes);
  void grow(uint64_t end);
  void grower();
  // Writes zeros at the end of the file, up to `end` at least, unless the file is being closed.
  // Returns 0 or errno.
  int write_zeros(uint64_t end);
  // Makes segments up to `end` at least, unless the file is being closed. Returns 0 or errno.
  int make_segments(uint64_t end, uint64_t piece_bytes);
  void raise_ready(uint64_t ready);
  void punch(uint64_t end);
  // Locks an open file. Waits until the writes of a killed process in it have ended
  // (logging/directory_locks.h).
  void hold(int file, const std::string& path) const;
  void close_below(uint64_t index);

  const std::string path_;
  const Segments segments_;
  const int open_flags_;
  int file_;  // the open file of segment 0
  const bool grows_;
  const Grown grown_;
  uint64_t ahead_ = 0;  // the grower begins when fewer bytes than this are ready for the log
  uint64_t burst_ = 0;  // the grower makes this many more, so that not every write wakes it
  FreeSegments free_;
  SegmentMaker maker_;            // the grower's
  std::map<uint64_t, int> open_;  // segments that the log has reached, by index

  platform::mutex punching_;
  uint64_t punched_ LJ_GUARDED_BY(punching_) =
      kLogHeaderBytes;  // the blocks before were given back

  platform::mutex growing_;  // guards raising wanted_ and starting grower_
  platform::atomic<uint64_t> ready_{0};
  platform::atomic<uint64_t> wanted_{0};
  platform::atomic<int> error_{0};  // the grower's errno; fatal when the log reaches `ready_`
  platform::atomic<bool> closing_{false};
  platform::EventCount event_;
  platform::thread grower_;
};

}  // namespace logjam
