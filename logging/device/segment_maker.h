// Makes the segment files of a log file (logging/format/segments.h) in order, ahead of the log. A
// file that an earlier run has left is recycled: it keeps its blocks and their bytes, and gets
// zeros only after them. The earlier run's records fail their checks, because the run seeds the
// checksums. A segment that this run has released (free_segments.h) is recycled too: its records
// fail their checks, because their positions also seed the checksums.
//
// Why new files instead of a longer one. While a file gets longer, a direct write to it waits for
// the write that makes it longer, and a data sync after that must also make the file's new length
// and blocks durable: on a file system with a journal, it commits the journal. All blocks of a
// complete segment were written, and its length and name are durable. Then zeroing costs the log
// only its share of the device. Measured on ext4 without a journal, with 64 KiB writes: pieces of
// 256 KiB, one at a time and as fast as the log advances, raise the p99 of the log's writes from 86
// to 155 us; pieces of 1 MiB as fast as possible raise it to 2 ms.
#pragma once

#include <cstdint>
#include <string>

#include "logging/device/free_segments.h"
#include "logging/format/segments.h"

namespace logjam {

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

  // Continues the segment that begins at ready(): writes at most `most_bytes` of zeros, a multiple
  // of 4096, and makes the segment durable when it is complete. Returns 0 or errno.
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

}  // namespace logjam
