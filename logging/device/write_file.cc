#include "logging/device/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "platform/memory.h"

namespace logjam {

// Bypasses pwrite(), for which ThreadSanitizer would report a race: workers may fill the part of
// the last block after the watermark while the block is written. That is harmless, because the
// block is written again.
long pwrite_unseen(int fd, const std::byte* bytes, size_t count, uint64_t offset) {
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

long pwrite_synced_unseen(int fd, const std::byte* bytes, size_t count, uint64_t offset) {
  const iovec vector{const_cast<std::byte*>(bytes), count};
  return syscall(SYS_pwritev2, fd, &vector, 1, offset, 0, RWF_DSYNC);
}

int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes, WriteAt* write_at) {
  while (!bytes.empty()) {
    const long written = write_at(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;  // otherwise the loop would not end
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

std::span<const std::byte> zeros() {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  static const auto* memory = static_cast<const std::byte*>(platform::map_huge(kBytes));
  return {memory, kBytes};
}

int pad_to_page(int fd, uint64_t* bytes) {
  constexpr uint64_t kPageBytes = 4096;
  struct stat status;
  if (fstat(fd, &status) != 0) return errno;
  const auto size = static_cast<uint64_t>(status.st_size);
  *bytes = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return *bytes != size && ftruncate(fd, static_cast<off_t>(*bytes)) != 0 ? errno : 0;
}

int sync_directory_of(const std::string& path, int (*sync)(int fd)) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = sync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace logjam
