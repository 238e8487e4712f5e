#include "logging/device/write_file.h"

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

}  // namespace logjam
