#include "sim/explore/freed_memory.h"

namespace logjam::sim {

uint8_t* freed_bits = nullptr;

void watch_freed_memory() {
  constexpr uint64_t kBytesABit = 64;
  freed_bits = static_cast<uint8_t*>(map_at(0, kRegionBytes / kBytesABit));
}

void note_freed(const void* at, size_t bytes) {
  constexpr uint64_t kWord = 8, kBits = 8;
  const uint64_t begin = reinterpret_cast<uintptr_t>(at) - kRegion;
  // A last part of a word stays: its other bytes may be in use.
  for (uint64_t word = begin / kWord; word < (begin + bytes) / kWord; ++word) {
    freed_bits[word / kBits] |= static_cast<uint8_t>(1 << word % kBits);
  }
}

}  // namespace logjam::sim
