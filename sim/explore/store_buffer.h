// The stores of a fiber that other fibers do not see yet: x86's store buffer (Owens, Sarkar and
// Sewell, "A Better x86 Memory Model: x86-TSO", TPHOLs 2009).
//
// While a fiber runs, memory is its own view: it has all its stores, also those that are still
// under way, so that its own loads, copies and library calls need no forwarding. When another
// fiber's turn comes, the stores that are not visible yet are taken back, the newest first, and
// when the fiber's turn comes again they are made once more. So each store that was not visible
// lands later, over what is there then, and in the order of the program.
//
// Only the explorer uses these objects, on the one host thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/assert.h"

namespace logjam::sim {

class StoreBuffer {
 public:
  // How many stores of up to 8 bytes are under way at most. Real cores have 40 to 70; a bug that
  // needs more than these shows with fewer, because other fibers may run at each step.
  static constexpr size_t kMost = 24;

  StoreBuffer() { stores_.reserve(2 * kKept); }

  // Records that the fiber is about to store `bytes` bytes at `at`. If there are more than kMost
  // stores, the oldest become visible. Returns whether any did.
  bool note(void* at, size_t bytes) {
    LJ_ASSERT(bytes <= kLargest);
    for (size_t done = 0; done < bytes;) {
      auto* from = static_cast<char*>(at) + done;
      const size_t piece = std::min<size_t>(bytes - done, sizeof(uint64_t));
      Store store{from, 0, static_cast<uint32_t>(piece)};
      std::memcpy(&store.value, from, piece);
      stores_.push_back(store);
      done += piece;
    }
    const bool full = size() > kMost;
    if (full) first_ = stores_.size() - kMost;
    if (stores_.size() > kKept) {
      stores_.erase(stores_.begin(), stores_.begin() + static_cast<ptrdiff_t>(first_));
      first_ = 0;
    }
    return full;
  }
  static constexpr size_t kLargest = 128;
  // Makes the oldest `count` stores visible. The fiber is running.
  void commit(size_t count) {
    LJ_ASSERT(count <= size());
    first_ += count;
    tidy();
  }
  void commit_all() { stores_.clear(), first_ = 0; }
  // Takes the stores that are not visible back, because another fiber's turn comes.
  void take_back() {
    for (size_t i = stores_.size(); i-- > first_;) swap(stores_[i]);
  }
  // Makes them again: the fiber's turn has come.
  void put_back() {
    for (size_t i = first_; i < stores_.size(); ++i) swap(stores_[i]);
  }
  // Makes the oldest of the stores that were taken back visible.
  void drain_one() {
    LJ_ASSERT(size() > 0);
    swap(stores_[first_]);
    ++first_;
    tidy();
  }

  size_t size() const { return stores_.size() - first_; }

 private:
  struct Store {
    void* at;
    uint64_t value;  // what was there before; of a store that was taken back, what it stores
    uint32_t bytes;
  };

  // Places for stores that are visible already: they are dropped from time to time.
  static constexpr size_t kKept = kMost * 8;

  static void swap(Store& store) {
    uint64_t now = 0;
    std::memcpy(&now, store.at, store.bytes);
    std::memcpy(store.at, &store.value, store.bytes);
    store.value = now;
  }
  void tidy() {
    if (first_ == stores_.size()) commit_all();
  }

  std::vector<Store> stores_;  // oldest first, from first_ on
  size_t first_ = 0;
};

}  // namespace logjam::sim
