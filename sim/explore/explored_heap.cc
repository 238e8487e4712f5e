#include "sim/explore/explored_heap.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "sim/explore/explorer.h"
#include "sim/region.h"

namespace logjam::sim {

uint8_t* freed_bits = nullptr;

namespace {

constexpr size_t kLeastAlignment = 16;

// The header in front of each piece.
struct Header {
  size_t bytes;  // of the piece
};

char* next = nullptr;  // null: the heap is not started

}  // namespace

void start_explored_heap() {
  LJ_ASSERT(next == nullptr);
  watch_freed_memory();
  next = static_cast<char*>(heap_begin());
}

bool explored_heap_started() { return next != nullptr; }

void* explored_piece(size_t bytes, size_t alignment) {
  LJ_ASSERT(explored_heap_started());
  alignment = std::max(alignment, kLeastAlignment);
  LJ_ASSERT(std::has_single_bit(alignment));
  char* piece = next + sizeof(Header);
  piece += -reinterpret_cast<uintptr_t>(piece) % alignment;
  next = piece + bytes;
  if (!in_region(next)) platform::fatal("the explored program's heap is used up");
  reinterpret_cast<Header*>(piece)[-1].bytes = bytes;
  return piece;
}

void begin_schedule_in_heap() {
  constexpr uintptr_t kGridBytes = uintptr_t{64} << 20;
  next += -reinterpret_cast<uintptr_t>(next) % kGridBytes;
}

void free_explored_piece(void* piece) {
  if (exploring != nullptr) exploring->commit_all();
  note_freed(piece, static_cast<Header*>(piece)[-1].bytes);
}

void watch_freed_memory() {
  constexpr uint64_t kBytesABit = 64;
  freed_bits = static_cast<uint8_t*>(map_at(0, kRegionBytes / kBytesABit));
}

void note_freed(const void* at, size_t bytes) {
  LJ_ASSERT(freed_bits != nullptr && in_region(at));
  constexpr uint64_t kWord = 8, kBits = 8;
  const uint64_t begin = reinterpret_cast<uintptr_t>(at) - kRegion;
  // Skips the last word if only a part of it is freed, because its other bytes may be in use.
  for (uint64_t word = begin / kWord; word < (begin + bytes) / kWord; ++word) {
    freed_bits[word / kBits] |= static_cast<uint8_t>(1 << word % kBits);
  }
}

}  // namespace logjam::sim
