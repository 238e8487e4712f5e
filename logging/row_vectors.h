// The LSN vectors of rows (Taurus, VLDB 2020): for each log stream the position up to which the
// stream must be durable before the row's content is safe. Vectors are for schemes in which a
// transaction waits for the records that it depends on, and for no other records.
//
// A transaction gathers the vectors of the rows that it reads and overwrites: for each stream, the
// largest position. The scheme adds the end of the transaction's own record, and the result becomes
// the vector of the rows that it changes. As read stamps do (read_stamps.h), vectors lie in a
// separate table, at the hash of the tuple's address. Tuples that share a cell get larger vectors
// than they need. So a transaction may wait for too many records, and never for too few.
//
// Protocol. A writer raises the vectors of its rows after it has its position in the log, and
// before it stores the rows' versions (release). A reader loads the row's version (acquire), and
// then gathers. So the reader finds the vector of that version's writer, or a larger vector. A
// blind writer gathers while it holds the rows' locks. An entry only grows, by read-modify-writes,
// so a vector need not be read as a whole, and accesses are relaxed. Any thread may call any
// function.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class RowVectors {
 public:
  explicit RowVectors(uint32_t streams)
      : streams_(streams), entries_((size_t{1} << kCellBits) * streams) {}

  uint32_t streams() const { return streams_; }

  // Raises each entry of `vector` to at least the same entry of the tuple's vector.
  void gather(const void* tuple, std::span<uint64_t> vector) const {
    const auto* cell = &entries_[first(tuple)];
    for (uint32_t s = 0; s < streams_; ++s) {
      vector[s] = std::max(vector[s], cell[s].load(platform::memory_order_relaxed));
    }
  }
  void raise(const void* tuple, std::span<const uint64_t> vector) {
    auto* cell = &entries_[first(tuple)];
    for (uint32_t s = 0; s < streams_; ++s) {
      platform::atomic_max(cell[s], vector[s], platform::memory_order_relaxed);
    }
  }

 private:
  static constexpr int kCellBits = 16;

  size_t first(const void* tuple) const {
    const size_t cell = reinterpret_cast<uintptr_t>(tuple) * 0x9e3779b97f4a7c15 >> (64 - kCellBits);
    return cell * streams_;
  }

  const uint32_t streams_;
  std::vector<platform::atomic<uint64_t>> entries_;
};

}  // namespace logjam
