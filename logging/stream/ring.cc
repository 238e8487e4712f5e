#include "logging/stream/ring.h"

#include <algorithm>

namespace logjam {
namespace {

constexpr uint64_t kPageBytes = 4096;

}  // namespace

Ring::Ring(uint64_t bytes, uint32_t block, int node)
    : memory_(std::bit_ceil(std::max({bytes, uint64_t{2} * block, kPageBytes})), node),
      data_(memory_.data()),
      mask_(memory_.size() - 1),
      block_(block),
      limit_(memory_.size()) {}

void Ring::release(uint64_t durable) {
  limit_.store(block_down(durable) + capacity(), platform::memory_order_release);
  space_.notify();
}

}  // namespace logjam
