// The log file of a device: created or recycled, made longer ahead of the log, never shortened.
//
// A sync after overwriting blocks takes about 60 % of the time of a sync after appending. So the
// log must never reach the end of the blocks that were written before. A file with segments gets
// longer by whole segment files; a file without segments by zeros at its end.
//
// Protocol. Any thread may call make_room(), which raises `wanted_` under `growing_`, and waits
// only when the log has caught up with the end of the file. Only the grower thread makes the file
// longer: it writes from offset `ready_` on, and raises `ready_` (release) when the log may use the
// bytes before that offset. The device writes only before `ready_` (acquire), so the device and the
// grower never write the same bytes. `event_` counts the changes of `ready_`, `wanted_`, `error_`
// and `closing_`, for threads that sleep. With segments, call
// first_piece(), and the write() of a whole write, under the stream's flush latch. A piece owns its
// open file, so any thread may write a piece. Any thread may call release(); the segments that it
// frees pass to the grower through FreeSegments, and first_piece() drops the freed segments that it
// has open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "logging/device/device.h"
#include "logging/format/log_file.h"
#include "logging/format/segments.h"
#include "platform/atomic.h"
#include "platform/event_count.h"
#include "platform/mutex.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"

namespace logjam {

// The segment files of a log file that the log does not need any more. A free file is renamed to
// the segment that is made next. A rename keeps the blocks, so the log's data syncs stay cheap.
// Files in excess of a bound are removed. Any thread may call any function.
//
// A crash. Bytes before a released position are not read any more, so their files may be missing. A
// free file is renamed only to a segment after all existing segments, so no segment after the
// released position is missing. The new name is durable before the log uses the segment.
class FreeSegments {
 public:
  explicit FreeSegments(const std::string& path) : path_(path) {}

  // Frees the segments below `end`, except segment 0, which has the log's header. Keeps at most
  // `most` free files and removes all further ones. Returns 0 or errno.
  int release(uint64_t end, uint64_t most);
  // Renames the lowest free segment to segment `index`, unless a file of that name exists or no
  // segment is free. Returns 0 or errno.
  int become(uint64_t index);

  // Returns the first segment after segment 0 that still belongs to the log.
  uint64_t released() const { return released_.load(platform::memory_order_acquire); }

 private:
  const std::string path_;
  platform::mutex mutex_;
  uint64_t first_ LJ_GUARDED_BY(mutex_) = 1;  // the lowest free segment; released_ is the end
  platform::atomic<uint64_t> released_{1};
};

// Makes the segment files of a log file (logging/format/segments.h) in order, ahead of the log. A
// file that an earlier run has left is recycled: it keeps its blocks and their bytes, and gets
// zeros only after them. The same holds for a segment that this run has released (FreeSegments).
// The old records fail their checks, because run and position seed the checksums.
//
// Why new files, and not a longer file: while a file gets longer, a direct write to it waits for
// the write that makes it longer. The next data sync must also make the file's new length and
// blocks durable, with a commit of the file system's journal. A complete segment has written
// blocks, and a durable length and name, so zeroing the next segment costs only bandwidth. Measured
// on ext4 without a journal, with 64 KiB writes of the log: zeros in pieces of 256 KiB, at the
// log's speed, raise the p99 of these writes from 86 to 155 us. Pieces of 1 MiB at full speed raise
// the p99 to 2 ms. One thread at a time may use a SegmentMaker.
class SegmentMaker {
 public:
  // `open_flags` are added to the flags of open(). `free` outlives this object.
  SegmentMaker(const std::string& path, Segments segments, int open_flags, FreeSegments& free);
  ~SegmentMaker();
  SegmentMaker(const SegmentMaker&) = delete;
  SegmentMaker& operator=(const SegmentMaker&) = delete;

  // Returns the offset in the log file after the last segment that the log may use.
  uint64_t ready() const { return index_ * segments_.bytes; }
  // Returns the offset in the log file after the bytes that have been written.
  uint64_t made() const { return ready() + written_; }
  // Returns the path of the segment that begins at ready().
  std::string path() const { return segment_path(path_, index_); }

  // Continues the segment that begins at ready(): writes at most `most_bytes` of zeros. Makes the
  // segment durable when it is complete. Returns 0 or errno.
  int go_on(uint64_t most_bytes);

 private:
  int open_file();
  int finish();

  const std::string path_;
  const Segments segments_;
  const int open_flags_;
  FreeSegments& free_;
  uint64_t index_ = 0;    // the number of the segment that is being made
  uint64_t written_ = 0;  // the segment's bytes that were written, now or by an earlier run
  int file_ = -1;         // the segment's open file, or -1
};

// Returns 1 MiB of zeros, aligned for direct writes. Any thread may call it and pad_to_page().
std::span<const std::byte> zeros();
// Makes the length of a file, which may have any length, a multiple of 4096, as direct writes and
// mappings need. Sets `bytes` to the length. Returns 0 or errno.
int pad_to_page(int file, uint64_t* bytes);

// Returns `options`. Refuses a sync method that this machine does not have.
const DeviceOptions& with_usable_sync(const DeviceOptions& options);

class DeviceFile {
 public:
  // Called with the bytes [begin, end) of a file without segments when they are in the file, before
  // the log may use them. Returns 0 or errno.
  using Grown = std::function<int(int file, uint64_t begin, uint64_t end)>;

  // Opens or creates options.path, with additional `open_flags`. Refuses if that fails.
  DeviceFile(const DeviceOptions& options, int open_flags, Grown grown = nullptr);
  ~DeviceFile();

  const std::string& path() const { return path_; }

  // Waits until the grower has written the blocks up to `end`, if the file is preallocated.
  void make_room(uint64_t end) {
    if (grows_ && end + ahead_ > ready_.load(platform::memory_order_acquire)) grow(end);
  }

  // An open file: a descriptor, if the system's files are in use. The last owner closes it.
  using OpenFile = std::shared_ptr<const int>;
  // The part of a write that lies in one file.
  struct Piece {
    OpenFile file;
    uint64_t in_file;  // the offset in that file
    uint64_t in_log;   // the offset in the log file
    std::span<const std::byte> bytes;
  };
  // Returns the first piece of a write of `bytes` at `offset`. Call make_room() before. Ends the
  // process if the file cannot be opened.
  Piece first_piece(uint64_t offset, std::span<const std::byte> bytes);

  // Releases the bytes before `before`, except the header (Device::release). Segments are reused or
  // removed. A file without segments returns its blocks to the file system.
  void release(uint64_t before);

  // Writes the bytes, and with Sync::kData makes them durable by DeviceOptions::sync_method. Ends
  // the process if it fails.
  void write(uint64_t offset, std::span<const std::byte> bytes, Sync sync = Sync::kNone);
  // Writes a piece in the same way. Any thread may call it.
  void write(const Piece& piece, Sync sync) const;
  SyncMethod sync_method() const { return sync_method_; }
  // Returns how many threads have started (Device::threads).
  uint32_t threads() const { return grower_.joinable() ? 1 : 0; }
  // Ends the process with a sentence that names `action`, the file and errno `error`.
  [[noreturn]] void fail(const char* action, int error) const { fail(action, path_, error); }

 private:
  [[noreturn]] static void fail(const char* action, const std::string& path, int error);
  void preallocate(uint64_t bytes);
  void grow(uint64_t end);
  void grower();
  // Makes the file longer, up to `end` at least, unless it is being closed. Returns 0 or errno.
  int write_zeros(uint64_t end);
  int make_segments(uint64_t end, uint64_t piece_bytes);
  void raise_ready(uint64_t ready);
  void punch(uint64_t end);
  // Locks an open file after all writes of a killed process (logging/directory_locks.h).
  void hold(int file, const std::string& path) const;
  void drop_below(uint64_t index);

  const std::string path_;
  const Segments segments_;
  const int open_flags_;
  const SyncMethod sync_method_;
  OpenFile file_;  // of segment 0
  const bool grows_;
  const Grown grown_;
  uint64_t ahead_ = 0;  // the grower begins when fewer bytes than this are ready for the log
  uint64_t burst_ = 0;  // further bytes that the grower makes, so that few writes wake the grower
  FreeSegments free_;
  SegmentMaker maker_;                 // only the grower uses it
  std::map<uint64_t, OpenFile> open_;  // segments that the log has reached, by index

  platform::mutex punching_;
  uint64_t punched_ LJ_GUARDED_BY(punching_) = kLogHeaderBytes;  // blocks below were given back

  platform::mutex growing_;  // guards raising wanted_ and starting grower_
  platform::atomic<uint64_t> ready_{0};
  platform::atomic<uint64_t> wanted_{0};
  platform::atomic<int> error_{0};  // the grower's errno; fatal when the log reaches `ready_`
  platform::atomic<bool> closing_{false};
  platform::EventCount event_;
  platform::thread grower_;
};

}  // namespace logjam
