// A cgroup with cpu.idle = 1 for the workers of one run: any other thread that becomes runnable
// preempts the workers at once. With autogroup the workers' class alone has no effect, because the
// scheduler compares groups.
//
// The group is a child of the process's own cgroup of the cpu controller, version 1 or 2, and is
// named logjam-workers-PID. After a crash it remains, until the next run removes it.
//
// Protocol. The main thread makes and destroys the object. Each worker calls join() on itself.
// Between processes: the process that makes a group holds the lock (flock) of the group's directory
// as long as the process lives. A process removes another process's group only while it holds this
// lock. So the group of a live run stays, even before a worker has joined it. (The PID in the name
// does not tell whether the run lives: other processes or PID namespaces may have the same PID.)
// Another process may remove a new directory before its maker has the lock. So when the maker has
// the lock, it checks that the directory still exists, and otherwise makes it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "platform/assert.h"
#include "platform/kernel_files.h"

namespace logjam::platform {

// The place of this process among the cgroups. When the scheduler decides whether a kernel thread
// preempts a thread of this process, it compares the kernel thread with the process's outermost
// group ("sched/fair: Make SCHED_IDLE entity be preempted in strict hierarchy", Linux 6.12).
enum class GroupPlace : uint8_t {
  kTop,     // in no cgroup except the root
  kIdle,    // in a cgroup below the root that has cpu.idle = 1, or inside of it
  kNested,  // in any other cgroup, or in a container that does not show the root
};
GroupPlace group_place(const KernelFiles& kernel);

class IdleGroup {
 public:
  // Makes a group, after removing the groups of crashed runs beside it. Returns null where that is
  // impossible: no cpu controller, no permission, or no cpu.idle (Linux before 5.15).
  static std::unique_ptr<IdleGroup> make(const KernelFiles& kernel);
  // Removes the group. The threads that have joined must have ended. May take up to a second,
  // because the kernel may still be busy with the last thread.
  ~IdleGroup();
  IdleGroup(const IdleGroup&) = delete;
  IdleGroup& operator=(const IdleGroup&) = delete;

  // Moves the calling thread into the group. Returns whether the kernel has done so.
  bool join() const;

  int version() const { return version_; }  // of the cgroups
  const std::string& directory() const { return directory_; }

 private:
  IdleGroup(KernelFiles kernel, int version, std::string directory, int lock)
      : kernel_(std::move(kernel)),
        version_(version),
        directory_(std::move(directory)),
        lock_(lock) {
    LJ_ASSERT(version_ == 1 || version_ == 2);
    LJ_ASSERT(lock_ >= 0);
  }

  const KernelFiles kernel_;
  const int version_;
  const std::string directory_;
  const int lock_;  // the open directory of the group, locked
};

}  // namespace logjam::platform
