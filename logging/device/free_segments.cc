#include "logging/device/free_segments.h"

#include <cerrno>

#include "logging/format/segments.h"
#include "platform/files.h"

namespace logjam {

int FreeSegments::release(uint64_t end, uint64_t most) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  if (end <= released()) return 0;
  released_.store(end, platform::memory_order_release);
  for (; end - first_ > most; ++first_) {
    const int error = platform::files().remove(segment_path(path_, first_));
    if (error != 0 && error != ENOENT) return error;
  }
  return 0;
}

int FreeSegments::become(uint64_t index) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  const std::string path = segment_path(path_, index);
  if (first_ == released()) return 0;
  platform::FileStatus there;
  if (const int error = platform::files().status(path, &there); error != 0) return error;
  if (there.kind != platform::FileKind::kNone) return 0;
  const int error = platform::files().rename(segment_path(path_, first_), path);
  if (error == 0) ++first_;
  return error;
}

}  // namespace logjam
