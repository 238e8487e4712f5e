#include "logging/format/segments.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam {
namespace {

// Returns the index in the name of a segment file, or 0 if `name` is not such a name.
uint64_t index_in(std::string_view name) {
  const std::string_view digits = name.substr(name.rfind('.') + 1);
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool number = error == std::errc{} && end == digits.data() + digits.size();
  return number && digits[0] != '0' ? index : 0;
}

int segment_files(const std::string& directory, std::string_view begin,
                  std::vector<SegmentFile>* files) {
  files->clear();
  std::vector<std::string> names;
  if (const int error = platform::names_in(directory, &names); error != 0) return error;
  for (const std::string& name : names) {
    const uint64_t index = index_in(name);
    const std::string log_file = name.substr(0, name.rfind('.'));
    if (index == 0 || !log_file.starts_with(begin) || !log_file.ends_with(".log.db")) continue;
    platform::FileStatus status;
    const int error = platform::files().status(directory + "/" + name, &status);
    if (error != 0) return error;
    files->push_back({directory + "/" + log_file, index, status.bytes});
  }
  std::ranges::sort(*files, {},
                    [](const SegmentFile& one) { return std::tie(one.log_file, one.index); });
  return 0;
}

}  // namespace

std::string segment_path(const std::string& path, uint64_t index) {
  return index == 0 ? path : path + "." + std::to_string(index);
}

int segment_files_in(const std::string& directory, std::vector<SegmentFile>* files) {
  return segment_files(directory, "stream-", files);
}

int segment_files_of(const std::string& path, std::vector<SegmentFile>* files) {
  const std::filesystem::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().native() : ".";
  const std::string name = file.filename();
  if (const int error = segment_files(directory, name, files); error != 0) return error;
  std::erase_if(*files, [&](const SegmentFile& one) {
    return one.log_file.size() != directory.size() + 1 + name.size();
  });
  for (SegmentFile& one : *files) one.log_file = path;
  return 0;
}

SegmentedFile::SegmentedFile(const std::string& path, Segments segments, uint64_t needed)
    : path_(path), segments_(segments), file_(platform::files().open(path, O_RDONLY)) {
  int error = file_ < 0 ? -file_ : platform::files().size(file_, &bytes_);
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
  if (first != 0) {  // treats all segments before `first` as complete
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
    const uint64_t whole = (last_ + 1) * segments_.bytes;  // bytes_ if no earlier byte is lost
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
  if (file_ >= 0) platform::files().close(file_);
}

bool SegmentedFile::open_segment(uint64_t index) {
  if (index == open_index_ && file_ >= 0) return true;
  if (file_ >= 0) platform::files().close(file_);
  open_index_ = index;
  const std::string path = segment_path(path_, index);
  file_ = platform::files().open(path, O_RDONLY);
  if (file_ < 0 && file_ != -ENOENT) {
    platform::fail("cannot open the log file " + path + ": " + platform::error_text(-file_));
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
    platform::fail("cannot read the log file " + segment_path(path_, open_index_) + ": " +
                   platform::error_text(static_cast<int>(-n)));
  }
  return static_cast<uint64_t>(n);
}

void SegmentedFile::will_need(uint64_t from, uint64_t count) {
  if (!open_segment(segments_.index(from))) return;
  // Does nothing if file_ is no descriptor of the kernel, as in tests.
  posix_fadvise(file_, static_cast<off_t>(segments_.within(from)),
                static_cast<off_t>(std::min(count, segments_.left(from))), POSIX_FADV_WILLNEED);
}

}  // namespace logjam
