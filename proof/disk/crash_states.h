// The bytes of a file in memory, in sectors of 512 bytes that copies of the image share.
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

// One thread at a time may use an image. Copies may be used by different threads.
class FileImage {
 public:
  uint64_t bytes() const { return bytes_; }
  // Returns how many sectors the file has, the last of which may be incomplete.
  uint64_t sectors() const { return (bytes_ + kSectorBytes - 1) / kSectorBytes; }

  SectorPointer sector(uint64_t index) const;
  void set_sector(uint64_t index, SectorPointer sector);
  // Makes the file shorter or longer. The sectors after its end become zeros; so does the rest of
  // its last sector.
  void resize(uint64_t bytes);
  // Returns the indices of all sectors from `first` on that are not zeros, in ascending order.
  std::vector<uint64_t> filled_from(uint64_t first) const;

 private:
  using Sectors = std::map<uint64_t, SectorPointer>;

  uint64_t bytes_ = 0;
  std::shared_ptr<const Sectors> shared_ = std::make_shared<Sectors>();  // never changed
  Sectors changed_;  // sectors that differ from `shared_`
};

// Changes the bits of `mask` in the byte at `at`, which is before the end.
void change_byte(FileImage* image, uint64_t at, std::byte mask);
// Returns null if the sector is zeros, otherwise a copy.
SectorPointer share(const Sector& sector);
bool same_bytes(const SectorPointer& one, const SectorPointer& other);
// Returns the sector with zeros from byte `bytes` on.
SectorPointer cut_sector(const SectorPointer& sector, uint64_t bytes);

// The states in which a crash may leave a disk, given what a program did to its file system.
//
// The model is that of ALICE (Pillai et al., OSDI 2014) with the guarantees of POSIX and no more:
// - What a sync covers is there. `sync` and `sync_data` of a file cover its bytes and its length;
// - Of a sector, any state since its last sync may be there, whatever the others are: so any subset
// - Any length of the file since its last sync may be there. Bytes within it that did not persist
// - Of the changes of a directory's names since its last sync any subset persists, except that the
// - A file's sync does not make its name durable.
// Real file systems give more. What is correct here is correct on them too. CrashMonkey (Mohan et
// al., OSDI 2018) tests file systems in the same way: it records once, and makes crash states from
// the record.

// The content of a disk. Paths have the form "a/b".
struct CrashState {
  std::set<std::string> directories;  // without the root
  std::map<std::string, FileImage> files;
  std::vector<uint64_t> marks;  // those that the program had reached, in their order
  std::string what;             // the step at which it was cut, and what persisted, for messages
};

inline constexpr uint64_t kRootInode = 1;

// One step of a program: a change of the file system, a sync, or a mark.
struct FileStep {
  enum class Kind : uint8_t { kMark, kNames, kBytes, kSyncBytes, kSync };
  // Lets a name of a directory lead to `inode`, or to nothing if that is 0.
  struct Name {
    uint64_t directory;
    std::string name;
    uint64_t inode;
  };

  Kind kind = Kind::kMark;
  std::string what;     // for messages
  uint64_t number = 0;  // kMark
  // kNames: what changes in one step.
  std::vector<Name> names;
  bool makes_directory = false;
  // kBytes: of file `inode`, its length after the step and, unless that is shorter, the sectors
  // that the step changed.
  uint64_t inode = 0;  // also of the syncs; of kSync, a file or a directory
  std::vector<std::pair<uint64_t, SectorPointer>> sectors;
  uint64_t bytes = 0;
  // kSyncBytes: a range of bytes.
  uint64_t begin = 0, end = 0;
};

// A disk on which steps are taken: what of it is durable, and what may be. One thread at a time may
// use it.
class CrashDisk {
 public:
  // Begins with a disk on which all of `content` is durable. Its directories and files get the
  // inodes from kRootInode + 1 on: first the directories, then the files, in the order of
  // `content`.
  explicit CrashDisk(const CrashState& content);

  // Takes the next step.
  void take(const FileStep& step);
  size_t steps() const { return steps_; }

  // Returns the states in which a crash now may leave the disk: all, if they are at most `most`;
  // otherwise `most` of them, which `seed` chooses. Among those are the state in which nothing that
  // is not synced persists and the one in which all does. `most` is at least 2.
  std::vector<CrashState> states(size_t most, uint64_t seed) const;

 private:
  // Chooses one of the changes that may be the last that persisted, by their steps in ascending
  // order. The first stands for none of them. Returns its index.
  using Choose = std::function<size_t(std::span<const size_t> steps)>;

  struct SectorVersion {
    size_t step;
    SectorPointer sector;
    bool cut;  // the file was cut there
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
  Names names_;                      // that are durable; every directory has an entry
  std::vector<NameChange> changes_;  // of names, that are not durable, oldest first
};

}  // namespace logjam
