#include "engine/storage/arena.h"

#include <algorithm>
#include <bit>

#include "platform/clock.h"

namespace logjam {

void* Arena::allocate(size_t bytes, size_t align) {
  LJ_ASSERT_IN_TESTS(std::has_single_bit(align) && align <= platform::kShortestLine);
  const auto gap = [&] { return -reinterpret_cast<uintptr_t>(next_) & (align - 1); };
  if (gap() + bytes > static_cast<size_t>(end_ - next_)) refill(bytes);
  std::byte* start = next_ + gap();
  count(static_cast<uint64_t>(start + bytes - next_));
  next_ = start + bytes;
  return start;
}

bool Arena::free(void* latest, size_t bytes) {
  if (static_cast<std::byte*>(latest) + bytes != next_) return false;
  LJ_ASSERT_IN_TESTS(bytes <= allocated_bytes());
  next_ -= bytes;
  count(-bytes);
  return true;
}

void Arena::prefault(uint64_t bytes, uint64_t until_ns) {
  for (uint64_t taken = 0; taken < bytes && platform::now_ns() < until_ns; taken += kChunk) {
    void* chunk = platform::map_prefaulted(kChunk, bytes - taken, node_, until_ns);
    if (chunk == nullptr) return;
    prefaulted_.push_back(static_cast<std::byte*>(chunk));
  }
}

void Arena::refill(size_t bytes) {
  if (!prefaulted_.empty() && bytes <= kChunk) {
    next_ = prefaulted_.back();
    end_ = next_ + kChunk;
    prefaulted_.pop_back();
    return;
  }
  // A chunk starts on a page, so its first allocation needs no padding for alignment.
  if (next_ == nullptr && bytes <= kFirstChunk) {
    next_ = static_cast<std::byte*>(platform::map_pages(kFirstChunk));
    end_ = next_ + kFirstChunk;
    platform::place(next_, kFirstChunk, node_);
    return;
  }
  const size_t chunk = std::max(bytes, kChunk);
  next_ = static_cast<std::byte*>(platform::map_huge(chunk));
  end_ = next_ + chunk;
  platform::place(next_, chunk, node_);
}

}  // namespace logjam
