// The C++ library's header, but std::string takes the host's memory: the length of a path must not
// move other allocations (sim/heap.cc).
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include_next <bits/new_allocator.h>
#pragma GCC diagnostic pop

extern "C" void* logjam_memory_of_text(std::size_t bytes);

template <>
inline char* std::__new_allocator<char>::allocate(std::size_t bytes, const void*) {
  return static_cast<char*>(logjam_memory_of_text(bytes));
}
