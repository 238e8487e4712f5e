#include "platform/mapped_file.h"

#include <sys/mman.h>

namespace logjam::platform {
namespace {

constexpr uint64_t kReservedBytes = uint64_t{64} << 30;  // of address space

}  // namespace

uint64_t most_mapped_bytes() { return kReservedBytes; }

std::byte* map_file(int fd) {
  void* address =
      mmap(nullptr, kReservedBytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  if (address == MAP_FAILED) {  // the file system has no DAX
    address = mmap(nullptr, kReservedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

void unmap_file(std::byte* address) { munmap(address, kReservedBytes); }

}  // namespace logjam::platform
