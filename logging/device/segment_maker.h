// Makes the segment files of a log file (logging/format/segments.h) in order, ahead of the log. A
// file that an earlier run has left is recycled: it keeps its blocks and their bytes, and gets
// zeros only after them. The earlier run's records fail their checks, because the run seeds the
// checksums. A segment that this run has released (FreeSegments) is recycled too: its records
// fail their checks, because their positions also seed the checksums.
//
// Why new files instead of a longer one. While a file gets longer, a direct write to it waits for
// the write that makes it longer. The next data sync must also make the file's new length and
// blocks durable: on a file system with a journal, it commits the journal. Of a complete segment
// all blocks were written, and the length and name are durable, so zeroing costs the log only its
// share of the device. Measured on ext4 without a journal, with 64 KiB writes: pieces of 256 KiB,
// one at a time and as fast as the log advances, raise the p99 of the log's writes from 86 to 155
// us; pieces of 1 MiB as fast as possible raise it to 2 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "logging/format/segments.h"
#include "platform/atomic.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

// The segment files of a log file that the log does not need any more. Each becomes a segment
// again, under the name of the segment that is made next: a rename keeps its blocks, so the log's
// data syncs stay cheap. Files in excess of a bound are removed.
//
// A crash. No bytes before a release are read any more, so it does not matter which of their files
// exist. A released file is renamed only to the segment that is made next, which comes after all
// existing segments. So of the segments after the release, none is ever missing before one that
// exists. The new name is durable before the log uses the segment; until then a
// power cut may leave the file under its old name.
//
// Protocol. Any thread may call any function. The log does not open a
// free segment, because it was released: DeviceFile looks at released().
class FreeSegments {
 public:
  explicit FreeSegments(const std::string& path) : path_(path) {}

  // Frees the segments below `end`, except segment 0, which has the log's header. Keeps at most
  // `most` free files and removes the others. Returns 0 or errno.
  int release(uint64_t end, uint64_t most);
  // Renames the lowest free segment to segment `index`, unless a file of that name exists or no
  // segment is free. Returns 0 or errno.
  int become(uint64_t index);

  // Returns the first segment after segment 0 that still belongs to the log.
  uint64_t released() const { return released_.load(platform::memory_order_acquire); }

 private:
  const std::string path_;
  platform::mutex mutex_;
  uint64_t first_ LJ_GUARDED_BY(mutex_) =
      1;  // the lowest free segment, if any; the free ones end at released_
  platform::atomic<uint64_t> released_{1};
};

// One thread at a time may use it.
class SegmentMaker {
 public:
  // `open_flags` are added to the flags of open(). `free` has the segments that may be used again,
  // and outlives this object.
  SegmentMaker(const std::string& path, Segments segments, int open_flags, FreeSegments& free);
  ~SegmentMaker();
  SegmentMaker(const SegmentMaker&) = delete;
  SegmentMaker& operator=(const SegmentMaker&) = delete;

  // Returns the end of the last segment that the log may use, as an offset in the log file.
  uint64_t ready() const { return index_ * segments_.bytes; }
  // Returns the end of the bytes that have been written, as an offset in the log file.
  uint64_t made() const { return ready() + written_; }
  // Returns the path of the segment that begins at ready().
  std::string path() const { return segment_path(path_, index_); }

  // Continues the segment that begins at ready(): writes at most `most_bytes` of zeros, and makes
  // the segment durable when it is complete. Returns 0 or errno.
  int go_on(uint64_t most_bytes);

 private:
  int open_file();
  int finish();

  const std::string path_;
  const Segments segments_;
  const int open_flags_;
  FreeSegments& free_;
  uint64_t index_ = 0;    // of the segment that is being made
  uint64_t written_ = 0;  // its bytes that have been written, now or by an earlier run
  int file_ = -1;         // its open file, or -1
};

// Returns 1 MiB of zeros, aligned for direct writes. Any thread may call it, and the next.
std::span<const std::byte> zeros();
// Makes the length of a file of platform::files(), which may be any number after an earlier run, a
// multiple of 4096, as direct writes and mappings need. Sets `bytes` to the length. Returns 0 or
// errno.
int pad_to_page(int file, uint64_t* bytes);

}  // namespace logjam
