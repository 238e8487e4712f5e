// The locks on log directories, which keep one command from writing where another writes or reads.
// A locked directory is held (platform/files.h): whatever is renamed meanwhile, the command stays
// in the directory that it has locked.
//
// Protocol. A run holds its directories alone from before it looks into them until it ends. A
// recovery shares them with other recoveries. The lock is flock() on the directory itself, so it
// needs no file, and the kernel releases it when the process ends, however it ends. No thread waits
// for a lock that is taken, so no order of directories can deadlock. Locks are taken in the order
// of device and inode: of two runs that start at once with the same directories, in any order, one
// gets them all.
#pragma once

#include "platform/files.h"

namespace logjam {

enum class DirectoryUse : uint8_t { kWrite, kRead };

class DirectoryLocks {
 public:
  // Locks the directories, which exist, until it is destroyed. Refuses if one cannot be opened, is
  // named twice, or is in use. One thread makes and destroys the object.
  DirectoryLocks(const std::vector<std::string>& directories, DirectoryUse use);

 private:
  std::vector<platform::HeldDirectory> held_;
};

// Waits until no write of a killed process can land in the log file or its segment files any more.
// A process that is killed releases its directories before the end of its writes in io_uring. But
// each of its log files stays locked until then (logging/device/device_file.h): the kernel holds a
// reference to an open file for each write, and releases its flock() with the last reference
// (Linux, fs/locks.c, locks_remove_file(), called by __fput()). Hold the directories when you call
// it. Fails if a file cannot be opened.
void wait_for_late_writes(const std::string& log_file);

}  // namespace logjam
