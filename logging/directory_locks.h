// The locks on log directories, which keep one command from writing where another command writes or
// reads. A locked directory is held (platform/files.h): the command keeps it even after a rename.
//
// Protocol. A run locks its directories exclusively, from before it reads them until the run ends.
// A recovery shares its locks with other recoveries. The lock is flock() on the directory itself.
// So the lock needs no file, and the kernel releases the lock when the process ends in any way. No
// thread waits for a lock that is taken, so no order of directories can deadlock. Locks are taken
// in the order of device and inode, so of two runs with the same directories, one gets all.
#pragma once

#include "platform/files.h"

namespace logjam {

enum class DirectoryUse : uint8_t { kWrite, kRead };

class DirectoryLocks {
 public:
  // Locks the directories, which must exist, until the object is destroyed. Refuses if a directory
  // cannot be opened, is named twice, or is in use. One thread makes and destroys the object.
  DirectoryLocks(const std::vector<std::string>& directories, DirectoryUse use);

 private:
  std::vector<platform::HeldDirectory> held_;
};

// Waits until no write of a killed process can land in the log file or its segment files any more.
// The kernel releases a killed process's locks on directories before the process's writes in
// io_uring end. But each log file of the process stays locked until the writes end
// (logging/device/device_file.h): each write has a reference to its open file, and the kernel
// releases flock() with the last reference (Linux, fs/locks.c, locks_remove_file(), called by
// __fput()). The caller must hold the directories. Fails if a file cannot be opened.
void wait_for_late_writes(const std::string& log_file);

}  // namespace logjam
