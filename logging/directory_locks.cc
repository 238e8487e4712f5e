#include "logging/directory_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/fatal.h"

namespace logjam {
namespace {

struct Opened {
  std::pair<dev_t, ino_t> identity;
  const std::string* path;
  int fd;
};

}  // namespace

DirectoryLocks::DirectoryLocks(const std::vector<std::string>& directories, DirectoryUse use) {
  std::vector<Opened> opened;
  for (const std::string& path : directories) {
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
      platform::refuse("cannot open the log directory " + path + ": " + strerror(errno));
    }
    opened.push_back({{status.st_dev, status.st_ino}, &path, fd});
    fds_.push_back(fd);
  }
  std::ranges::stable_sort(opened, {}, &Opened::identity);
  for (size_t i = 0; i + 1 < opened.size(); ++i) {
    if (opened[i].identity != opened[i + 1].identity) continue;
    platform::refuse(*opened[i].path + " and " + *opened[i + 1].path +
                     " are the same log directory");
  }
  for (const Opened& one : opened) {
    if (flock(one.fd, (use == DirectoryUse::kWrite ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) continue;
    if (errno != EWOULDBLOCK) {
      platform::refuse("cannot lock the log directory " + *one.path + ": " + strerror(errno));
    }
    platform::refuse("the log directory " + *one.path + " is in use by another process, " +
                     (use == DirectoryUse::kWrite ? "a run or a recovery" : "a run"));
  }
}

DirectoryLocks::~DirectoryLocks() {
  for (const int fd : fds_) close(fd);
}

int DirectoryLocks::sync() const {
  for (const int fd : fds_) {
    if (fsync(fd) != 0) return errno;
  }
  return 0;
}

}  // namespace logjam
