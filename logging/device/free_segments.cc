#include "logging/device/free_segments.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "logging/format/segments.h"

namespace logjam {

int FreeSegments::release(uint64_t end, uint64_t most) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  if (end <= released()) return 0;
  released_.store(end, platform::memory_order_release);
  for (; end - first_ > most; ++first_) {
    if (unlink(segment_path(path_, first_).c_str()) != 0 && errno != ENOENT) return errno;
  }
  return 0;
}

int FreeSegments::become(uint64_t index) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  const std::string path = segment_path(path_, index);
  if (first_ == released() || access(path.c_str(), F_OK) == 0) return 0;
  if (std::rename(segment_path(path_, first_).c_str(), path.c_str()) != 0) return errno;
  ++first_;
  return 0;
}

}  // namespace logjam
