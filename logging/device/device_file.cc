#include "logging/device/device_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "platform/fatal.h"
#include "platform/memory.h"
#include "platform/park.h"

namespace logjam {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The length of one write of zeros. While an appending direct write is under way the log cannot
// write to the file, so the write of zeros must not be long.
constexpr uint64_t kZeroBytes = kMiB;
constexpr uint64_t kPageBytes = 4096;  // what direct writes and mappings are aligned to
constexpr uint64_t kLeastAhead = 16 * kMiB, kMostAhead = 64 * kMiB;
constexpr uint64_t kSafetyTimeoutNs = 100'000'000;

std::span<const std::byte> zeros() {
  static const auto* memory = static_cast<const std::byte*>(platform::map_huge(kZeroBytes));
  return {memory, kZeroBytes};
}

// A new file is durable only when its directory is durable.
int sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

// This is not pwrite(), because ThreadSanitizer would report a race: workers may fill the part of
// the last block behind the watermark while the block is written. That is harmless, because the
// block is written again.
long pwrite_unseen(int fd, const std::byte* bytes, size_t count, uint64_t offset) {
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

namespace {

// The kernel syncs these bytes with the write: one system call, and where the device can force a
// write through its cache, one request to the device.
long pwrite_synced_unseen(int fd, const std::byte* bytes, size_t count, uint64_t offset) {
  const iovec vector{const_cast<std::byte*>(bytes), count};
  return syscall(SYS_pwritev2, fd, &vector, 1, offset, 0, RWF_DSYNC);
}

}  // namespace

int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes, WriteAt* write_at) {
  while (!bytes.empty()) {
    const long written = write_at(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;  // a device that takes nothing would be asked for ever
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

DeviceFile::DeviceFile(const DeviceOptions& options, int open_flags, Grown grown)
    : path_(options.path), grows_(options.preallocate_bytes != 0), grown_(std::move(grown)) {
  // A file size limit must end as EFBIG and one sentence, not as a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | open_flags, 0644);
  if (fd_ < 0 && errno == EINVAL && (open_flags & O_DIRECT) != 0) {
    platform::refuse(path_ + " is on a file system without direct I/O; use --device=sync there");
  }
  if (fd_ < 0) platform::refuse("cannot open the log file " + path_ + ": " + strerror(errno));
  if (grows_) preallocate(options.preallocate_bytes);
  if (const int error = sync_directory_of(path_); error != 0) fail("sync the directory of", error);
}

DeviceFile::~DeviceFile() {
  closing_.store(true, platform::memory_order_release);
  event_.fetch_add(1);
  platform::wake_all(event_);
  if (grower_.joinable()) grower_.join();
  close(fd_);
}

void DeviceFile::preallocate(uint64_t bytes) {
  struct stat status;
  if (fstat(fd_, &status) != 0) fail("inspect", errno);
  // This class grew a recycled file, so all blocks of the file have been written. Its bytes stay:
  // they are a log until the header is written, and this run may yet be refused.
  const auto size = static_cast<uint64_t>(status.st_size);
  const uint64_t old = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  int error = old != size && ftruncate(fd_, static_cast<off_t>(old)) != 0 ? errno : 0;
  if (error == 0 && grown_ != nullptr && old != 0) error = grown_(fd_, 0, old);
  written_.store(old);
  if (error == 0) error = write_zeros(bytes);
  if (error == 0 && fdatasync(fd_) != 0) error = errno;
  if (error != 0) {
    [[maybe_unused]] const int shortened = ftruncate(fd_, status.st_size);
    platform::refuse("cannot preallocate " + std::to_string(bytes / kMiB) +
                     " MiB for the log file " + path_ + ": " + strerror(error));
  }
  ahead_ = std::clamp(bytes / 4, kLeastAhead, kMostAhead);
  // Small files (tests, short runs) would otherwise grow before the log has used a quarter.
  ahead_ = std::min(ahead_, std::max(bytes / 2, kZeroBytes));
}

int DeviceFile::write_zeros(uint64_t end) {
  uint64_t written = written_.load(platform::memory_order_relaxed);
  while (written < end && !closing_.load(platform::memory_order_relaxed)) {
    const uint64_t piece = kZeroBytes - written % kZeroBytes;  // a recycled file may have any size
    int error = write_fully(fd_, written, zeros().first(piece));
    if (error == 0 && grown_ != nullptr) error = grown_(fd_, written, written + piece);
    if (error != 0) return error;
    written += piece;
    written_.store(written, platform::memory_order_release);
    event_.fetch_add(1);
    platform::wake_all(event_);
  }
  return 0;
}

void DeviceFile::grow(uint64_t end) {
  {
    const platform::lock_guard<platform::mutex> guard(growing_);
    if (!grower_.joinable()) grower_ = platform::thread([this] { grower(); });
    if (end + ahead_ > wanted_.load(platform::memory_order_relaxed)) {
      wanted_.store(end + 2 * ahead_, platform::memory_order_release);
      event_.fetch_add(1);
      platform::wake_all(event_);
    }
  }
  while (true) {
    const uint32_t seen = event_.load();
    if (end <= written_.load(platform::memory_order_acquire)) return;
    const int error = error_.load(platform::memory_order_acquire);
    if (error != 0) fail("grow", error);
    platform::wait_on(event_, seen, kSafetyTimeoutNs);
  }
}

void DeviceFile::grower() {
  platform::name_this_thread("log-grower");
  while (true) {
    // The event is loaded before `closing_` and `wanted_`: a change of either after this load makes
    // wait_on() return.
    const uint32_t seen = event_.load();
    if (closing_.load(platform::memory_order_acquire)) return;
    const uint64_t wanted = wanted_.load(platform::memory_order_acquire);
    if (wanted <= written_.load(platform::memory_order_relaxed)) {
      platform::wait_on(event_, seen);
      continue;
    }
    int error = write_zeros(wanted);
    // This sync commits the new size and blocks, so that the log's syncs do not have to.
    if (error == 0 && fdatasync(fd_) != 0) error = errno;
    if (error != 0) {
      error_.store(error, platform::memory_order_release);
      event_.fetch_add(1);
      platform::wake_all(event_);
      return;
    }
  }
}

void DeviceFile::write(uint64_t offset, std::span<const std::byte> bytes, Sync sync) {
  const bool syncs = sync == Sync::kData;
  WriteAt& write_at = syncs ? pwrite_synced_unseen : pwrite_unseen;
  if (const int error = write_fully(fd_, offset, bytes, write_at); error != 0) {
    fail(syncs ? "write and sync" : "write", error);
  }
}

void DeviceFile::fail(const char* action, int error) const {
  platform::fatal(std::string("cannot ") + action + " the log file " + path_ + ": " +
                  strerror(error) + "; nothing is acknowledged after this");
}

}  // namespace logjam
