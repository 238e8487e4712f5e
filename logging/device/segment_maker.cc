#include "logging/device/segment_maker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "logging/device/write_file.h"

namespace logjam {

SegmentMaker::SegmentMaker(const std::string& path, Segments segments, int open_flags,
                           SyncFile* sync, FreeSegments& free)
    : path_(path), segments_(segments), open_flags_(open_flags), sync_(sync), free_(free) {}

SegmentMaker::~SegmentMaker() {
  if (fd_ >= 0) close(fd_);
}

int SegmentMaker::open_file() {
  if (const int error = free_.become(index_); error != 0) return error;
  fd_ = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | open_flags_, 0644);
  if (fd_ < 0) return errno;
  uint64_t bytes = 0;
  const int error = pad_to_page(fd_, &bytes);
  written_ = std::min(bytes, segments_.bytes);
  return error;
}

int SegmentMaker::go_on(uint64_t most_bytes) {
  if (fd_ < 0) {
    if (const int error = open_file(); error != 0) return error;
  }
  if (written_ < segments_.bytes) {
    const uint64_t piece = std::min({most_bytes, segments_.bytes - written_, zeros().size()});
    const int error = write_fully(fd_, written_, zeros().first(piece));
    if (error != 0) return error;
    written_ += piece;
  }
  return written_ < segments_.bytes ? 0 : finish();
}

// Makes the segment durable. A recycled segment is synced too, because the run that made it may
// have been killed before its sync.
int SegmentMaker::finish() {
  if (sync_(fd_) != 0) return errno;
  if (const int error = sync_directory_of(path_, sync_); error != 0) return error;
  close(fd_);
  fd_ = -1;
  ++index_;
  written_ = 0;
  return 0;
}

}  // namespace logjam
