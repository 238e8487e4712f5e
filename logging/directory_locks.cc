#include "logging/directory_locks.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "logging/format/segments.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

struct Opened {
  std::pair<uint64_t, uint64_t> identity;
  const std::string* path;
  int file;
};

std::string cannot(const char* what, const std::string& path, int error) {
  return std::string("cannot ") + what + path + ": " + platform::error_text(error);
}

}  // namespace

DirectoryLocks::DirectoryLocks(const std::vector<std::string>& directories, DirectoryUse use) {
  platform::Files& files = platform::files();
  std::vector<Opened> opened;
  for (const std::string& path : directories) {
    const platform::HeldDirectory& held = held_.emplace_back(path);
    Opened one{{}, &path, held.file()};
    int error = held.error();
    if (error == 0) error = files.identity(one.file, &one.identity);
    if (error != 0) platform::refuse(cannot("open the log directory ", path, error));
    opened.push_back(one);
  }
  std::ranges::stable_sort(opened, {}, &Opened::identity);
  for (size_t i = 0; i + 1 < opened.size(); ++i) {
    if (opened[i].identity != opened[i + 1].identity) continue;
    platform::refuse(*opened[i].path + " and " + *opened[i + 1].path +
                     " are the same log directory");
  }
  for (const Opened& one : opened) {
    const int error = files.lock(one.file, use == DirectoryUse::kWrite, false);
    if (error == 0) continue;
    if (error != EWOULDBLOCK) {
      platform::refuse(cannot("lock the log directory ", *one.path, error));
    }
    platform::refuse("the log directory " + *one.path + " is in use by another process, " +
                     (use == DirectoryUse::kWrite ? "a run or a recovery" : "a run"));
  }
}

void wait_for_late_writes(const std::string& log_file) {
  platform::Files& files = platform::files();
  std::vector<std::string> paths = {log_file};
  std::vector<SegmentFile> segments;
  if (const int error = segment_files_of(log_file, &segments); error != 0) {
    platform::fail(cannot("list the segments of ", log_file, error));
  }
  for (const SegmentFile& segment : segments) {
    paths.push_back(segment_path(log_file, segment.index));
  }
  for (const std::string& path : paths) {
    const int file = files.open(path, O_RDONLY);
    if (file == -ENOENT) continue;  // the recovery reports the missing file
    const int error = file < 0 ? -file : files.lock(file, false, true);
    if (error != 0) platform::fail(cannot("lock ", path, error));
    files.close(file);
  }
}

}  // namespace logjam
