// platform/memory.h on the simulated machine: all memory comes from the region.
#include "platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/placement.h"
#include "sim/explore/mapped_files.h"
#include "sim/machine/lines_report.h"
#include "sim/machine/scheduler.h"
#include "sim/region.h"

namespace logjam::platform {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* map_over(std::byte* address, size_t bytes, int flags, int fd) {
  void* mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) fatal(std::string("cannot map a log buffer: ") + strerror(errno));
  return mapped;
}

}  // namespace

void* map_huge(size_t bytes) {
  void* taken = sim::take(round_up(bytes, kHugePage), kHugePage, sim::socket_here());
  sim::note_allocation(taken, bytes);
  return taken;
}
void* map_prefaulted(size_t, size_t, int, uint64_t) { return nullptr; }
void unmap_huge(void* address, size_t bytes) {
  LJ_ASSERT(reinterpret_cast<uintptr_t>(address) % kHugePage == 0);
  sim::give_back(address, round_up(bytes, kHugePage));
}
void* map_pages(size_t bytes) { return sim::take(bytes, sim::kPageBytes, sim::socket_here()); }

// Returns the host's free memory, because the host kills a simulation that takes more memory.
uint64_t available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kib = 0; meminfo >> name >> kib >> unit;) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return ~uint64_t{0};
}
uint64_t resident_bytes() { return sim::taken_bytes(); }

void place_on_node(void* address, size_t bytes, int node) {
  sim::set_home(address, bytes, static_cast<uint32_t>(node));
}
void interleave(void* address, size_t bytes) {
  sim::interleave_homes(address, bytes, placement().nodes_of_workers());
}

MirroredMemory::MirroredMemory(size_t bytes, int where) {
  LJ_ASSERT(bytes > 0);
  size_ = round_up(bytes, sim::kPageBytes);
  mapped_ = 2 * size_;
  whole_ = sim::take(mapped_, kHugePage, sim::socket_here());
  data_ = static_cast<std::byte*>(whole_);
  sim::note_allocation(whole_, mapped_);
  const int fd = memfd_create("logjam-ring", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size_)) != 0) {
    fatal("cannot create a log buffer of " + std::to_string(size_) + " bytes: " + strerror(errno));
  }
  map_over(data_, size_, MAP_SHARED, fd);
  map_over(data_ + size_, size_, MAP_SHARED, fd);
  close(fd);
  sim::alias(data_, data_ + size_, size_);
  place(data_, size_, where);
}

// Returns a smaller number than the native function: a simulated run is short, and the region must
// hold the files of many workers.
uint64_t most_mapped_bytes() { return uint64_t{288} << 20; }
std::byte* map_file(int fd) {
  void* whole = sim::take(most_mapped_bytes(), kHugePage, sim::socket_here());
  if (sim::is_in_memory(fd)) {
    auto* base = static_cast<std::byte*>(whole);
    errno = sim::begin_mapping(fd, base, most_mapped_bytes());
    return errno == 0 ? base : nullptr;
  }
  void* mapped =
      mmap(whole, most_mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}
void unmap_file(std::byte* address) {
  if (!sim::end_mapping(address)) {
    map_over(address, most_mapped_bytes(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  }
  sim::give_back(address, most_mapped_bytes());
}

MirroredMemory::~MirroredMemory() {
  map_over(data_, mapped_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  sim::give_back(data_, mapped_);
}

}  // namespace logjam::platform
