// The stores of a fiber that other fibers do not see yet: x86's store buffer (Owens, Sarkar and
// Sewell, "A Better x86 Memory Model: x86-TSO", TPHOLs 2009).
//
// While a fiber runs, memory holds all its stores, also the late ones, so that its own loads,
// copies and library calls see them. When another fiber's turn comes, the explorer takes the late
// stores back, the newest first. When the fiber's turn comes again, the explorer makes these stores
// once more. So late stores keep the order of the program, and overwrite the bytes that other
// fibers have stored meanwhile. Only the explorer uses these objects, on the one host thread.
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
  // The largest number of late stores, each of up to 8 bytes. Real cores have 40 to 70, but fewer
  // are enough here: other fibers may run between any two steps, so bugs need fewer late stores.
  static constexpr size_t kMost = 24;

  StoreBuffer() { stores_.reserve(2 * kKept); }

  // Records that the fiber is about to store `bytes` bytes at `at`. If there are then more than
  // kMost late stores, makes the oldest one visible and returns true.
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
  // Makes the oldest `count` late stores visible. Call it while the fiber runs.
  void commit(size_t count) {
    LJ_ASSERT(count <= size());
    first_ += count;
    tidy();
  }
  void commit_all() { stores_.clear(), first_ = 0; }
  void take_back() {
    for (size_t i = stores_.size(); i-- > first_;) swap(stores_[i]);
  }
  void put_back() {
    for (size_t i = first_; i < stores_.size(); ++i) swap(stores_[i]);
  }
  // Makes the oldest late store visible. Call it while the late stores are taken back.
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
    uint64_t value;  // the bytes before the store; if the store is taken back, the stored bytes
    uint32_t bytes;
  };

  // The most stores in the buffer, late or visible. note() drops visible stores from time to time.
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
