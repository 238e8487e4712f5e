// The segment files of a log file that the log needs no more. Each becomes a segment again, under
// the name of the one that is made next: a rename keeps its blocks, so the log's data syncs stay
// cheap. Those beyond a bound are removed.
//
// A crash. What lies before a release is not read any more, so it does not matter which of those
// files are there. A released file gets no other name than that of the segment that is made next,
// which lies behind all that are made. So behind the release no segment is ever missing before one
// that is there. The name is durable before the log uses the segment (segment_maker.h); until then
// a power cut may leave the file under the old name.
//
// Protocol. Any thread may call any function; one mutex guards the names. A segment that is free
// was released, so the log opens it no more: DeviceFile looks at released().
#pragma once

#include <cstdint>
#include <string>

#include "platform/atomic.h"
#include "platform/mutex.h"

namespace logjam {

class FreeSegments {
 public:
  explicit FreeSegments(const std::string& path) : path_(path) {}

  // The segments below `end` are free from now on, but for segment 0, which has the log's header.
  // At most `most` files are kept. Returns 0 or errno.
  int release(uint64_t end, uint64_t most);
  // Renames the lowest free segment to segment `index`, unless there is a file of that name, or
  // none is free. Returns 0 or errno.
  int become(uint64_t index);

  // No segment below this one, but for segment 0, belongs to the log any more.
  uint64_t released() const { return released_.load(platform::memory_order_acquire); }

 private:
  const std::string path_;
  platform::mutex mutex_;
  uint64_t first_ = 1;  // the free ones are from this one on
  platform::atomic<uint64_t> released_{1};
};

}  // namespace logjam
