// engine/storage/arena.cc in a fuzzer's build: each allocation is one of the heap, so that the
// sanitizer sees a byte beyond a row, and all are freed after each input.
#include "engine/storage/arena.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/fuzz/target.h"

namespace logjam {
namespace {

std::mutex allocations_mutex;
// Never destroyed: at the process's end its memory counts as reachable.
std::vector<void*>& allocations() {
  static auto& all = *new std::vector<void*>;
  return all;
}

}  // namespace

void* Arena::allocate(size_t bytes, size_t align) {
  void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  std::memset(memory, 0, bytes);
  count(bytes);
  const std::lock_guard guard(allocations_mutex);
  allocations().push_back(memory);
  return memory;
}

bool Arena::free(void*, size_t) { return false; }

void Arena::prefault(uint64_t, uint64_t) {}

// Uses the fields that this arena does not need.
void Arena::refill(size_t) { next_ = end_ = nullptr; }

namespace fuzz {

void free_arenas() {
  const std::lock_guard guard(allocations_mutex);
  for (void* memory : allocations()) std::free(memory);
  allocations().clear();
}

}  // namespace fuzz
}  // namespace logjam
