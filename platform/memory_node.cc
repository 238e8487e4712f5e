// Native memory on NUMA nodes. The simulated machine has its own place_on_node() and interleave().
#include "platform/memory_node.h"

#include <numaif.h>
#include <sys/mman.h>

#include <algorithm>

#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/placement.h"

namespace logjam::platform {

bool place_on_numbered(void* address, size_t bytes, const std::vector<int>& numbers) {
  constexpr size_t kBits = sizeof(unsigned long) * 8;
  if (numbers.empty()) return false;
  const auto most = static_cast<size_t>(*std::ranges::max_element(numbers));
  std::vector<unsigned long> mask(most / kBits + 1);
  for (const int number : numbers) {
    mask[static_cast<size_t>(number) / kBits] |= 1UL << static_cast<size_t>(number) % kBits;
  }
  // With MPOL_BIND the process would end when the node is full. These policies then take another
  // node.
  const int policy = numbers.size() == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE;
  // The kernel reads one bit less than it is told.
  return mbind(address, bytes, policy, mask.data(), mask.size() * kBits + 1, MPOL_MF_MOVE) == 0;
}

void place_on_node(void* address, size_t bytes, int node) {
  const Topology& machine = this_machine();
  if (machine.nodes() == 1 || node >= machine.nodes()) return;
  place_on_numbered(address, bytes, {machine.node_number(node)});
}

void interleave(void* address, size_t bytes) {
  const Topology& machine = this_machine();
  if (machine.nodes() == 1) return;
  std::vector<int> numbers;
  for (const int node : placement().nodes_of_workers()) {
    if (node < machine.nodes()) numbers.push_back(machine.node_number(node));
  }
  place_on_numbered(address, bytes, numbers);
}

void* map_prefaulted(size_t bytes, size_t prefaulted, int where, uint64_t until_ns) {
  constexpr size_t kHugePage = size_t{2} << 20;
  auto* const pages = static_cast<std::byte*>(map_huge(bytes));
  place(pages, bytes, where);
  const size_t end = std::min(bytes, prefaulted);
  for (size_t at = 0; at < end && now_ns() < until_ns; at += kHugePage) {
    // A kernel that refuses gives the pages at the first touch, as without this call.
    madvise(pages + at, std::min(kHugePage, bytes - at), MADV_POPULATE_WRITE);
  }
  return pages;
}

}  // namespace logjam::platform
