// An allocator for the simulation's own data. It takes memory from the host's heap, so that these
// data do not move the program's addresses.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "platform/fatal.h"

namespace logjam::sim {

template <class T>
struct HostAllocator {
  using value_type = T;
  HostAllocator() = default;
  template <class U>
  HostAllocator(const HostAllocator<U>&) {}

  T* allocate(size_t count) {
    void* memory = std::malloc(count * sizeof(T));
    if (memory == nullptr) platform::fatal("out of memory for the simulation");
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  bool operator==(const HostAllocator&) const { return true; }
};

}  // namespace logjam::sim
