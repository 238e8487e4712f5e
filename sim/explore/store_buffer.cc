#include "sim/explore/store_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "platform/assert.h"

namespace logjam::sim {

bool StoreBuffer::note(void* at, size_t bytes) {
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

void StoreBuffer::swap(Store& store) {
  uint64_t now = 0;
  std::memcpy(&now, store.at, store.bytes);
  std::memcpy(store.at, &store.value, store.bytes);
  store.value = now;
}

void StoreBuffer::take_back() {
  for (size_t i = stores_.size(); i-- > first_;) swap(stores_[i]);
}

void StoreBuffer::put_back() {
  for (size_t i = first_; i < stores_.size(); ++i) swap(stores_[i]);
}

void StoreBuffer::drain_one() {
  LJ_ASSERT(size() > 0);
  swap(stores_[first_]);
  ++first_;
  tidy();
}

}  // namespace logjam::sim
