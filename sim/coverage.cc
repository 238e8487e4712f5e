#include "sim/coverage.h"

#include <sys/mman.h>

#include <algorithm>

#include "platform/fatal.h"

namespace logjam::sim {

uint8_t* covered_blocks = nullptr;

void begin_coverage() {
  void* shared =
      mmap(nullptr, blocks_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) platform::fatal("there is no memory to count blocks in");
  covered_blocks = static_cast<uint8_t*>(shared);
}

uint64_t blocks_covered() {
  if (covered_blocks == nullptr) return 0;
  return static_cast<uint64_t>(std::count(covered_blocks, covered_blocks + blocks_bytes, 1));
}

}  // namespace logjam::sim
