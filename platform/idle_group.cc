#include "platform/idle_group.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "platform/clock.h"

namespace logjam::platform {
namespace {

constexpr char kName[] = "logjam-workers-";

// Returns whether the mount is the root, which has files that no other group has (version 1), or
// lacks files that every other group has (version 2).
bool mount_is_root(const KernelFiles& kernel, const OwnGroup& own) {
  return own.version == 1 ? kernel.exists(own.mount + "/release_agent")
                          : !kernel.exists(own.mount + "/cgroup.type");
}

int open_directory(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Takes the lock of the open directory `lock`. Returns whether `path` still leads to this
// directory: another process may have removed it, and a third process may have made a new one.
bool take_lock(int lock, const std::string& path) {
  struct stat mine, there;
  return flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &mine) == 0 &&
         stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino;
}

// Removes the groups of crashed runs in `directory`. Skips the group of a live run, because its
// lock is held. The kernel also refuses to remove a group that has threads.
void remove_leftovers(const KernelFiles& kernel, const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kernel.root + directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kName)) continue;
    const int lock = open_directory(entry.path().string());
    if (lock < 0) continue;
    if (take_lock(lock, entry.path().string()) &&
        kernel.remove_directory(directory + "/" + name) == 0) {
      LOG(INFO) << "removed the cgroup " << entry.path().string() << ", which a crashed run left";
    }
    close(lock);
  }
}

// Makes the directory and takes its lock. Returns the open directory, or -1.
int make_locked(const KernelFiles& kernel, const std::string& directory) {
  constexpr int kTries = 100;
  const std::string path = kernel.root + directory;
  for (int i = 0; i < kTries; ++i) {
    if (!kernel.make_directory(directory) && !kernel.exists(directory)) return -1;
    const int lock = open_directory(path);
    if (lock < 0) continue;
    if (take_lock(lock, path)) return lock;
    close(lock);
    sleep_ns(100'000);
  }
  return -1;
}

bool make_idle(const KernelFiles& kernel, const OwnGroup& own, const std::string& directory) {
  if (own.version == 2) {
    // Threads of one process may be in different groups only if the groups are threaded. The cpu
    // controller must be on for the parent's children. The controller stays on, because another run
    // may rely on it.
    if (!kernel.write(directory + "/cgroup.type", "threaded")) return false;
    if (!kernel.exists(directory + "/cpu.idle")) {
      kernel.write(own.directory() + "/cgroup.subtree_control", "+cpu");
    }
  }
  return kernel.write(directory + "/cpu.idle", "1");
}

// Tries for a second, because a thread that has ended stays in its group for a moment.
bool remove_soon(const KernelFiles& kernel, const std::string& directory) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const int error = kernel.remove_directory(directory);
    if (error != EBUSY) return error == 0 || error == ENOENT;
    sleep_ns(1'000'000);
  }
  return false;
}

}  // namespace

GroupPlace group_place(const KernelFiles& kernel) {
  const auto own = own_group(kernel, "cpu");
  if (!own) {  // nothing is mounted
    for (int version : {1, 2}) {
      if (path_in_hierarchy(kernel, version, "cpu").value_or("/") != "/")
        return GroupPlace::kNested;
    }
    return GroupPlace::kTop;
  }
  if (!mount_is_root(kernel, *own)) return GroupPlace::kNested;
  if (own->path.empty()) return GroupPlace::kTop;
  const std::string outermost = own->mount + own->path.substr(0, own->path.find('/', 1));
  // In version 2, the scheduler knows only groups in which the controller is on.
  if (!kernel.exists(outermost + (own->version == 1 ? "/cpu.shares" : "/cpu.weight"))) {
    return GroupPlace::kTop;
  }
  return kernel.word(outermost + "/cpu.idle") == "1" ? GroupPlace::kIdle : GroupPlace::kNested;
}

std::unique_ptr<IdleGroup> IdleGroup::make(const KernelFiles& kernel) {
  const auto own = own_group(kernel, "cpu");
  if (!own) return nullptr;
  remove_leftovers(kernel, own->directory());
  const std::string directory = own->directory() + "/" + kName + std::to_string(getpid());
  const int lock = make_locked(kernel, directory);
  if (lock < 0) return nullptr;
  // If the group does not become idle, the destructor of `group` removes the directory.
  std::unique_ptr<IdleGroup> group(new IdleGroup(kernel, own->version, directory, lock));
  return make_idle(kernel, *own, directory) ? std::move(group) : nullptr;
}

IdleGroup::~IdleGroup() {
  LOG_IF(WARNING, !remove_soon(kernel_, directory_)) << "cannot remove the cgroup " << directory_;
  close(lock_);
}

bool IdleGroup::join() const {
  const char* file = version_ == 1 ? "/tasks" : "/cgroup.threads";
  return kernel_.write(directory_ + file, std::to_string(gettid()));
}

}  // namespace logjam::platform
