// The locks on log directories, which keep one command from writing where another writes or reads.
//
// Protocol. A run holds its directories alone from before it looks into them until it ends. A
// recovery shares them with other recoveries. The lock is flock() on the directory itself, so it
// needs no file, and the kernel gives it up when the process ends, however it ends. A lock that is
// taken is never waited for, so no order of directories can deadlock. Locks are taken in the order
// of device and inode: of two runs that start at once with the same directories in any order, one
// gets them all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

enum class DirectoryUse : uint8_t { kWrite, kRead };

class DirectoryLocks {
 public:
  // Locks the directories, which exist. Refuses if one cannot be opened, is named twice, or is in
  // use. The destructor gives the locks up. One thread makes and destroys the object.
  DirectoryLocks(const std::vector<std::string>& directories, DirectoryUse use);
  ~DirectoryLocks();
  DirectoryLocks(const DirectoryLocks&) = delete;
  DirectoryLocks& operator=(const DirectoryLocks&) = delete;

  // Makes durable which files the directories have. Returns 0 or errno.
  int sync() const;

 private:
  std::vector<int> fds_;
};

}  // namespace logjam
