#include "sim/region.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::sim {

int32_t* alias_of_page = nullptr;

namespace {

constexpr uint64_t kPages = kRegionBytes / kPageBytes;

uint64_t next_byte = 0, given_back = 0;
uint8_t* home_of_page = nullptr;

uint64_t offset_of(const void* address) { return reinterpret_cast<uintptr_t>(address) - kRegion; }

}  // namespace

void* map_at(uint64_t address, uint64_t bytes) {
  const int fixed = address == 0 ? 0 : MAP_FIXED_NOREPLACE;
  void* mapped = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (mapped == MAP_FAILED) {
    platform::fatal("the simulated machine cannot reserve " + std::to_string(bytes >> 30) +
                    " GiB of address space");
  }
  return mapped;
}

void reserve_region() {
  LJ_ASSERT(alias_of_page == nullptr);
  map_at(kRegion, kRegionBytes);
  alias_of_page = static_cast<int32_t*>(map_at(0, kPages * sizeof(int32_t)));
  home_of_page = static_cast<uint8_t*>(map_at(0, kPages));
}

bool in_region(const void* address) { return offset_of(address) < kRegionBytes; }

void* take(size_t bytes, size_t alignment, uint32_t socket) {
  LJ_ASSERT(alias_of_page != nullptr);
  LJ_ASSERT(std::has_single_bit(alignment) && alignment >= kPageBytes);
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  next_byte = (next_byte + alignment - 1) / alignment * alignment;
  if (next_byte + bytes > kRegionBytes - kHeapBytes) {
    platform::fatal("the simulated machine's memory of " +
                    std::to_string((kRegionBytes - kHeapBytes) >> 30) + " GiB is used up");
  }
  void* taken = reinterpret_cast<void*>(kRegion + next_byte);
  next_byte += bytes;
  if (socket != 0) set_home(taken, bytes, socket);
  return taken;
}

void give_back(void* address, size_t bytes) {
  LJ_ASSERT(in_region(address) && offset_of(address) % kPageBytes == 0);
  LJ_ASSERT(bytes <= taken_bytes());
  given_back += bytes;
  madvise(address, bytes, MADV_DONTNEED);
}

uint64_t taken_bytes() { return next_byte - given_back; }

void alias(const void* first, const void* second, size_t bytes) {
  LJ_ASSERT(in_region(first) && in_region(second) && bytes % kPageBytes == 0);
  LJ_ASSERT(offset_of(first) % kPageBytes == 0 && offset_of(second) % kPageBytes == 0);
  const uint64_t distance = offset_of(second) - offset_of(first);
  std::fill_n(alias_of_page + offset_of(second) / kPageBytes, bytes / kPageBytes,
              static_cast<int32_t>(distance / kLineBytes));
}

uint32_t home_of(uint32_t line) {
  return line < kRegionLines ? home_of_page[line / (kPageBytes / kLineBytes)] : 0;
}

void set_home(const void* address, size_t bytes, uint32_t socket) {
  interleave_homes(address, bytes, std::array{static_cast<int>(socket)});
}

void interleave_homes(const void* address, size_t bytes, std::span<const int> sockets) {
  LJ_ASSERT(in_region(address) && offset_of(address) % kPageBytes == 0);
  LJ_ASSERT(!sockets.empty());
  for (uint64_t at = offset_of(address); at < offset_of(address) + bytes; at += kPageBytes) {
    home_of_page[at / kPageBytes] = static_cast<uint8_t>(sockets[at / kPageBytes % sockets.size()]);
  }
}

}  // namespace logjam::sim
