// The C++ heap of the simulated program: operator new and delete on memory of the region, so that
// the engine's allocations have the same addresses in every run.
//
// Each place of the program that allocates (a context, return addresses and a size) has its own
// slabs, at an address that follows from these. So a run's other allocations, for a longer path or
// an old log that it replaces, move nothing. A piece that one fiber frees goes to the next call
// from the same place, as in a malloc with a cache for each thread. A piece larger than a slab is a
// mapping, whose address does depend on the earlier mappings. A piece costs the profile's
// allocation_ns, and no access: real heaps keep their lists in the core's cache. The host's heap
// serves all calls before start_heap() and after stop_heap(), and the calls of libraries, for
// example for the texts of std::string.
#include "sim/heap.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <unordered_map>
#include <utility>

#include "platform/fatal.h"
#include "sim/block_costs.h"
#include "sim/host_allocator.h"
#include "sim/lines_report.h"
#include "sim/region.h"
#include "sim/scheduler.h"

namespace logjam::sim {
namespace {

constexpr size_t kSlabBytes = size_t{64} << 10;
constexpr size_t kHeapSlabs = kHeapBytes / kSlabBytes;
constexpr size_t kFine = 16,
                 kMostFine = 1024;  // sizes up to here in steps of 16, then powers of two
constexpr size_t kColours = 64;     // different positions of a slab's first piece
constexpr size_t kFrames = 3;

struct Free {
  Free* next;
};

// A place of the program that allocates.
struct Place {
  uint64_t hash = 0;  // 0: no place
  size_t bytes = 0;   // of its pieces
  Free* free = nullptr;
  char *next = nullptr, *end = nullptr;
};

bool started = false;
constexpr size_t kPlaces = size_t{1} << 16;
Place* places = nullptr;            // by hash; if that entry is taken, the next free one
uint32_t* place_of_slab = nullptr;  // the place's number plus one, or 0: the slab is free

// Returns the pieces that are larger than a slab, with their places.
auto& large_pieces() {
  using Pair = std::pair<const uintptr_t, Place*>;
  static std::unordered_map<uintptr_t, Place*, std::hash<uintptr_t>, std::equal_to<uintptr_t>,
                            HostAllocator<Pair>>
      all;
  return all;
}

uint64_t heap_seed = 1;

uint64_t mixed(uint64_t hash, uint64_t value) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  hash = (hash ^ value) * kOdd;
  return hash ^ hash >> 29;
}

// Returns a hash of the context and the callers. Each context has its own pieces, as jemalloc's
// threads have, so pieces of two workers never share a line.
uint64_t hash_of_callers() {
  uint64_t hash = mixed(running == nullptr ? 1 : running->number + 2, heap_seed);
  auto* frame = static_cast<void* const*>(__builtin_frame_address(0));
  for (size_t i = 0; i < kFrames + 1 && in_region(frame); ++i) {
    hash = mixed(hash, reinterpret_cast<uintptr_t>(frame[1]));
    frame = static_cast<void* const*>(*frame);
  }
  return hash;
}

size_t piece_bytes(size_t bytes, size_t alignment) {
  if (bytes <= kMostFine && alignment <= kFine) {
    return std::max((bytes + kFine - 1) / kFine * kFine, kFine);
  }
  return std::bit_ceil(std::max(bytes, alignment));
}

Place& place_for(uint64_t hash, size_t bytes) {
  hash = mixed(hash, bytes) | 1;
  size_t at = hash % kPlaces;
  while (places[at].hash != 0 && places[at].hash != hash) at = (at + 1) % kPlaces;
  if (places[at].hash == 0) {
    places[at].hash = hash;
    places[at].bytes = bytes;
  }
  return places[at];
}

// Returns a free slab: the first one at or after the address that the hash gives.
char* take_slab(const Place& place) {
  size_t slab = place.hash % kHeapSlabs;
  for (size_t tried = 0; place_of_slab[slab] != 0; ++tried) {
    if (tried == kHeapSlabs) platform::fatal("the simulated machine's heap is used up");
    slab = (slab + 1) % kHeapSlabs;
  }
  place_of_slab[slab] = static_cast<uint32_t>(&place - places + 1);
  char* begin = static_cast<char*>(heap_begin()) + slab * kSlabBytes;
  if (socket_here() != 0) set_home(begin, kSlabBytes, socket_here());
  return begin;
}

void* fresh_piece(Place& place) {
  if (place.bytes > kSlabBytes) {
    void* piece = take(place.bytes, kSlabBytes, socket_here());
    large_pieces().emplace(reinterpret_cast<uintptr_t>(piece), &place);
    return piece;
  }
  if (place.end - place.next < static_cast<ptrdiff_t>(place.bytes)) {
    const bool first = place.end == nullptr;
    place.next = take_slab(place);
    place.end = place.next + kSlabBytes;
    // Otherwise the first pieces of all places would be in the same set of a cache.
    if (first && place.bytes <= kMostFine) {
      place.next += std::max(kLineBytes, std::bit_ceil(place.bytes)) * (place.hash >> 32) %
                    (kColours * kLineBytes);
    }
  }
  char* piece = place.next;
  place.next += place.bytes;
  return piece;
}

Place& place_of(void* piece) {
  if (piece < heap_begin()) return *large_pieces().at(reinterpret_cast<uintptr_t>(piece));
  const auto offset =
      static_cast<size_t>(static_cast<char*>(piece) - static_cast<char*>(heap_begin()));
  return places[place_of_slab[offset / kSlabBytes] - 1];
}

void* allocate(size_t bytes, size_t alignment, const void* site) {
  if (!started || !in_program(site)) {
    void* piece =
        alignment <= kFine
            ? std::malloc(std::max<size_t>(bytes, 1))
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (piece == nullptr) platform::fatal("out of memory");
    return piece;
  }
  if (running != nullptr) scheduler().spend(machine().allocation);
  Place& place = place_for(hash_of_callers(), piece_bytes(bytes, alignment));
  void* piece = place.free;
  if (piece == nullptr) {
    piece = fresh_piece(place);
  } else {
    place.free = place.free->next;
  }
  note_allocation(piece, bytes);
  return piece;
}

void release(void* piece) {
  if (piece == nullptr) return;
  if (!in_region(piece)) return std::free(piece);
  Place& place = place_of(piece);
  auto* freed = static_cast<Free*>(piece);
  freed->next = place.free;
  place.free = freed;
}

}  // namespace

void start_heap(uint64_t seed) {
  heap_seed = seed;
  // Pages that are never written cost nothing.
  places = static_cast<Place*>(std::calloc(kPlaces, sizeof *places));
  place_of_slab = static_cast<uint32_t*>(std::calloc(kHeapSlabs, sizeof *place_of_slab));
  if (places == nullptr || place_of_slab == nullptr) platform::fatal("out of memory");
  started = true;
}

void stop_heap() { started = false; }

}  // namespace logjam::sim

#define LOGJAM_SITE __builtin_return_address(0)

void* operator new(size_t bytes) { return logjam::sim::allocate(bytes, 1, LOGJAM_SITE); }
void* operator new[](size_t bytes) { return logjam::sim::allocate(bytes, 1, LOGJAM_SITE); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return logjam::sim::allocate(bytes, static_cast<size_t>(alignment), LOGJAM_SITE);
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return logjam::sim::allocate(bytes, static_cast<size_t>(alignment), LOGJAM_SITE);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return logjam::sim::allocate(bytes, 1, LOGJAM_SITE);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return logjam::sim::allocate(bytes, 1, LOGJAM_SITE);
}
void operator delete(void* piece) noexcept { logjam::sim::release(piece); }
void operator delete[](void* piece) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, size_t) noexcept { logjam::sim::release(piece); }
void operator delete[](void* piece, size_t) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { logjam::sim::release(piece); }
void operator delete[](void* piece, std::align_val_t) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, size_t, std::align_val_t) noexcept {
  logjam::sim::release(piece);
}
void operator delete[](void* piece, size_t, std::align_val_t) noexcept {
  logjam::sim::release(piece);
}
void operator delete(void* piece, const std::nothrow_t&) noexcept { logjam::sim::release(piece); }
void operator delete[](void* piece, const std::nothrow_t&) noexcept { logjam::sim::release(piece); }
