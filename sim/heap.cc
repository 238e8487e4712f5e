// The C++ heap of the simulated program: operator new and delete on memory of the region, so that
// the engine's allocations have the same addresses in every run.
//
// Each place of allocation (a context and return addresses) has slabs of its own. The addresses of
// the slabs follow from the place alone, so that no other allocation of the run moves a slab. If
// they followed from sizes, a longer file name would move slabs. A freed piece serves the next call
// from the same place for the same size. A piece larger than a slab is a mapping, whose address
// depends on the earlier mappings. An allocation costs the profile's allocation_ns and no access,
// because a real heap has its lists in the core's cache. The host's heap serves calls before
// start_heap() and after stop_heap(), calls of libraries, and std::string.
#include "sim/heap.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "sim/explore/explored_heap.h"
#include "sim/explore/explorer.h"
#include "sim/host_allocator.h"
#include "sim/machine/block_costs.h"
#include "sim/machine/lines_report.h"
#include "sim/machine/scheduler.h"
#include "sim/region.h"

namespace logjam::sim {
namespace {

constexpr size_t kSlabBytes = size_t{64} << 10;
constexpr size_t kHeapSlabs = kHeapBytes / kSlabBytes;
constexpr size_t kFine = 16, kMostFine = 1024;  // multiples of 16, and powers of two above 1024
constexpr size_t kColours = 64;                 // the number of positions of a slab's first piece
constexpr size_t kFrames = 3;

struct Free {
  Free* next;
};

// A place of allocation, and the free part of its last slab.
struct Place {
  uint64_t hash = 0;  // 0: no place
  char *next = nullptr, *end = nullptr;
};

// A place's pieces of one size.
struct Pieces {
  uint64_t hash = 0;  // 0: no pieces
  size_t bytes = 0;   // of each piece
  Free* free = nullptr;
};

// A hash table with linear probing.
template <class Entry>
struct Table {
  static constexpr size_t kEntries = size_t{1} << 16;
  Entry* entries = nullptr;

  Entry& at(uint64_t hash) {
    hash |= 1;
    size_t at = (hash >> 1) % kEntries;
    while (entries[at].hash != 0 && entries[at].hash != hash) at = (at + 1) % kEntries;
    entries[at].hash = hash;
    return entries[at];
  }
};

bool started = false;
Table<Place> places;
Table<Pieces> pieces;
bool* slab_taken = nullptr;
uint32_t* pieces_at = nullptr;  // for each kFine bytes: the index in `pieces` for the piece there

// Returns the pieces that are larger than a slab, by address.
auto& large_pieces() {
  using Pair = std::pair<const uintptr_t, Pieces*>;
  static std::unordered_map<uintptr_t, Pieces*, std::hash<uintptr_t>, std::equal_to<uintptr_t>,
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

// Returns a hash of the callers and the context. Because of the context, two workers never have
// pieces in the same cache line, as in jemalloc.
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

// Returns the first free slab at or after the address that the place's hash gives.
char* take_slab(const Place& place) {
  size_t slab = (place.hash >> 1) % kHeapSlabs;
  for (size_t tried = 0; slab_taken[slab]; ++tried) {
    if (tried == kHeapSlabs) platform::fatal("the simulated machine's heap is used up");
    slab = (slab + 1) % kHeapSlabs;
  }
  slab_taken[slab] = true;
  char* begin = static_cast<char*>(heap_begin()) + slab * kSlabBytes;
  if (socket_here() != 0) set_home(begin, kSlabBytes, socket_here());
  return begin;
}

// Returns the first address at or after `at` for a piece of `bytes`. If `bytes` is a power of two,
// aligns the piece to `bytes`, because the caller may want this alignment.
char* aligned(char* at, size_t bytes) {
  const size_t alignment = std::has_single_bit(bytes) ? std::min(bytes, kPageBytes) : kFine;
  return at + -reinterpret_cast<uintptr_t>(at) % alignment;
}

size_t offset_in_heap(const void* piece) {
  return static_cast<size_t>(static_cast<const char*>(piece) -
                             static_cast<const char*>(heap_begin()));
}

void* fresh_piece(uint64_t callers, Pieces& kind) {
  if (kind.bytes > kSlabBytes) {
    void* piece = take(kind.bytes, kSlabBytes, socket_here());
    large_pieces().emplace(reinterpret_cast<uintptr_t>(piece), &kind);
    return piece;
  }
  Place& place = places.at(callers);
  char* piece = aligned(place.next, kind.bytes);
  if (place.end - piece < static_cast<ptrdiff_t>(kind.bytes)) {
    const bool first = place.end == nullptr;
    piece = take_slab(place);
    place.end = piece + kSlabBytes;
    // Different places begin in different sets of a cache, so they do not evict each other's lines.
    if (first && kind.bytes <= kMostFine) {
      piece += std::max(kLineBytes, std::bit_ceil(kind.bytes)) * (place.hash >> 32) %
               (kColours * kLineBytes);
    }
  }
  place.next = piece + kind.bytes;
  pieces_at[offset_in_heap(piece) / kFine] = static_cast<uint32_t>(&kind - pieces.entries);
  return piece;
}

Pieces& pieces_of(void* piece) {
  if (piece < heap_begin()) return *large_pieces().at(reinterpret_cast<uintptr_t>(piece));
  return pieces.entries[pieces_at[offset_in_heap(piece) / kFine]];
}

void* allocate_of_host(size_t bytes, size_t alignment) {
  void* piece =
      alignment <= kFine
          ? std::malloc(std::max<size_t>(bytes, 1))
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (piece == nullptr) platform::fatal("out of memory");
  return piece;
}

void* allocate(size_t bytes, size_t alignment, const void* site) {
  if (!started || !in_program(site)) return allocate_of_host(bytes, alignment);
  if (explorer_runs) return allocate_of_host(bytes, alignment);
  if (explored_heap_started()) return explored_piece(bytes, alignment);
  if (running != nullptr) scheduler().spend(machine().allocation);
  const uint64_t callers = hash_of_callers();
  const size_t whole = piece_bytes(bytes, alignment);
  Pieces& kind = pieces.at(mixed(callers, whole));
  kind.bytes = whole;
  void* piece = kind.free;
  if (piece == nullptr) {
    piece = fresh_piece(callers, kind);
  } else {
    kind.free = kind.free->next;
  }
  note_allocation(piece, bytes);
  return piece;
}

void release(void* piece) {
  if (piece == nullptr) return;
  if (!in_region(piece)) return std::free(piece);
  if (explored_heap_started()) return free_explored_piece(piece);
  if (running != nullptr) scheduler().spend(machine().allocation);
  Pieces& kind = pieces_of(piece);
  LJ_ASSERT(kind.bytes != 0);
  auto* freed = static_cast<Free*>(piece);
  freed->next = kind.free;
  kind.free = freed;
}

}  // namespace

void start_heap(uint64_t seed) {
  LJ_ASSERT(places.entries == nullptr);
  heap_seed = seed;
  const auto map = [](auto** table, size_t count) {
    *table = static_cast<std::remove_pointer_t<decltype(table)>>(map_at(0, count * sizeof **table));
  };
  map(&places.entries, places.kEntries);
  map(&pieces.entries, pieces.kEntries);
  map(&slab_taken, kHeapSlabs);
  map(&pieces_at, kHeapBytes / kFine);
  started = true;
}

void stop_heap() { started = false; }

Slabs slabs_taken() {
  Slabs all;
  for (size_t slab = 0; slab < kHeapSlabs; ++slab) {
    if (!slab_taken[slab]) continue;
    ++all.count;
    all.sum += slab;
  }
  return all;
}

}  // namespace logjam::sim

// Allocates memory for std::string (sim/include/bits/new_allocator.h).
extern "C" void* logjam_memory_of_text(size_t bytes) {
  return logjam::sim::allocate_of_host(bytes, 1);
}

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
// The library's other forms of `new` and `delete` call one of these four.
void operator delete(void* piece) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, size_t) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { logjam::sim::release(piece); }
void operator delete(void* piece, size_t, std::align_val_t) noexcept {
  logjam::sim::release(piece);
}
