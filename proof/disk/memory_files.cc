#include "proof/disk/memory_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>

namespace logjam {
namespace {

constexpr int kFirstFile = 1 << 30;  // no descriptor of the kernel is so large

// Copies bytes that other threads may be changing, as the kernel does. ThreadSanitizer must not see
// the copy, which is harmless (platform/files.cc says why).
__attribute__((no_sanitize("thread"))) void copy_unseen(std::byte* to, const std::byte* from,
                                                        uint64_t bytes) {
  uint64_t at = 0;
  for (; at + 8 <= bytes; at += 8) __builtin_memcpy(to + at, from + at, 8);
  for (; at < bytes; ++at) to[at] = from[at];
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    LJ_ASSERT(part != "..");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

bool is_below(const std::string& path, const std::string& directory) {
  const std::vector<std::string> inner = parts_of(path), outer = parts_of(directory);
  return inner.size() > outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

std::string range(uint64_t begin, uint64_t end) {
  return " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

}  // namespace

struct MemoryFiles::Node {
  uint64_t inode;
  bool is_directory;
  FileImage image;
  std::set<uint64_t> punched;  // sectors without space
  std::map<std::string, NodePointer> names;

  uint64_t used() const { return (image.sectors() - punched.size()) * kSectorBytes; }
};

MemoryFiles::MemoryFiles(const CrashState& content) : content_(content), root_(make_node(true)) {
  const auto add = [this](const std::string& path, bool is_directory) LJ_REQUIRES(mutex_) {
    Entry entry;
    const int error = find(path, &entry);
    LJ_ASSERT(error == 0 && entry.directory != nullptr && entry.node == nullptr);
    return entry.directory->names[entry.name] = make_node(is_directory);
  };
  for (const std::string& path : content.directories) add(path, true);
  for (const auto& [path, image] : content.files) {
    const NodePointer node = add(path, false);
    node->image = image;
    used_ += node->used();
  }
}

MemoryFiles::NodePointer MemoryFiles::make_node(bool is_directory) {
  return NodePointer(new Node{next_inode_++, is_directory, {}, {}, {}},
                     [this](Node* node) LJ_REQUIRES(mutex_) {
                       LJ_ASSERT(used_ >= node->used());
                       used_ -= node->used();
                       delete node;
                     });
}

// Finds the directory that has, or would have, the last name of `path`. The root's name is empty.
int MemoryFiles::find(const std::string& path, Entry* entry) const {
  *entry = {nullptr, "", root_};
  for (std::string& part : parts_of(path)) {
    if (entry->node == nullptr) return ENOENT;
    if (!entry->node->is_directory) return ENOTDIR;
    entry->directory = entry->node;
    entry->name = std::move(part);
    const auto at = entry->directory->names.find(entry->name);
    entry->node = at == entry->directory->names.end() ? nullptr : at->second;
  }
  const bool must_be_directory = path.ends_with('/');
  return must_be_directory && entry->node != nullptr && !entry->node->is_directory ? ENOTDIR : 0;
}

int MemoryFiles::failure(const std::string& path, FileCall call) {
  for (Failure& failure : failures_) {
    if (failure.call != call || path.find(failure.path) == path.npos) continue;
    if (failure.after == 0) return failure.error;
    --failure.after;
  }
  return 0;
}

// Finds an open file. Returns 0 or an errno, which may be one that fail() has set.
int MemoryFiles::open_file(int file, FileCall call, bool writes, Open** open) {
  const auto at = open_.find(file);
  if (at == open_.end()) return EBADF;
  *open = &at->second;
  const int access = at->second.flags & O_ACCMODE;
  const bool reads = call == FileCall::kRead;
  if ((writes && access == O_RDONLY) || (reads && access == O_WRONLY)) return EBADF;
  if ((writes || reads) && at->second.node->is_directory) return EISDIR;
  return failure(at->second.path, call);
}

int MemoryFiles::open(const std::string& path, int flags, int) {
  const Call step(*this);
  LJ_ASSERT((flags & O_APPEND) == 0);
  if (const int error = failure(path, FileCall::kOpen); error != 0) return -error;
  Entry entry;
  if (const int error = find(path, &entry); error != 0) return -error;
  const bool creates = (flags & O_CREAT) != 0;
  if (entry.node == nullptr) {
    if (!creates) return -ENOENT;
    if (path.ends_with('/')) return -EISDIR;
    entry.node = entry.directory->names[entry.name] = make_node(false);
    change_names({{entry.directory->inode, entry.name, entry.node->inode}}, false,
                 "create " + path);
  } else {
    if (creates && (flags & O_EXCL) != 0) return -EEXIST;
    if (entry.node->is_directory && (creates || (flags & O_ACCMODE) != O_RDONLY)) return -EISDIR;
    if (!entry.node->is_directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  }
  const Open opened{entry.node, path, flags};
  if ((flags & O_TRUNC) != 0 && !entry.node->is_directory) resize_node(opened, 0);
  int file = kFirstFile;
  while (open_.contains(file)) ++file;
  open_.emplace(file, opened);
  return file;
}

void MemoryFiles::close(int file) {
  const Call step(*this);
  LJ_ASSERT(open_.contains(file));
  open_.erase(file);
}

int64_t MemoryFiles::read(int file, uint64_t offset, std::span<std::byte> into) {
  platform::note_transfer(into.data(), into.size(), true);
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kRead, false, &open); error != 0) return -error;
  const FileImage& image = open->node->image;
  if (offset >= image.bytes()) return 0;
  const uint64_t bytes = std::min<uint64_t>(into.size(), image.bytes() - offset);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t within = (offset + done) % kSectorBytes;
    const uint64_t piece = std::min(bytes - done, kSectorBytes - within);
    const SectorPointer sector = image.sector((offset + done) / kSectorBytes);
    if (sector == nullptr) {
      std::fill_n(into.data() + done, piece, std::byte{0});
    } else {
      std::copy_n(sector->data() + within, piece, into.data() + done);
    }
    done += piece;
  }
  return static_cast<int64_t>(bytes);
}

int64_t MemoryFiles::write(int file, uint64_t offset, std::span<const std::byte> bytes,
                           bool synced) {
  platform::note_transfer(bytes.data(), bytes.size(), false);
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kWrite, true, &open); error != 0) return -error;
  LJ_ASSERT(offset + bytes.size() >= offset);
  if (bytes.empty()) return 0;
  Node& node = *open->node;
  std::vector<std::pair<uint64_t, SectorPointer>> changed;
  uint64_t done = 0;
  while (done < bytes.size()) {
    const uint64_t at = offset + done, index = at / kSectorBytes, within = at % kSectorBytes;
    const uint64_t piece = std::min(bytes.size() - done, kSectorBytes - within);
    const uint64_t sectors = std::max(node.image.sectors(), index + 1);
    const uint64_t more =
        (sectors - node.image.sectors() + node.punched.count(index)) * kSectorBytes;
    if (more != 0 && used_ + more > limit_) break;
    used_ += more;
    node.punched.erase(index);
    node.image.resize(std::max(node.image.bytes(), at + piece));
    const SectorPointer before = node.image.sector(index);
    Sector sector = before == nullptr ? Sector{} : *before;
    copy_unseen(sector.data() + within, bytes.data() + done, piece);
    const SectorPointer after = share(sector);
    if (!same_bytes(before, after)) {
      node.image.set_sector(index, after);
      changed.emplace_back(index, after);
    }
    done += piece;
  }
  if (done == 0) return -ENOSPC;
  const std::string what = open->path + range(offset, offset + done);
  change_bytes(node, std::move(changed), "write " + what);
  if (synced) {
    FileStep& step = add_step(FileStep::Kind::kSyncBytes, "sync " + what);
    step.inode = node.inode;
    step.begin = offset;
    step.end = offset + done;
  }
  return static_cast<int64_t>(done);
}

int MemoryFiles::resize_node(const Open& open, uint64_t bytes) {
  Node& node = *open.node;
  if (bytes == node.image.bytes()) return 0;
  const uint64_t sectors = (bytes + kSectorBytes - 1) / kSectorBytes;
  if (sectors > node.image.sectors() &&
      used_ + (sectors - node.image.sectors()) * kSectorBytes > limit_) {
    return ENOSPC;
  }
  used_ -= node.used();
  node.image.resize(bytes);
  node.punched.erase(node.punched.lower_bound(sectors), node.punched.end());
  used_ += node.used();
  change_bytes(node, {}, "resize " + open.path + " to " + std::to_string(bytes));
  return 0;
}

int MemoryFiles::resize(int file, uint64_t bytes) {
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kResize, true, &open); error != 0) {
    return open != nullptr && (error == EBADF || error == EISDIR) ? EINVAL : error;
  }
  return resize_node(*open, bytes);
}

std::string MemoryFiles::path_of(int file) const {
  const platform::lock_guard<platform::OsMutex> guard(mutex_);
  const auto found = open_.find(file);
  return found == open_.end() ? "" : found->second.path;
}

int MemoryFiles::allocate(int file, uint64_t bytes) {
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kResize, true, &open); error != 0) return error;
  Node& node = *open->node;
  if (bytes > node.image.bytes()) {
    if (const int error = resize_node(*open, bytes); error != 0) return error;
  }
  const auto first = node.punched.begin(),
             last = node.punched.lower_bound((bytes + kSectorBytes - 1) / kSectorBytes);
  const auto holes = static_cast<uint64_t>(std::distance(first, last)) * kSectorBytes;
  if (used_ + holes > limit_) return ENOSPC;
  node.punched.erase(first, last);
  used_ += holes;
  return 0;
}

int MemoryFiles::size(int file, uint64_t* bytes) {
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kSize, false, &open); error != 0) return error;
  *bytes = open->node->image.bytes();
  return 0;
}

int MemoryFiles::sync_node(int file, const char* what) {
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kSync, false, &open); error != 0) return error;
  add_step(FileStep::Kind::kSync, what + open->path).inode = open->node->inode;
  return 0;
}

int MemoryFiles::sync(int file) { return sync_node(file, "sync "); }
int MemoryFiles::sync_data(int file) { return sync_node(file, "sync the data of "); }

int MemoryFiles::punch(int file, uint64_t begin, uint64_t bytes) {
  const Call step(*this);
  Open* open = nullptr;
  if (const int error = open_file(file, FileCall::kPunch, true, &open); error != 0) return error;
  if (bytes == 0) return EINVAL;
  Node& node = *open->node;
  std::vector<std::pair<uint64_t, SectorPointer>> changed;
  const uint64_t end = std::min(begin + bytes, node.image.sectors() * kSectorBytes);
  for (uint64_t at = begin; at < end;) {
    const uint64_t index = at / kSectorBytes, within = at % kSectorBytes;
    const uint64_t piece = std::min(end - at, kSectorBytes - within);
    if (piece == kSectorBytes && node.punched.insert(index).second) used_ -= kSectorBytes;
    if (const SectorPointer before = node.image.sector(index); before != nullptr) {
      Sector sector = *before;
      std::fill_n(sector.data() + within, piece, std::byte{0});
      if (SectorPointer after = share(sector); !same_bytes(before, after)) {
        node.image.set_sector(index, after);
        changed.emplace_back(index, std::move(after));
      }
    }
    at += piece;
  }
  change_bytes(node, std::move(changed), "punch " + open->path + range(begin, begin + bytes));
  return 0;
}

int MemoryFiles::identity(int file, std::pair<uint64_t, uint64_t>* identity) {
  const Call step(*this);
  LJ_ASSERT(open_.contains(file));
  *identity = {0, open_.at(file).node->inode};
  return 0;
}

int MemoryFiles::status(const std::string& path, platform::FileStatus* status) {
  const Call step(*this);
  *status = {};
  if (const int error = failure(path, FileCall::kStatus); error != 0) return error;
  Entry entry;
  if (find(path, &entry) != 0 || entry.node == nullptr) return 0;
  if (entry.node->is_directory) {
    status->kind = platform::FileKind::kDirectory;
  } else {
    *status = {platform::FileKind::kFile, entry.node->image.bytes()};
  }
  return 0;
}

int MemoryFiles::list(const std::string& directory, std::vector<std::string>* names) {
  const Call step(*this);
  names->clear();
  if (const int error = failure(directory, FileCall::kList); error != 0) return error;
  Entry entry;
  if (const int error = find(directory, &entry); error != 0) return error;
  if (entry.node == nullptr) return ENOENT;
  if (!entry.node->is_directory) return ENOTDIR;
  for (const auto& [name, node] : entry.node->names) names->push_back(name);
  return 0;
}

int MemoryFiles::rename(const std::string& from, const std::string& to) {
  const Call step(*this);
  for (const std::string& path : {from, to}) {
    if (const int error = failure(path, FileCall::kRename); error != 0) return error;
  }
  Entry source, target;
  if (const int error = find(from, &source); error != 0) return error;
  if (const int error = find(to, &target); error != 0) return error;
  if (source.node == nullptr) return ENOENT;
  if (source.node == root_ || target.node == root_) return EBUSY;
  if (source.node == target.node) return 0;
  if (is_below(to, from)) return EINVAL;
  if (is_below(from, to)) return ENOTEMPTY;
  const bool replaces = target.node != nullptr;
  if (source.node->is_directory) {
    if (replaces && !target.node->is_directory) return ENOTDIR;
    if (replaces && !target.node->names.empty()) return ENOTEMPTY;
  } else {
    if (to.ends_with('/')) return ENOTDIR;
    if (replaces && target.node->is_directory) return EISDIR;
  }
  source.directory->names.erase(source.name);
  target.directory->names[target.name] = source.node;
  change_names({{source.directory->inode, source.name, 0},
                {target.directory->inode, target.name, source.node->inode}},
               false, "rename " + from + " to " + to);
  return 0;
}

int MemoryFiles::remove_node(const std::string& path, bool is_directory) {
  const Call step(*this);
  const FileCall call = is_directory ? FileCall::kRemoveDirectory : FileCall::kRemove;
  if (const int error = failure(path, call); error != 0) return error;
  Entry entry;
  if (const int error = find(path, &entry); error != 0) return error;
  if (entry.node == nullptr) return ENOENT;
  if (entry.node->is_directory != is_directory) return is_directory ? ENOTDIR : EISDIR;
  if (entry.node == root_) return EBUSY;
  if (!entry.node->names.empty()) return ENOTEMPTY;
  entry.directory->names.erase(entry.name);
  change_names({{entry.directory->inode, entry.name, 0}}, false, "remove " + path);
  return 0;
}

int MemoryFiles::remove(const std::string& path) { return remove_node(path, false); }
int MemoryFiles::remove_directory(const std::string& path) { return remove_node(path, true); }

int MemoryFiles::make_directory(const std::string& path) {
  const Call step(*this);
  if (const int error = failure(path, FileCall::kMakeDirectory); error != 0) return error;
  Entry entry;
  if (const int error = find(path, &entry); error != 0) return error;
  if (entry.node != nullptr) return EEXIST;
  entry.node = entry.directory->names[entry.name] = make_node(true);
  change_names({{entry.directory->inode, entry.name, entry.node->inode}}, true,
               "make directory " + path);
  return 0;
}

void MemoryFiles::change_bytes(const Node& node,
                               std::vector<std::pair<uint64_t, SectorPointer>> sectors,
                               std::string what) {
  FileStep& step = add_step(FileStep::Kind::kBytes, std::move(what));
  step.inode = node.inode;
  step.sectors = std::move(sectors);
  step.bytes = node.image.bytes();
}

CrashState MemoryFiles::now() const {
  const platform::lock_guard<platform::OsMutex> guard(mutex_);
  return disk_after(steps_.size()).all_persisted();
}

FileStep& MemoryFiles::add_step(FileStep::Kind kind, std::string what) {
  FileStep& step = steps_.emplace_back();
  step.kind = kind;
  step.what = std::move(what);
  return step;
}

void MemoryFiles::change_names(std::vector<FileStep::Name> names, bool makes_directory,
                               std::string what) {
  FileStep& step = add_step(FileStep::Kind::kNames, std::move(what));
  step.names = std::move(names);
  step.makes_directory = makes_directory;
}

void MemoryFiles::mark(uint64_t number) {
  const platform::lock_guard<platform::OsMutex> guard(mutex_);
  add_step(FileStep::Kind::kMark, "mark " + std::to_string(number)).number = number;
}

std::string MemoryFiles::step(size_t index) const {
  const platform::lock_guard<platform::OsMutex> guard(mutex_);
  LJ_ASSERT(index < steps_.size());
  return steps_[index].what;
}

std::vector<CrashState> MemoryFiles::states_after(size_t step, size_t most, uint64_t seed) const {
  const platform::lock_guard<platform::OsMutex> guard(mutex_);
  return disk_after(step).states(most, seed);
}

const CrashDisk& MemoryFiles::disk_after(size_t step) const {
  LJ_ASSERT(step <= steps_.size());
  if (disk_ == nullptr || disk_->steps() > step) disk_ = std::make_unique<CrashDisk>(content_);
  while (disk_->steps() < step) disk_->take(steps_[disk_->steps()]);
  return *disk_;
}

}  // namespace logjam
