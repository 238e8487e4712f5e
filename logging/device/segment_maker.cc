#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "logging/device/device_file.h"
#include "platform/assert.h"
#include "platform/files.h"
#include "platform/memory.h"

namespace logjam {

using platform::files;

int FreeSegments::release(uint64_t end, uint64_t most) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  if (end <= released()) return 0;
  released_.store(end, platform::memory_order_release);
  for (; end - first_ > most; ++first_) {
    const int error = files().remove(segment_path(path_, first_));
    if (error != 0 && error != ENOENT) return error;
  }
  return 0;
}

int FreeSegments::become(uint64_t index) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(first_ <= released() && (index == 0 || index >= released()));
  const std::string path = segment_path(path_, index);
  if (first_ == released()) return 0;
  platform::FileStatus there;
  if (const int error = files().status(path, &there); error != 0) return error;
  if (there.kind != platform::FileKind::kNone) return 0;
  const int error = files().rename(segment_path(path_, first_), path);
  if (error == 0) ++first_;
  return error;
}

std::span<const std::byte> zeros() {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  static const auto* memory = static_cast<const std::byte*>(platform::map_huge(kBytes));
  return {memory, kBytes};
}

int pad_to_page(int file, uint64_t* bytes) {
  constexpr uint64_t kPageBytes = 4096;
  uint64_t size = 0;
  if (const int error = files().size(file, &size); error != 0) return error;
  *bytes = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return *bytes == size ? 0 : files().resize(file, *bytes);
}

SegmentMaker::SegmentMaker(const std::string& path, Segments segments, int open_flags,
                           FreeSegments& free)
    : path_(path), segments_(segments), open_flags_(open_flags), free_(free) {}

SegmentMaker::~SegmentMaker() {
  if (file_ >= 0) files().close(file_);
}

int SegmentMaker::open_file() {
  if (const int error = free_.become(index_); error != 0) return error;
  file_ = files().open(path(), O_RDWR | O_CREAT | open_flags_);
  if (file_ < 0) return -file_;
  uint64_t bytes = 0;
  const int error = pad_to_page(file_, &bytes);
  written_ = std::min(bytes, segments_.bytes);
  return error;
}

int SegmentMaker::go_on(uint64_t most_bytes) {
  LJ_ASSERT(most_bytes != 0 && most_bytes % 4096 == 0);
  if (file_ < 0) {
    if (const int error = open_file(); error != 0) return error;
  }
  if (written_ < segments_.bytes) {
    const uint64_t piece = std::min({most_bytes, segments_.bytes - written_, zeros().size()});
    const int error = platform::write_all(file_, written_, zeros().first(piece));
    if (error != 0) return error;
    written_ += piece;
  }
  return written_ < segments_.bytes ? 0 : finish();
}

// Makes the segment durable. A recycled segment is synced too, because the run that made it may
// have been killed before its sync.
int SegmentMaker::finish() {
  LJ_ASSERT(written_ == segments_.bytes);
  if (const int error = files().sync_data(file_); error != 0) return error;
  if (const int error = platform::sync_parent(path_); error != 0) return error;
  files().close(file_);
  file_ = -1;
  ++index_;
  written_ = 0;
  return 0;
}

}  // namespace logjam
