// A file system in memory. It records the steps of a program, and returns what a disk could
// hold if the power had failed at any step (proof/disk/crash_states.h).
//
//   MemoryFiles disk;
//   {
//     const platform::ReplaceFiles replace(disk);
//     ... the program writes; disk.mark(n) when transaction n is acknowledged ...
//   }
//   for (size_t step = 0; step <= disk.steps(); ++step) {
//     for (const CrashState& state : disk.states_after(step, 64, seed)) {
//       MemoryFiles after(state);
//       const platform::ReplaceFiles replace(after);
//       ... recover; the transactions in state.marks must be there ...
//     }
//   }
//
// The numbers of open files are no descriptors of the kernel. So devices that pass descriptors to
// the kernel (`file`, `nvm`, `faulty`) cannot use this file system. Paths with and without a slash
// at the beginning are the same. There are no links and no permissions, and a path has no "..".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/assert.h"
#include "platform/exploration.h"
#include "platform/files.h"
#include "platform/os_mutex.h"
#include "platform/thread_annotations.h"
#include "proof/disk/crash_states.h"

namespace logjam {

// The functions of platform::Files that can fail.
enum class FileCall : uint8_t {
  kOpen,
  kRead,
  kWrite,
  kResize,
  kSize,
  kSync,
  kPunch,
  kStatus,
  kList,
  kRename,
  kRemove,
  kMakeDirectory,
  kRemoveDirectory
};

// Any thread may call any function at any time. The steps of all threads have one order.
class MemoryFiles final : public platform::Files {
 public:
  // Makes a disk with an empty root, or a disk on which all of `content` is durable.
  MemoryFiles() : MemoryFiles(CrashState()) {}
  explicit MemoryFiles(const CrashState& content);

  int open(const std::string& path, int flags, int mode = 0644) override;
  int hold(const std::string& directory) override {
    return open(directory, O_RDONLY | O_DIRECTORY);
  }
  // Returns true: no other program renames a directory.
  bool still_there(int) override { return true; }
  void close(int file) override;
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override;
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override;
  int resize(int file, uint64_t bytes) override;
  int size(int file, uint64_t* bytes) override;
  int sync(int file) override;
  int sync_data(int file) override;
  int allocate(int file, uint64_t bytes) override;
  int punch(int file, uint64_t begin, uint64_t bytes) override;
  // Takes the lock, which is always free, because one program uses the disk.
  int lock(int, bool, bool) override { return 0; }
  int identity(int file, std::pair<uint64_t, uint64_t>* identity) override;
  int status(const std::string& path, platform::FileStatus* status) override;
  int list(const std::string& directory, std::vector<std::string>* names) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int make_directory(const std::string& path) override;
  int remove_directory(const std::string& path) override;

  // Returns the path with which the file was opened, or an empty string if it is not open.
  std::string path_of(int file) const;

  // Adds a step: the program has reached the mark `number`.
  void mark(uint64_t number);
  // Counts a synced write as two steps, because the power can fail before the write is durable.
  size_t steps() const {
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    return steps_.size();
  }
  // Returns how many steps there were when the last call of the file system began. The program may
  // rely on the steps of a call only after the call has returned.
  size_t steps_before_call() const {
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    return steps_before_call_;
  }
  std::string step(size_t index) const;
  // Returns the states in which a crash after the first `step` steps may leave the disk
  // (CrashDisk::states()). Calls with ascending values of `step` are quicker.
  std::vector<CrashState> states_after(size_t step, size_t most, uint64_t seed) const;
  // Returns what the disk holds after the kill of the process, without a power failure.
  CrashState now() const;

  // Makes calls of the function `call` whose path contains `path` fail with `error`, except the
  // first `after` of these calls. A failed call changes nothing.
  void fail(const std::string& path, FileCall call, int error, uint64_t after = 0) {
    LJ_ASSERT(error > 0);
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    failures_.push_back({path, call, error, after});
  }
  // Ends the failures that fail() has asked for.
  void mend() {
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    failures_.clear();
  }
  size_t open_files() const {
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    return open_.size();
  }
  // Limits the bytes of all files together to `bytes`. Punched ranges do not count; removed files
  // count until they are closed. A write beyond the limit writes the sectors that fit, or fails
  // with ENOSPC if none fits.
  void limit(uint64_t bytes) {
    const platform::lock_guard<platform::OsMutex> guard(mutex_);
    limit_ = bytes;
  }

 private:
  // A call of the file system. The explorer takes it as one step.
  class LJ_SCOPED_CAPABILITY Call {
   public:
    explicit Call(MemoryFiles& files) LJ_ACQUIRE(files.mutex_) : files_(files) {
      files.mutex_.lock();
      files.steps_before_call_ = files.steps_.size();
    }
    ~Call() LJ_RELEASE() { files_.mutex_.unlock(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    const platform::ExploredCall explored_;  // ends after the mutex is free
    MemoryFiles& files_;
  };
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  struct Open {
    NodePointer node;
    std::string path;
    int flags;
  };
  struct Failure {
    std::string path;
    FileCall call;
    int error;
    uint64_t after;
  };
  // A name in a directory, and the file or directory that has it.
  struct Entry {
    NodePointer directory;
    std::string name;
    NodePointer node;  // null: the directory has no such name
  };

  NodePointer make_node(bool is_directory) LJ_REQUIRES(mutex_);
  int find(const std::string& path, Entry* entry) const LJ_REQUIRES(mutex_);
  int failure(const std::string& path, FileCall call) LJ_REQUIRES(mutex_);
  int open_file(int file, FileCall call, bool writes, Open** open) LJ_REQUIRES(mutex_);
  FileStep& add_step(FileStep::Kind kind, std::string what) LJ_REQUIRES(mutex_);
  void change_names(std::vector<FileStep::Name> names, bool makes_directory, std::string what)
      LJ_REQUIRES(mutex_);
  void change_bytes(const Node& node, std::vector<std::pair<uint64_t, SectorPointer>> sectors,
                    std::string what) LJ_REQUIRES(mutex_);
  const CrashDisk& disk_after(size_t step) const LJ_REQUIRES(mutex_);
  int resize_node(const Open& open, uint64_t bytes) LJ_REQUIRES(mutex_);
  int remove_node(const std::string& path, bool is_directory);
  int sync_node(int file, const char* what);

  mutable platform::OsMutex mutex_;
  const CrashState content_;
  // The bytes of all nodes. Declared before the nodes, which use it in their destructors.
  uint64_t used_ LJ_GUARDED_BY(mutex_) = 0;
  uint64_t limit_ LJ_GUARDED_BY(mutex_) = ~uint64_t{0};
  uint64_t next_inode_ LJ_GUARDED_BY(mutex_) = kRootInode;
  NodePointer root_ LJ_GUARDED_BY(mutex_);
  std::map<int, Open> open_ LJ_GUARDED_BY(mutex_);
  std::vector<Failure> failures_ LJ_GUARDED_BY(mutex_);
  std::vector<FileStep> steps_ LJ_GUARDED_BY(mutex_);
  size_t steps_before_call_ LJ_GUARDED_BY(mutex_) = 0;
  // The disk after the step that the last disk_after() asked for.
  mutable std::unique_ptr<CrashDisk> disk_ LJ_GUARDED_BY(mutex_);
};

}  // namespace logjam
