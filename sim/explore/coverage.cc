#include "sim/explore/coverage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "platform/exploration.h"
#include "platform/fatal.h"

namespace logjam {

uint8_t* sim::covered_blocks = nullptr;

namespace {

uint64_t map_bytes() { return sim::blocks_bytes / (sim::kAddressesABit * sim::kBitsAByte) + 1; }

}  // namespace

void platform::begin_coverage(const std::string& path) {
  const int file = path.empty() ? memfd_create("logjam-blocks", MFD_CLOEXEC)
                                : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  struct stat status {};
  const auto bytes = static_cast<off_t>(map_bytes());
  if (file < 0 || fstat(file, &status) != 0) {
    platform::refuse("the file of blocks " + path + " cannot be opened: " + strerror(errno));
  }
  if (status.st_size != 0 && status.st_size != bytes) {
    platform::refuse("the file of blocks " + path + " is of another program");
  }
  void* shared = MAP_FAILED;
  if (ftruncate(file, bytes) == 0) {
    shared = mmap(nullptr, map_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (shared == MAP_FAILED) platform::fatal("there is no memory to count blocks in");
  close(file);
  sim::covered_blocks = static_cast<uint8_t*>(shared);
}

uint64_t platform::blocks_covered() {
  if (sim::covered_blocks == nullptr) return 0;
  uint64_t blocks = 0;
  for (uint64_t at = 0; at < map_bytes(); ++at) {
    blocks += static_cast<uint64_t>(std::popcount(sim::covered_blocks[at]));
  }
  return blocks;
}

}  // namespace logjam
