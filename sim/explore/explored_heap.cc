#include "sim/explore/explored_heap.h"

#include <algorithm>
#include <cstdint>

#include "platform/fatal.h"
#include "sim/explore/explorer.h"
#include "sim/explore/freed_memory.h"
#include "sim/region.h"

namespace logjam::sim {
namespace {

constexpr size_t kLeastAlignment = 16;

// The word before each piece.
struct Header {
  size_t bytes;  // of the piece
};

char* next = nullptr;  // null: not started

}  // namespace

void start_explored_heap() {
  watch_freed_memory();
  next = static_cast<char*>(heap_begin());
}

bool explored_heap_started() { return next != nullptr; }

void* explored_piece(size_t bytes, size_t alignment) {
  alignment = std::max(alignment, kLeastAlignment);
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
  if (exploring != nullptr) exploring->before_free();
  note_freed(piece, static_cast<Header*>(piece)[-1].bytes);
}

}  // namespace logjam::sim
