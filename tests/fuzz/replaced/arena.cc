// Replaces engine/storage/arena.cc in a fuzzer's build. Allocates each piece separately, so that
// the sanitizer sees an access beyond a row. All pieces are freed after each input.
#include "engine/storage/arena.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/fuzz/target.h"

namespace logjam {
namespace {

std::mutex allocations_mutex;
// The vector is never destroyed, so the leak check counts its memory as reachable.
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

// Writes the fields, because the compiler warns of unused fields.
void Arena::refill(size_t) { next_ = end_ = nullptr; }

namespace fuzz {

void free_arenas() {
  const std::lock_guard guard(allocations_mutex);
  for (void* memory : allocations()) std::free(memory);
  allocations().clear();
}

}  // namespace fuzz
}  // namespace logjam
