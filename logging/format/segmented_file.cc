#include "logging/format/segmented_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/fatal.h"

namespace logjam {

SegmentedFile::SegmentedFile(const std::string& path, Segments segments, uint64_t needed)
    : path_(path), segments_(segments), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    error_ = "cannot open the log file " + path + ": " + strerror(errno);
    return;
  }
  bytes_ = static_cast<uint64_t>(status.st_size);
  if (segments_.bytes == 0) return;
  bytes_ = std::min(bytes_, segments_.bytes);
  const uint64_t first = segments_.index(needed);
  if (first != 0) {  // treats all segments before it as complete
    last_ = first - 1;
    bytes_ = first * segments_.bytes;
  }
  for (const SegmentFile& file : segment_files_of(path)) {
    if (file.index < first) continue;
    const uint64_t whole = (last_ + 1) * segments_.bytes;  // bytes_ if nothing before is lost
    if (why_lost_.empty() && (file.index != last_ + 1 || bytes_ != whole)) {
      lost_from_ = bytes_;
      lost_to_ = file.index * segments_.bytes;
      why_lost_ = bytes_ == whole ? segment_path(path, last_ + 1) + " is missing"
                                  : segment_path(path, last_) + " is too short";
      why_lost_ += ", and " + segment_path(path, file.index) + " exists";
    }
    last_ = file.index;
    bytes_ = last_ * segments_.bytes + std::min(file.bytes, segments_.bytes);
  }
}

SegmentedFile::~SegmentedFile() {
  if (fd_ >= 0) close(fd_);
}

bool SegmentedFile::open_segment(uint64_t index) {
  if (index == open_index_ && fd_ >= 0) return true;
  if (fd_ >= 0) close(fd_);
  open_index_ = index;
  const std::string path = segment_path(path_, index);
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0 && errno != ENOENT) {
    platform::fatal("cannot open the log file " + path + ": " + strerror(errno));
  }
  return fd_ >= 0;
}

uint64_t SegmentedFile::read(std::byte* to, uint64_t from, uint64_t count) {
  uint64_t done = 0;
  while (done < count) {
    const uint64_t at = from + done;
    const uint64_t want = std::min(count - done, segments_.left(at));
    const uint64_t got = read_segment(to + done, at, want);
    done += got;
    if (got == want) continue;
    if (segments_.index(at) >= last_) break;
    std::memset(to + done, 0, want - got);
    done += want - got;
  }
  return done;
}

uint64_t SegmentedFile::read_segment(std::byte* to, uint64_t from, uint64_t count) {
  if (!open_segment(segments_.index(from))) return 0;
  uint64_t done = 0;
  while (done < count) {
    const auto at = static_cast<off_t>(segments_.within(from) + done);
    const ssize_t n = pread(fd_, to + done, count - done, at);
    if (n < 0 && errno == EINTR) continue;
    // An error is not the end of the log: valid and acknowledged records may follow.
    if (n < 0) {
      platform::fatal("cannot read the log file " + segment_path(path_, open_index_) + ": " +
                      strerror(errno));
    }
    if (n == 0) break;
    done += static_cast<uint64_t>(n);
  }
  return done;
}

void SegmentedFile::will_need(uint64_t from, uint64_t count) {
  if (!open_segment(segments_.index(from))) return;
  posix_fadvise(fd_, static_cast<off_t>(segments_.within(from)),
                static_cast<off_t>(std::min(count, segments_.left(from))), POSIX_FADV_WILLNEED);
}

}  // namespace logjam
