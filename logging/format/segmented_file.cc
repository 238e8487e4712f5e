#include "logging/format/segmented_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam {

using platform::files;

SegmentedFile::SegmentedFile(const std::string& path, Segments segments, uint64_t needed)
    : path_(path), segments_(segments), file_(files().open(path, O_RDONLY)) {
  int error = file_ < 0 ? -file_ : files().size(file_, &bytes_);
  const char* failed = "open";
  std::vector<SegmentFile> found;
  if (error == 0 && segments_.bytes != 0) {
    error = segment_files_of(path, &found);
    failed = "list the segments of";
  }
  if (error != 0) {
    error_ = std::string("cannot ") + failed + " the log file " + path + ": " +
             platform::error_text(error);
  }
  if (error != 0 || segments_.bytes == 0) return;
  bytes_ = std::min(bytes_, segments_.bytes);
  const uint64_t first = segments_.index(needed);
  if (first != 0) {  // treats all segments before it as complete
    last_ = first - 1;
    bytes_ = first * segments_.bytes;
  }
  for (const SegmentFile& file : found) {
    if (file.index < first) continue;
    if (file.index >= kMostLogFileBytes / segments_.bytes) {
      if (why_lost_.empty()) {
        why_lost_ = segment_path(path, file.index) + " exists, but no log is that long";
      }
      break;
    }
    const uint64_t whole = (last_ + 1) * segments_.bytes;  // bytes_ if nothing before is lost
    if (why_lost_.empty() && (file.index != last_ + 1 || bytes_ != whole)) {
      why_lost_ = bytes_ == whole ? segment_path(path, last_ + 1) + " is missing"
                                  : segment_path(path, last_) + " is too short";
      why_lost_ += ", and " + segment_path(path, file.index) + " exists";
    }
    last_ = file.index;
    bytes_ = last_ * segments_.bytes + std::min(file.bytes, segments_.bytes);
  }
}

SegmentedFile::~SegmentedFile() {
  if (file_ >= 0) files().close(file_);
}

bool SegmentedFile::open_segment(uint64_t index) {
  if (index == open_index_ && file_ >= 0) return true;
  if (file_ >= 0) files().close(file_);
  open_index_ = index;
  const std::string path = segment_path(path_, index);
  file_ = files().open(path, O_RDONLY);
  if (file_ < 0 && file_ != -ENOENT) {
    platform::fatal("cannot open the log file " + path + ": " + platform::error_text(-file_));
  }
  return file_ >= 0;
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
  const int64_t n = platform::read_all(file_, segments_.within(from), {to, count});
  // An error is not the end of the log: valid and acknowledged records may follow.
  if (n < 0) {
    platform::fatal("cannot read the log file " + segment_path(path_, open_index_) + ": " +
                    platform::error_text(static_cast<int>(-n)));
  }
  return static_cast<uint64_t>(n);
}

void SegmentedFile::will_need(uint64_t from, uint64_t count) {
  if (!open_segment(segments_.index(from))) return;
  // On a file that is no descriptor, as in tests, it does nothing.
  posix_fadvise(file_, static_cast<off_t>(segments_.within(from)),
                static_cast<off_t>(std::min(count, segments_.left(from))), POSIX_FADV_WILLNEED);
}

}  // namespace logjam
