// Private copies of rows, valid until their transaction ends. One worker owns the memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/racy_copy.h"

namespace logjam {

// Memory for rows, which are aligned and padded to 8 bytes. allocate() only advances a pointer.
// clear() keeps the memory for the next transaction.
class RowMemory {
 public:
  std::byte* allocate(uint32_t row_bytes) {
    const size_t bytes = (size_t{row_bytes} + 7) & ~size_t{7};
    if (static_cast<size_t>(end_ - next_) < bytes) next_chunk(bytes);
    std::byte* row = next_;
    next_ += bytes;
    return row;
  }

  void clear() {
    if (chunks_.empty()) return;
    enter(0);
  }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes;
  };
  static constexpr size_t kFirstChunk = size_t{16} << 10;

  void enter(size_t chunk) {
    current_ = chunk;
    next_ = chunks_[chunk].memory.get();
    end_ = next_ + chunks_[chunk].bytes;
  }

  void next_chunk(size_t bytes) {
    for (size_t i = current_ + 1; i < chunks_.size(); ++i) {
      if (chunks_[i].bytes >= bytes) return enter(i);
    }
    const size_t size = std::max(bytes, kFirstChunk << std::min<size_t>(chunks_.size(), 8));
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    enter(chunks_.size() - 1);
  }

  std::vector<Chunk> chunks_;
  size_t current_ = 0;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
};

// Copies a row that another thread may be writing (platform/racy_copy.h). Rows of one word are
// common in benchmarks, so they have a path without a call of memcpy.
inline void load_row(std::byte* to, const std::byte* from, uint32_t row_bytes) {
  LJ_ASSERT_IN_TESTS(reinterpret_cast<uintptr_t>(to) % 8 == 0);
  LJ_ASSERT_IN_TESTS(reinterpret_cast<uintptr_t>(from) % 8 == 0);
  if (row_bytes <= 8) {
    platform::racy_load(to, from, 8);
  } else {
    platform::racy_load(to, from, row_bytes);
  }
}
// Overwrites a row that another thread may be reading. The caller is the only writer. Skips cache
// lines that would not change, so that other cores keep their copies of these lines.
inline void store_row(std::byte* to, const std::byte* from, uint32_t row_bytes) {
  LJ_ASSERT_IN_TESTS(reinterpret_cast<uintptr_t>(to) % 8 == 0);
  LJ_ASSERT_IN_TESTS(reinterpret_cast<uintptr_t>(from) % 8 == 0);
  platform::order_racy_stores();
  if (row_bytes <= 8) return platform::racy_store(to, from, 8);
  for (size_t left = row_bytes; left > 0;) {
    const size_t to_end_of_line =
        platform::kShortestLine - reinterpret_cast<uintptr_t>(to) % platform::kShortestLine;
    const size_t bytes = std::min(left, to_end_of_line);
    if (std::memcmp(to, from, bytes) != 0) platform::racy_store(to, from, bytes);
    to += bytes;
    from += bytes;
    left -= bytes;
  }
}

}  // namespace logjam
