#include "logging/device/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files.h"
#include "platform/memory.h"

namespace logjam {

int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes) {
  return platform::write_all(fd, offset, bytes);
}

std::span<const std::byte> zeros() {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  static const auto* memory = static_cast<const std::byte*>(platform::map_huge(kBytes));
  return {memory, kBytes};
}

int pad_to_page(int file, uint64_t* bytes) {
  constexpr uint64_t kPageBytes = 4096;
  uint64_t size = 0;
  if (const int error = platform::files().size(file, &size); error != 0) return error;
  *bytes = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return *bytes == size ? 0 : platform::files().resize(file, *bytes);
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
