// The seam between the engine and the file system. Every call that names, reads, writes or syncs a
// file of a log, a checkpoint or a history goes through one object of class Files. So a test can
// replace the disk by a disk that fails, fills up, or loses unsynced bytes at a crash.
//
// A function that returns an int returns 0 or the errno of the failure, unless its comment says
// otherwise. A call that a signal interrupts is repeated. A file's bytes and length are durable
// after a `sync` of the file. New, changed and removed names are durable after a `sync` of their
// directory.
//
// Other programs may write into a log's directories. They can destroy the log. But a call on a path
// in a held directory (`hold`) never reaches a file outside of this directory, and never blocks.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logjam::platform {

enum class FileKind : uint8_t { kNone, kFile, kDirectory, kOther };

struct FileStatus {
  FileKind kind = FileKind::kNone;
  uint64_t bytes = 0;  // a file's length
  uint64_t names = 1;  // how many names (hard links) the file has
};

// A file system. Any thread may call any function at any time.
class Files {
 public:
  virtual ~Files() = default;

  // Opens the file at `path` with the flags of open(2), and creates it with `mode` if the flags
  // have O_CREAT. With O_DIRECTORY it opens a directory, which can be synced. Child processes do
  // not inherit the file. Returns the open file, which is at least 0, or -errno. If `path` is
  // neither a regular file nor a directory, returns -EBADFD without waiting.
  virtual int open(const std::string& path, int flags, int mode = 0644) = 0;
  // Opens a directory and holds it until it is closed. While it is held, all functions look up
  // `directory`, and the paths below its name, from this open directory, even if the directory has
  // been moved. On such paths they follow no symbolic link (open: -ELOOP), and open no file for
  // writing that has another name, too (-EMLINK). Returns the same as `open`.
  virtual int hold(const std::string& directory) = 0;
  // Returns whether the name with which the directory was held still leads to it.
  virtual bool still_there(int held) = 0;
  // Closes what `open` returned. No other call may be using it.
  virtual void close(int file) = 0;

  // Reads up to `into.size()` bytes at `offset`. Returns the number of bytes read, or -errno. 0
  // bytes mean that the file ends at `offset` or before. A smaller number than asked for does not
  // mean that the file ends there.
  virtual int64_t read(int file, uint64_t offset, std::span<std::byte> into) = 0;
  // Writes up to `bytes.size()` bytes at `offset`, which may be past the file's end. Returns the
  // number of bytes written, or -errno. If `synced`, these bytes, and the length that they need,
  // are durable on return; a device that can write through its cache gets only one request for
  // this. The bytes may change during the call. The file then has each byte's earlier or later
  // value.
  virtual int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes,
                        bool synced) = 0;
  // Returns the errno with which the system refuses every synced write, or 0.
  virtual int synced_write_error() { return 0; }
  // Cuts the file to `bytes`, or extends it with zeros.
  virtual int resize(int file, uint64_t bytes) = 0;
  virtual int size(int file, uint64_t* bytes) = 0;
  // Makes a file's bytes and length durable, or the names in a directory.
  virtual int sync(int file) = 0;
  // Makes the file's bytes durable, and its length if they need it.
  virtual int sync_data(int file) = 0;
  // Gives the file disk space for its first `bytes` bytes, also for holes. A shorter file grows.
  virtual int allocate(int file, uint64_t bytes) = 0;
  // Frees the disk space of a range, which then reads as zeros. The file's length stays. Returns
  // EOPNOTSUPP if the file system cannot.
  virtual int punch(int file, uint64_t begin, uint64_t bytes) = 0;

  // Takes the lock of an open file or directory, alone or shared. If another open file has the
  // lock, waits, or returns EWOULDBLOCK. The lock is released when the last reference to the open
  // file is gone: the descriptor, or a write through io_uring that a killed process left under way.
  virtual int lock(int file, bool alone, bool waits) = 0;
  // Sets `identity` to the device and the inode.
  virtual int identity(int file, std::pair<uint64_t, uint64_t>* identity) = 0;

  // Sets `status` to the kind of file at `path`, or at the end of the symbolic links there; a link
  // in a held directory is kOther. If there is no file, sets kNone and returns 0.
  virtual int status(const std::string& path, FileStatus* status) = 0;
  // Sets `names` to the names in the directory, sorted, without "." and "..". After an error, which
  // may come in the middle, `names` is empty.
  virtual int list(const std::string& directory, std::vector<std::string>* names) = 0;
  // Renames `from` to `to` in one step, and replaces `to` if it exists.
  virtual int rename(const std::string& from, const std::string& to) = 0;
  // Removes a file, or a symbolic link itself. Returns EISDIR if `path` is a directory.
  virtual int remove(const std::string& path) = 0;
  virtual int make_directory(const std::string& path) = 0;
  // Removes an empty directory. Returns ENOTEMPTY if the directory is not empty.
  virtual int remove_directory(const std::string& path) = 0;
};

// Returns the system's file system, or the replacement that a test has set.
Files& files();

// Replaces files() while it lives; for tests. One thread makes and destroys it while no other
// thread uses files(). `by` outlives it.
class ReplaceFiles {
 public:
  explicit ReplaceFiles(Files& by);
  ~ReplaceFiles();
  ReplaceFiles(const ReplaceFiles&) = delete;
  ReplaceFiles& operator=(const ReplaceFiles&) = delete;

 private:
  Files &before_, &by_;
};

// A held directory (Files::hold). One thread makes and destroys it; any thread may use it.
class HeldDirectory {
 public:
  explicit HeldDirectory(std::string path);
  ~HeldDirectory();
  HeldDirectory(HeldDirectory&& other) noexcept;
  HeldDirectory& operator=(HeldDirectory&&) = delete;

  int error() const { return file_ < 0 ? -file_ : 0; }
  int file() const { return file_; }
  const std::string& path() const { return path_; }
  bool still_there() const { return files().still_there(file_); }

 private:
  std::string path_;
  int file_;
};

// The functions below use files(). Any thread may call them.

std::string error_text(int error);

// Sets `text` to the text of the file at `path`. Returns ENOENT if there is no file, and EFBIG if
// the file is longer than `most_bytes`. After an error `text` is empty.
int read_file(const std::string& path, std::string* text, uint64_t most_bytes = uint64_t{1} << 20);
// Sets `names` to the names in the directory, sorted. A missing directory counts as empty.
int names_in(const std::string& directory, std::vector<std::string>* names);
// Reads at `offset` until `into` is full or the file ends. Returns the number of bytes, or -errno.
int64_t read_all(int file, uint64_t offset, std::span<std::byte> into);
// Writes all of `bytes`. Returns EIO if a write takes no byte. After an error any part of `bytes`
// may be in the file.
int write_all(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced = false);
int sync_directory(const std::string& path);
// Makes the name `path` durable, or the removal of this name.
int sync_parent(const std::string& path);
// Removes a file or link at `path`, and makes and opens a new file there. Returns the open file, or
// -errno.
int create_file(const std::string& path, int flags = O_WRONLY);
// Replaces the file at `path`, or creates it, in one step: after a crash the file has its earlier
// text or `text`; after success it durably has `text`. Writes `path`.new, syncs it and renames it.
// If an error comes before the rename, the file is unchanged. After a later error it may have
// either text.
int replace_file(const std::string& path, std::string_view text);
// Makes the directory `path` and the missing directories above it, outermost first, and makes each
// name durable. Appends the new directories to `made`, unless null, even after a later failure.
// Returns ENOTDIR if another kind of file has one of the names.
int make_directories(const std::string& path, std::vector<std::string>* made);

}  // namespace logjam::platform
