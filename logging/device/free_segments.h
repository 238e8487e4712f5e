// The segment files of a log file that the log does not need any more. Each becomes a segment
// again, under the name of the segment that is made next: a rename keeps its blocks, so the log's
// data syncs stay cheap. Files in excess of a bound are removed.
//
// A crash. No bytes before a release are read any more, so it does not matter which of their files
// exist. A released file is renamed only to the segment that is made next, which comes after all
// existing segments. So of the segments after the release, none is ever missing before one that
// exists. The new name is durable before the log uses the segment (segment_maker.h); until then a
// power cut may leave the file under its old name.
//
// Protocol. Any thread may call any function; one mutex guards the names. The log does not open a
// free segment, because it was released: DeviceFile looks at released().
#pragma once

#include <cstdint>
#include <string>

#include "platform/atomic.h"
#include "platform/mutex.h"

namespace logjam {

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
  uint64_t first_ = 1;  // the lowest free segment, if any; the free ones end at released_
  platform::atomic<uint64_t> released_{1};
};

}  // namespace logjam
