#include "platform/memory.h"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/limits.h"
#include "platform/placement.h"

namespace logjam::platform {
namespace {

// The huge page of kernels whose pages have 4 KiB. With pages of 16 or 64 KiB a huge page has 32 or
// 512 MiB, of which arenas would waste half; such kernels back 2 MiB with pages of their choice.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr uint64_t kReservedBytes = uint64_t{64} << 30;  // of address space, for a mapped file

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Returns 4 KiB on x86; Arm's kernels also have pages of 16 and 64 KiB.
size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

bool is_page(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % page_bytes() == 0;
}

std::byte* map_anonymous(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    fatal("cannot map " + std::to_string(bytes) + " bytes: " + strerror(errno));
  return static_cast<std::byte*>(pages);
}

// From Linux 6.1; Debian 12's headers lack it.
constexpr int kMadvCollapse = 25;

}  // namespace

void* map_huge(size_t bytes) {
  bytes = round_up(bytes, kHugePage);
  // Maps one more huge page, so that the mapping has an aligned range, and unmaps both ends.
  std::byte* const raw = map_anonymous(bytes + kHugePage);
  const auto address = reinterpret_cast<uintptr_t>(raw);
  const size_t head = round_up(address, kHugePage) - address;
  if (head != 0) munmap(raw, head);
  if (head != kHugePage) munmap(raw + head + bytes, kHugePage - head);
  madvise(raw + head, bytes, MADV_HUGEPAGE);
  return raw + head;
}

void unmap_huge(void* address, size_t bytes) {
  LJ_ASSERT(reinterpret_cast<uintptr_t>(address) % kHugePage == 0);
  munmap(address, round_up(bytes, kHugePage));
}

void* map_pages(size_t bytes) { return map_anonymous(bytes); }

uint64_t available_bytes() {
  const double bytes = memory_left().amount;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return bytes < static_cast<double>(kMost) ? static_cast<uint64_t>(bytes) : kMost;
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t mapped = 0, resident = 0;
  statm >> mapped >> resident;
  return resident * page_bytes();
}

MirroredMemory::MirroredMemory(size_t bytes, int where) {
  LJ_ASSERT(bytes > 0);
  size_ = round_up(bytes, page_bytes());
  const int fd = memfd_create("logjam-ring", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size_)) != 0) {
    fatal("cannot create a log buffer of " + std::to_string(size_) + " bytes: " + strerror(errno));
  }
  mapped_ = 2 * size_ + kHugePage;
  whole_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole_ == MAP_FAILED) fatal(std::string("cannot map a log buffer: ") + strerror(errno));
  data_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(whole_), kHugePage));
  for (size_t half : {size_t{0}, size_}) {
    if (mmap(data_ + half, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
      fatal(std::string("cannot map a log buffer: ") + strerror(errno));
    }
    // Places the pages before they are allocated. The second half maps the same pages as the first.
    place(data_ + half, size_, where);
    // Linux before 5.14 gives the pages at their first touch.
    if (madvise(data_ + half, size_, MADV_POPULATE_WRITE) != 0 &&
        (errno == ENOMEM || errno == EFAULT)) {
      fatal("there is no memory for a log buffer of " + std::to_string(size_) + " bytes");
    }
    // Asks for huge pages: in a ring of ordinary pages, every second record costs a TLB miss and a
    // page-table walk. This call also works if the setting `shmem_enabled` is `never`, its default.
    // Where the kernel refuses, the pages stay as they are.
    if (size_ % kHugePage == 0) madvise(data_ + half, size_, kMadvCollapse);
  }
  close(fd);
}

MirroredMemory::~MirroredMemory() { munmap(whole_, mapped_); }

bool place_on_numbered(void* address, size_t bytes, const std::vector<int>& numbers) {
  constexpr size_t kBits = sizeof(unsigned long) * 8;
  if (numbers.empty()) return false;
  const auto most = static_cast<size_t>(*std::ranges::max_element(numbers));
  std::vector<unsigned long> mask(most / kBits + 1);
  for (const int number : numbers) {
    mask[static_cast<size_t>(number) / kBits] |= 1UL << static_cast<size_t>(number) % kBits;
  }
  // With MPOL_BIND the process would end when the node is full. With these two policies the kernel
  // then uses another node.
  const int policy = numbers.size() == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE;
  // The kernel reads one bit less than its argument says, so the argument is one larger.
  return mbind(address, bytes, policy, mask.data(), mask.size() * kBits + 1, MPOL_MF_MOVE) == 0;
}

void place_on_node(void* address, size_t bytes, int node) {
  LJ_ASSERT(node >= 0 && is_page(address));
  const Topology& machine = this_machine();
  if (machine.nodes() == 1 || node >= machine.nodes()) return;
  place_on_numbered(address, bytes, {machine.node_number(node)});
}

void interleave(void* address, size_t bytes) {
  LJ_ASSERT(is_page(address));
  const Topology& machine = this_machine();
  if (machine.nodes() == 1) return;
  std::vector<int> numbers;
  for (const int node : placement().nodes_of_workers()) {
    if (node < machine.nodes()) numbers.push_back(machine.node_number(node));
  }
  place_on_numbered(address, bytes, numbers);
}

void* map_prefaulted(size_t bytes, size_t prefaulted, int where, uint64_t until_ns) {
  auto* const pages = static_cast<std::byte*>(map_huge(bytes));
  place(pages, bytes, where);
  const size_t end = std::min(bytes, prefaulted);
  for (size_t at = 0; at < end && now_ns() < until_ns; at += kHugePage) {
    // If the kernel refuses this, it gives the pages at their first touch.
    madvise(pages + at, std::min(kHugePage, bytes - at), MADV_POPULATE_WRITE);
  }
  return pages;
}

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
