#include "platform/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/assert.h"
#include "platform/mutex.h"

namespace logjam::platform {
namespace {

// Repeats a system call that a signal interrupts. Returns the call's result, or -errno.
template <class Call>
int64_t call_again(Call call) {
  for (;;) {
    const int64_t result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

int error_of(int result) { return result == 0 ? 0 : errno; }

std::string without_slashes_at_end(std::string_view path) {
  return std::string(path.substr(0, path.find_last_not_of('/') + 1));
}

// The held directories. One mutex is enough: opening a file is rare, and no holder of mutex_ waits.
class HeldDirectories {
 public:
  void add(const std::string& path, int file) {
    const lock_guard<mutex> guard(mutex_);
    held_.push_back({without_slashes_at_end(path), file});
  }
  void remove(int file) {
    const lock_guard<mutex> guard(mutex_);
    std::erase_if(held_, [file](const Held& one) { return one.file == file; });
  }
  std::string name_of(int file) {
    const lock_guard<mutex> guard(mutex_);
    const auto found = std::ranges::find(held_, file, &Held::file);
    return found == held_.end() ? "" : found->path + "/";
  }
  // Finds the held directory with the longest name that contains `path`. Sets `rest` to the part of
  // `path` after this name, and `copy` to a descriptor of the directory, or -1 if there is none.
  // `itself`: whether a held directory's own name leads to this directory.
  int find(const std::string& path, bool itself, std::string_view* rest, int* copy) {
    *copy = -1;
    const lock_guard<mutex> guard(mutex_);
    const Held* best = nullptr;
    for (const Held& one : held_) {
      const bool inside = path.starts_with(one.path) &&
                          (path.size() == one.path.size() ? itself : path[one.path.size()] == '/');
      if (inside && (best == nullptr || best->path.size() < one.path.size())) best = &one;
    }
    if (best == nullptr) return 0;
    *rest = std::string_view(path).substr(best->path.size());
    *copy = fcntl(best->file, F_DUPFD_CLOEXEC, 0);  // another thread may close the original
    return *copy < 0 ? errno : 0;
  }

 private:
  struct Held {
    std::string path;
    int file;
  };
  mutex mutex_;
  std::vector<Held> held_ LJ_GUARDED_BY(mutex_);
};

// Where a path leads: to `name` in the open directory `directory`, for openat() and the like.
class Place {
 public:
  // `as_name`: the call changes the name itself. The name of a held directory lies in the parent
  // directory, so such a call looks it up there.
  Place(HeldDirectories& held, const std::string& path, bool as_name = false) : name_(path) {
    std::string_view rest;
    int copy = -1;
    error_ = held.find(path, !as_name, &rest, &copy);
    if (error_ != 0 || copy < 0) return;
    held_ = true;
    directory_ = copy;
    name_ = ".";
    // Opens one directory after the other, because O_NOFOLLOW concerns only a path's last part.
    while (error_ == 0) {
      rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
      const std::string_view part = rest.substr(0, rest.find('/'));
      rest.remove_prefix(part.size());
      if (part == "..") error_ = EXDEV;
      if (part.empty() || error_ != 0) return;
      if (name_ != ".") enter();
      name_ = part;
    }
  }
  ~Place() {
    if (held_) ::close(directory_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  int error() const { return error_; }
  int directory() const { return directory_; }
  const char* name() const { return name_.c_str(); }
  bool held() const { return held_; }
  // Returns the flags with which open() follows no link in a held directory.
  int open_flags() const { return O_CLOEXEC | (held_ ? O_NOFOLLOW : 0); }
  int status(struct stat* found) const {
    return error_of(fstatat(directory_, name(), found, held_ ? AT_SYMLINK_NOFOLLOW : 0));
  }

 private:
  void enter() {
    const int next = openat(directory_, name(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    error_ = next < 0 ? errno : 0;
    if (next < 0) return;
    ::close(directory_);
    directory_ = next;
  }

  int directory_ = AT_FDCWD;
  std::string name_;
  bool held_ = false;
  int error_ = 0;
};

class SystemFiles final : public Files {
 public:
  int open(const std::string& path, int flags, int mode) override {
    const Place place(held_, path);
    if (place.error() != 0) return -place.error();
    // With O_NONBLOCK, opening a FIFO does not wait for a program at the FIFO's other end. The flag
    // is cleared later, because with the flag a write through io_uring would fail.
    const int all = flags | place.open_flags() | O_NONBLOCK | O_NOCTTY;
    const int file = static_cast<int>(
        call_again([&] { return openat(place.directory(), place.name(), all, mode); }));
    if (file < 0) return file;
    struct stat found;
    int error = error_of(fstat(file, &found));
    if (error == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) error = EBADFD;
    if (error == 0 && place.held() && (flags & O_ACCMODE) != O_RDONLY && found.st_nlink > 1) {
      error = EMLINK;
    }
    if (error == 0) error = error_of(fcntl(file, F_SETFL, flags & ~O_NONBLOCK));
    if (error == 0) return file;
    ::close(file);
    return -error;
  }

  int hold(const std::string& directory) override {
    const int file = open(directory, O_RDONLY | O_DIRECTORY, 0);
    if (file >= 0) held_.add(directory, file);
    return file;
  }

  bool still_there(int held) override {
    const std::string name = held_.name_of(held);
    struct stat now, then;
    return stat(name.c_str(), &now) == 0 && fstat(held, &then) == 0 && now.st_dev == then.st_dev &&
           now.st_ino == then.st_ino;
  }

  // Calls close() once: on Linux, a close() that a signal interrupts has closed the file.
  void close(int file) override {
    LJ_ASSERT(file >= 0);
    held_.remove(file);
    ::close(file);
  }

  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    return call_again(
        [&] { return pread(file, into.data(), into.size(), static_cast<off_t>(offset)); });
  }

  // Makes the system call itself, because ThreadSanitizer would report a race in pwrite(). During
  // the write, workers may fill the part of a log's last block after the watermark. A later write
  // writes this block again.
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    if (!synced) {
      return call_again(
          [&] { return syscall(SYS_pwrite64, file, bytes.data(), bytes.size(), offset); });
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return call_again(
        [&] { return syscall(SYS_pwritev2, file, &vector, 1, offset, 0, RWF_DSYNC); });
  }

  // Tries a synced write on a file in memory: the kernel knows the flag for all files or for none.
  int synced_write_error() override {
    const int file = memfd_create("logjam-try", MFD_CLOEXEC);
    if (file < 0) return 0;
    const int64_t written = write(file, 0, std::as_bytes(std::span("x", 1)), true);
    ::close(file);
    return written < 0 ? static_cast<int>(-written) : 0;
  }

  int resize(int file, uint64_t bytes) override {
    return negated([&] { return ftruncate(file, static_cast<off_t>(bytes)); });
  }

  int size(int file, uint64_t* bytes) override {
    struct stat status;
    if (fstat(file, &status) != 0) return errno;
    *bytes = static_cast<uint64_t>(status.st_size);
    return 0;
  }

  int sync(int file) override {
    return negated([&] { return fsync(file); });
  }

  int sync_data(int file) override {
    return negated([&] { return fdatasync(file); });
  }

  int allocate(int file, uint64_t bytes) override {
    return posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }
  int punch(int file, uint64_t begin, uint64_t bytes) override {
    return negated([&] {
      return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                       static_cast<off_t>(bytes));
    });
  }

  int lock(int file, bool alone, bool waits) override {
    const int operation = (alone ? LOCK_EX : LOCK_SH) | (waits ? 0 : LOCK_NB);
    return negated([&] { return flock(file, operation); });
  }
  int identity(int file, std::pair<uint64_t, uint64_t>* identity) override {
    struct stat found;
    if (fstat(file, &found) != 0) return errno;
    *identity = {found.st_dev, found.st_ino};
    return 0;
  }

  int status(const std::string& path, FileStatus* status) override {
    *status = {};
    const Place place(held_, path);
    struct stat found;
    const int error = place.error() != 0 ? place.error() : place.status(&found);
    if (error != 0) return error == ENOENT || error == ENOTDIR ? 0 : error;
    status->kind = S_ISREG(found.st_mode)   ? FileKind::kFile
                   : S_ISDIR(found.st_mode) ? FileKind::kDirectory
                                            : FileKind::kOther;
    if (status->kind == FileKind::kFile) {
      status->bytes = static_cast<uint64_t>(found.st_size);
      status->names = found.st_nlink;
    }
    return 0;
  }

  int list(const std::string& directory, std::vector<std::string>* names) override {
    names->clear();
    const Place place(held_, directory);
    if (place.error() != 0) return place.error();
    const int file =
        openat(place.directory(), place.name(), O_RDONLY | O_DIRECTORY | place.open_flags());
    if (file < 0) return errno;
    DIR* const open_directory = fdopendir(file);
    if (open_directory == nullptr) {
      const int error = errno;
      ::close(file);
      return error;
    }
    for (;;) {
      errno = 0;  // at the end of the directory readdir() does not change errno
      const dirent* const entry = readdir(open_directory);
      if (entry == nullptr) break;
      std::string name = entry->d_name;
      if (name != "." && name != "..") names->push_back(std::move(name));
    }
    const int error = errno;
    closedir(open_directory);
    if (error != 0) names->clear();
    std::sort(names->begin(), names->end());
    return error;
  }

  int rename(const std::string& from, const std::string& to) override {
    const Place old_place(held_, from, true), new_place(held_, to, true);
    if (old_place.error() != 0) return old_place.error();
    if (new_place.error() != 0) return new_place.error();
    return error_of(
        renameat(old_place.directory(), old_place.name(), new_place.directory(), new_place.name()));
  }

  int remove(const std::string& path) override {
    return at(path,
              [](const Place& place) { return unlinkat(place.directory(), place.name(), 0); });
  }

  int make_directory(const std::string& path) override {
    return at(path,
              [](const Place& place) { return mkdirat(place.directory(), place.name(), 0755); });
  }

  int remove_directory(const std::string& path) override {
    return at(path, [](const Place& place) {
      return unlinkat(place.directory(), place.name(), AT_REMOVEDIR);
    });
  }

 private:
  template <class Call>
  static int negated(Call call) {
    return static_cast<int>(-call_again(call));
  }

  // Makes a call of the kernel that changes the name `path`. Returns 0 or errno.
  template <class Call>
  int at(const std::string& path, Call call) {
    const Place place(held_, path, true);
    return place.error() != 0 ? place.error() : error_of(call(place));
  }

  HeldDirectories held_;
};

// Returns an object that is never destroyed: a thread may close a file while the process ends.
Files& system_files() {
  static Files& files = *new SystemFiles;
  return files;
}

Files*& files_in_place() {
  static Files* in_place = &system_files();
  return in_place;
}

std::string parent_of(const std::string& path) {
  const std::string name = without_slashes_at_end(path);
  const size_t slash = name.rfind('/');
  if (slash == name.npos) return path.starts_with('/') ? "/" : ".";
  const std::string parent = without_slashes_at_end(name.substr(0, slash));
  return parent.empty() ? "/" : parent;
}

}  // namespace

Files& files() { return *files_in_place(); }

ReplaceFiles::ReplaceFiles(Files& by) : before_(files()), by_(by) { files_in_place() = &by; }
ReplaceFiles::~ReplaceFiles() {
  LJ_ASSERT(&files() == &by_);
  files_in_place() = &before_;
}

HeldDirectory::HeldDirectory(std::string path)
    : path_(std::move(path)), file_(files().hold(path_)) {}
HeldDirectory::HeldDirectory(HeldDirectory&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -EBADF)) {}
HeldDirectory::~HeldDirectory() {
  if (file_ >= 0) files().close(file_);
}

std::string error_text(int error) {
  if (error == ELOOP) return "it is a symbolic link, which may lead out of the directory";
  if (error == EMLINK) return "it has another name (a hard link), whose bytes would change, too";
  if (error == EBADFD) return "it is neither a regular file nor a directory";
  return strerror(error);
}

int read_file(const std::string& path, std::string* text, uint64_t most_bytes) {
  text->clear();
  const int file = files().open(path, O_RDONLY);
  if (file < 0) return -file;
  int64_t bytes = 0;
  do {
    std::byte piece[16384];
    bytes = files().read(file, text->size(), piece);
    if (bytes > 0) {
      text->append(reinterpret_cast<const char*>(piece), static_cast<size_t>(bytes));
    }
  } while (bytes > 0 && text->size() <= most_bytes);
  files().close(file);
  const int error = bytes < 0 ? static_cast<int>(-bytes) : text->size() > most_bytes ? EFBIG : 0;
  if (error != 0) text->clear();
  return error;
}

int names_in(const std::string& directory, std::vector<std::string>* names) {
  const int error = files().list(directory, names);
  LJ_ASSERT(error == 0 ? std::ranges::is_sorted(*names) : names->empty());
  return error == ENOENT || error == ENOTDIR ? 0 : error;
}

int64_t read_all(int file, uint64_t offset, std::span<std::byte> into) {
  uint64_t done = 0;
  while (done < into.size()) {
    const int64_t bytes = files().read(file, offset + done, into.subspan(done));
    if (bytes < 0) return bytes;
    if (bytes == 0) break;
    LJ_ASSERT(static_cast<uint64_t>(bytes) <= into.size() - done);
    done += static_cast<uint64_t>(bytes);
  }
  return static_cast<int64_t>(done);
}

int write_all(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) {
  while (!bytes.empty()) {
    const int64_t written = files().write(file, offset, bytes, synced);
    if (written < 0) return static_cast<int>(-written);
    if (written == 0) return EIO;  // otherwise the loop would not end
    LJ_ASSERT(static_cast<uint64_t>(written) <= bytes.size());
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

int sync_directory(const std::string& path) {
  const int directory = files().open(path, O_RDONLY | O_DIRECTORY);
  if (directory < 0) return -directory;
  const int error = files().sync(directory);
  files().close(directory);
  return error;
}

int sync_parent(const std::string& path) { return sync_directory(parent_of(path)); }

int create_file(const std::string& path, int flags) {
  LJ_ASSERT((flags & O_ACCMODE) != O_RDONLY);
  const int error = files().remove(path);
  if (error != 0 && error != ENOENT) return -error;
  return files().open(path, flags | O_CREAT | O_EXCL);
}

int replace_file(const std::string& path, std::string_view text) {
  const std::string new_path = path + ".new";
  const int file = create_file(new_path);
  if (file < 0) return -file;
  int error = write_all(file, 0, std::as_bytes(std::span(text)));
  if (error == 0) error = files().sync(file);
  files().close(file);
  if (error == 0) error = files().rename(new_path, path);
  if (error != 0) {
    files().remove(new_path);  // this file may be what fills the disk
    return error;
  }
  return sync_parent(path);
}

int make_directories(const std::string& path, std::vector<std::string>* made) {
  FileStatus status;
  if (const int error = files().status(path, &status); error != 0) return error;
  if (status.kind == FileKind::kDirectory) return 0;
  if (status.kind != FileKind::kNone) return ENOTDIR;
  if (const std::string parent = parent_of(path); parent != path) {
    if (const int error = make_directories(parent, made); error != 0) return error;
  }
  if (const int error = files().make_directory(path); error != 0) {
    // Another process may have made the directory, or `path` is a link that leads nowhere.
    if (error != EEXIST) return error;
    if (const int again = files().status(path, &status); again != 0) return again;
    return status.kind == FileKind::kDirectory ? 0 : ENOTDIR;
  }
  if (made != nullptr) made->push_back(path);
  return sync_parent(path);
}

}  // namespace logjam::platform
