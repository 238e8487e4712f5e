#include "platform/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace logjam::platform {
namespace {

// Makes a system call until no signal interrupts it. Returns what it returns, or -errno.
template <class Call>
int64_t call_again(Call call) {
  for (;;) {
    const int64_t result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

// Returns 0 or the errno of a system call that returned `result`.
int error_of(int result) { return result == 0 ? 0 : errno; }

class SystemFiles final : public Files {
 public:
  int open(const std::string& path, int flags, int mode) override {
    return static_cast<int>(
        call_again([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
  }

  // Calls close() once: one that a signal interrupts has closed the file on Linux.
  void close(int file) override { ::close(file); }

  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    return call_again(
        [&] { return pread(file, into.data(), into.size(), static_cast<off_t>(offset)); });
  }

  // Bypasses pwrite(), for which ThreadSanitizer would report a race: workers may fill the part of
  // a log's last block after the watermark while the block is written. That is harmless, because
  // the block is written again.
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    if (!synced) {
      return call_again(
          [&] { return syscall(SYS_pwrite64, file, bytes.data(), bytes.size(), offset); });
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return call_again(
        [&] { return syscall(SYS_pwritev2, file, &vector, 1, offset, 0, RWF_DSYNC); });
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
    struct stat found;
    if (stat(path.c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    if (S_ISREG(found.st_mode)) {
      *status = {FileKind::kFile, static_cast<uint64_t>(found.st_size)};
    } else {
      status->kind = S_ISDIR(found.st_mode) ? FileKind::kDirectory : FileKind::kOther;
    }
    return 0;
  }

  int list(const std::string& directory, std::vector<std::string>* names) override {
    names->clear();
    DIR* const open_directory = opendir(directory.c_str());
    if (open_directory == nullptr) return errno;
    for (;;) {
      errno = 0;  // readdir() leaves it alone at the end
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
    return error_of(::rename(from.c_str(), to.c_str()));
  }

  int remove(const std::string& path) override { return error_of(unlink(path.c_str())); }

  int make_directory(const std::string& path) override {
    return error_of(mkdir(path.c_str(), 0755));
  }

  int remove_directory(const std::string& path) override { return error_of(rmdir(path.c_str())); }

 private:
  template <class Call>
  static int negated(Call call) {
    return static_cast<int>(-call_again(call));
  }
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

// Returns the directory that has the name `path`.
std::string parent_of(const std::string& path) {
  const auto without_slashes = [](std::string text) {
    text.resize(text.find_last_not_of('/') + 1);
    return text;
  };
  const std::string name = without_slashes(path);
  const size_t slash = name.rfind('/');
  if (slash == name.npos) return path.starts_with('/') ? "/" : ".";
  const std::string parent = without_slashes(name.substr(0, slash));
  return parent.empty() ? "/" : parent;
}

}  // namespace

Files& files() { return *files_in_place(); }

ReplaceFiles::ReplaceFiles(Files& by) : before_(files()) { files_in_place() = &by; }
ReplaceFiles::~ReplaceFiles() { files_in_place() = &before_; }

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
  return error == ENOENT || error == ENOTDIR ? 0 : error;
}

int64_t read_all(int file, uint64_t offset, std::span<std::byte> into) {
  uint64_t done = 0;
  while (done < into.size()) {
    const int64_t bytes = files().read(file, offset + done, into.subspan(done));
    if (bytes < 0) return bytes;
    if (bytes == 0) break;
    done += static_cast<uint64_t>(bytes);
  }
  return static_cast<int64_t>(done);
}

int write_all(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) {
  while (!bytes.empty()) {
    const int64_t written = files().write(file, offset, bytes, synced);
    if (written < 0) return static_cast<int>(-written);
    if (written == 0) return EIO;  // otherwise the loop would not end
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

int replace_file(const std::string& path, std::string_view text) {
  const std::string new_path = path + ".new";
  const int file = files().open(new_path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file < 0) return -file;
  int error = write_all(file, 0, std::as_bytes(std::span(text)));
  if (error == 0) error = files().sync(file);
  files().close(file);
  if (error == 0) error = files().rename(new_path, path);
  if (error != 0) {
    files().remove(new_path);  // it may be what fills the disk
    return error;
  }
  return sync_parent(path);
}

// Asks for no status, which would follow a link: to remove a directory as if it were a file fails,
// and says that it is one.
int remove_tree(const std::string& path) {
  int error = files().remove(path);
  if (error == ENOENT) return 0;
  if (error != EISDIR) return error;
  std::vector<std::string> names;
  if ((error = files().list(path, &names)) != 0) return error;
  for (const std::string& name : names) {
    if ((error = remove_tree(path + "/" + name)) != 0) return error;
  }
  return files().remove_directory(path);
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
    // Another process may have made it, or it is a link that leads nowhere.
    if (error != EEXIST) return error;
    if (const int again = files().status(path, &status); again != 0) return again;
    return status.kind == FileKind::kDirectory ? 0 : ENOTDIR;
  }
  if (made != nullptr) made->push_back(path);
  return sync_parent(path);
}

}  // namespace logjam::platform
