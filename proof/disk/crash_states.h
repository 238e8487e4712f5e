// The states in which a crash may leave a disk, given what a program did to its file system.
//
// The model is that of ALICE (Pillai et al., OSDI 2014) with the guarantees of POSIX and no more:
// - A sync makes what it covers durable. `sync` and `sync_data` of a file cover its bytes and its
//   length; `sync` of a directory covers its names. A synced write covers its sectors, and the
//   length if the file was shorter before.
// - A sector may be in any state that it has had since its last sync, whatever the states of other
//   sectors. So any subset of the unsynced writes may persist, and each write may be torn at a
//   multiple of 512 bytes.
// - The file may have any length that it has had since its last sync. Bytes within this length that
//   did not persist have their old values, or are zeros. Bytes that a cut has removed come back
//   only if the cut itself did not persist.
// - Any subset of a directory's name changes since its last sync may persist, except that the
//   changes of one name persist in order. A rename changes both names in one step.
// - A file's sync does not make its name durable.
// Real file systems guarantee more, so a program that is correct here is correct on them too.
// CrashMonkey (Mohan et al., OSDI 2018) tests file systems in the same way: it records once, and
// makes crash states from the record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace logjam {

inline constexpr uint64_t kSectorBytes = 512;
using Sector = std::array<std::byte, kSectorBytes>;
using SectorPointer = std::shared_ptr<const Sector>;  // null: zeros

// The bytes of a file in memory. Copies of an image share its sectors. One thread at a time may use
// an image; different threads may use different copies.
class FileImage {
 public:
  uint64_t bytes() const { return bytes_; }
  uint64_t sectors() const { return (bytes_ + kSectorBytes - 1) / kSectorBytes; }

  SectorPointer sector(uint64_t index) const;
  void set_sector(uint64_t index, SectorPointer sector);
  // Makes the file shorter or longer. All bytes after its end become zeros.
  void resize(uint64_t bytes);
  // Returns the indices, in ascending order, of the sectors from `first` on that are not zeros.
  std::vector<uint64_t> filled_from(uint64_t first) const;

 private:
  using Sectors = std::map<uint64_t, SectorPointer>;

  uint64_t bytes_ = 0;
  std::shared_ptr<const Sectors> shared_ = std::make_shared<Sectors>();  // never changed
  Sectors changed_;  // sectors that differ from `shared_`
};

FileImage image_of(std::span<const std::byte> bytes);
// Changes the bits of `mask` in the byte at `at`.
void change_byte(FileImage* image, uint64_t at, std::byte mask);
// Returns null if the sector is zeros, otherwise a copy.
SectorPointer share(const Sector& sector);
bool same_bytes(const SectorPointer& one, const SectorPointer& other);
// Returns the sector with zeros from byte `bytes` on.
SectorPointer cut_sector(const SectorPointer& sector, uint64_t bytes);

// The content of a disk. Paths have the form "a/b".
struct CrashState {
  std::set<std::string> directories;  // without the root
  std::map<std::string, FileImage> files;
  std::vector<uint64_t> marks;  // the marks that the program had reached, in their order
  std::string what;  // for messages: the last step before the crash, and which steps persisted
};

inline constexpr uint64_t kRootInode = 1;

// One step of a program: a change of the file system, a sync, or a mark.
struct FileStep {
  enum class Kind : uint8_t { kMark, kNames, kBytes, kSyncBytes, kSync };
  // Makes a name of a directory lead to `inode`, or to nothing if `inode` is 0.
  struct Name {
    uint64_t directory;
    std::string name;
    uint64_t inode;
  };

  Kind kind = Kind::kMark;
  std::string what;     // for messages
  uint64_t number = 0;  // kMark
  // kNames: the names that change in one step. `makes_directory`: the last name is a new directory.
  std::vector<Name> names;
  bool makes_directory = false;
  uint64_t inode = 0;  // kBytes, kSyncBytes: the file; kSync: the file or directory
  // kBytes: the length of the file after the step, and the sectors that the step changed.
  std::vector<std::pair<uint64_t, SectorPointer>> sectors;
  uint64_t bytes = 0;
  // kSyncBytes: the range of bytes that is durable after the step.
  uint64_t begin = 0, end = 0;
};

// A disk on which a program takes steps. The disk knows which changes are durable, and which other
// changes may survive a crash. One thread at a time may use the disk.
class CrashDisk {
 public:
  // Makes a disk on which all of `content` is durable. Its directories and files get the inodes
  // from kRootInode + 1 on: first the directories, then the files, in the order of `content`.
  explicit CrashDisk(const CrashState& content);

  void take(const FileStep& step);
  size_t steps() const { return steps_; }

  // Returns the states in which a crash now may leave the disk: all states if there are at most
  // `most`, otherwise `most` states that `seed` chooses. The chosen states include the one in which
  // no unsynced change persists and the one in which all unsynced changes persist.
  std::vector<CrashState> states(size_t most, uint64_t seed) const;
  CrashState all_persisted() const {
    return state([](std::span<const size_t> steps) { return steps.size() - 1; });
  }

 private:
  // Chooses the last change that persisted, among the changes of one sector, length or name.
  // `steps` has a 0, which stands for no change, and then the steps of the changes, ascending.
  // Returns an index into `steps`.
  using Choose = std::function<size_t(std::span<const size_t> steps)>;

  struct SectorVersion {
    size_t step;
    SectorPointer sector;
    bool cut;  // the step made the file end in or before this sector
  };
  struct File {
    FileImage durable;
    std::map<uint64_t, std::vector<SectorVersion>> sectors;  // since their sync, oldest first
    std::vector<std::pair<size_t, uint64_t>> lengths;        // since their sync, with their steps
    uint64_t bytes() const { return lengths.empty() ? durable.bytes() : lengths.back().second; }
  };
  struct NameChange {
    size_t step;
    std::vector<FileStep::Name> names;
  };
  using Names = std::map<uint64_t, std::map<std::string, uint64_t>>;  // by directory

  static void apply(const NameChange& change, Names* names);
  static void commit_lengths(File* file);
  static FileImage persisted(const File& file, const Choose& choose);
  void change_bytes(const FileStep& step);
  void cut(File* file) const;
  void sync_bytes(const FileStep& step);
  void sync(uint64_t inode);
  CrashState state(const Choose& choose) const;
  void add_directory(uint64_t inode, const std::string& path, const Names& names,
                     const Choose& choose, CrashState* state) const;

  size_t steps_ = 0;
  std::string last_what_ = "the beginning";
  std::vector<uint64_t> marks_;
  std::map<uint64_t, File> files_;
  Names names_;                      // the durable names; every directory has an entry
  std::vector<NameChange> changes_;  // the changes of names that are not durable, oldest first
};

}  // namespace logjam
