// A file system in memory for tests. It remembers what the program does to it, and says what a disk
// could hold if the power had failed at any step (proof/disk/crash_states.h).
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
//       ... recover; what state.marks has must be there ...
//     }
//   }
//
// Its open files are numbers that are no descriptors of the kernel, so devices that pass
// descriptors to the kernel themselves (`file`, `nvm`, `faulty`) cannot use it. Paths with and
// without a slash at the beginning are the same. There are no links, no permissions and no "..".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/exploration.h"
#include "platform/files.h"
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

// Any thread may call any function at any time. One mutex guards all, so the steps of all threads
// have one order.
class MemoryFiles final : public platform::Files {
 public:
  // Begins with an empty root, or with `content`, all of which is durable.
  MemoryFiles() : MemoryFiles(CrashState()) {}
  explicit MemoryFiles(const CrashState& content);

  int open(const std::string& path, int flags, int mode = 0644) override;
  int hold(const std::string& directory) override {
    return open(directory, O_RDONLY | O_DIRECTORY);
  }
  // Returns true: nothing else renames a directory.
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
  // Takes the lock, which is always free: one program uses the disk.
  int lock(int, bool, bool) override { return 0; }
  int identity(int file, std::pair<uint64_t, uint64_t>* identity) override;
  int status(const std::string& path, platform::FileStatus* status) override;
  int list(const std::string& directory, std::vector<std::string>* names) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int make_directory(const std::string& path) override;
  int remove_directory(const std::string& path) override;

  // Returns the path with which the file was opened; empty if it is not open.
  std::string path_of(int file) const;

  // Adds a step that says that the program has reached `number`.
  void mark(uint64_t number);
  // Returns how many steps there are. A synced write is two: it can be cut before it is durable.
  size_t steps() const {
    const std::lock_guard guard(mutex_);
    return steps_.size();
  }
  // Returns how many steps there were when the last call began. Until it has returned, its caller
  // cannot rely on the steps that it has made.
  size_t steps_before_call() const {
    const std::lock_guard guard(mutex_);
    return steps_before_call_;
  }
  // Returns what the step with this index did.
  std::string step(size_t index) const;
  // Returns the states in which a crash after `step` steps may leave the disk, as
  // CrashDisk::states() does. It is quicker if
  // the calls go upwards in `step`.
  std::vector<CrashState> states_after(size_t step, size_t most, uint64_t seed) const;
  // Returns what the disk holds if no power fails, as after the kill of a process.
  CrashState now() const;

  // Lets calls of this kind fail with `error` if their path contains `path`, except the first
  // `after` of those calls. A failed call changes nothing.
  void fail(const std::string& path, FileCall call, int error, uint64_t after = 0);
  // Takes back all fail() calls.
  void mend();
  // Returns how many files and directories are open.
  size_t open_files() const {
    const std::lock_guard guard(mutex_);
    return open_.size();
  }
  // Limits the lengths of all files together, without the ranges that were punched. A write beyond
  // it takes the sectors that fit, or fails with ENOSPC. Removed files count until they are closed.
  void limit(uint64_t bytes);

 private:
  // A call of the file system: a step of the explorer's, if it explores.
  struct Call {
    explicit Call(MemoryFiles& files) : guard(files.mutex_) {
      files.steps_before_call_ = files.steps_.size();
    }
    platform::ExploredCall explored;
    const std::lock_guard<std::mutex> guard;
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
  // A name in a directory, and what has it.
  struct Entry {
    NodePointer directory;
    std::string name;
    NodePointer node;  // null: nothing
  };

  NodePointer make_node(bool is_directory);
  int find(const std::string& path, Entry* entry) const;
  int failure(const std::string& path, FileCall call);
  int open_file(int file, FileCall call, bool writes, Open** open);
  FileStep& add_step(FileStep::Kind kind, std::string what);
  void change_names(std::vector<FileStep::Name> names, bool makes_directory, std::string what);
  void change_bytes(const Node& node, std::vector<std::pair<uint64_t, SectorPointer>> sectors,
                    std::string what);
  int resize_node(const Open& open, uint64_t bytes);
  int remove_node(const std::string& path, bool is_directory);
  int sync_node(int file, const char* what);

  mutable std::mutex mutex_;
  const CrashState content_;
  uint64_t used_ = 0, limit_ = ~uint64_t{0};  // outlives the nodes
  uint64_t next_inode_ = kRootInode;
  NodePointer root_;
  std::map<int, Open> open_;
  std::vector<Failure> failures_;
  std::vector<FileStep> steps_;
  size_t steps_before_call_ = 0;
  mutable std::unique_ptr<CrashDisk> disk_;  // after the step of the last states_after()
};

}  // namespace logjam
