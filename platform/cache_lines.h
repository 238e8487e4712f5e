// The lines of kShortestLine bytes that a range touches. A processor's lines may be longer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "platform/atomic.h"

namespace logjam::platform {

using CacheLine = std::array<std::byte, kShortestLine>;

inline std::span<const CacheLine> cache_lines_of(const void* address, size_t bytes) {
  if (bytes == 0) return {};
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t first = begin / kShortestLine, last = (begin + bytes - 1) / kShortestLine;
  return {reinterpret_cast<const CacheLine*>(first * kShortestLine), last - first + 1};
}

}  // namespace logjam::platform
