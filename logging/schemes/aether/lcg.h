// The high bits of a linear congruential generator: a choice that is random enough to spread
// threads, for the price of a multiplication. One thread uses each generator.
#pragma once

#include <cstdint>

namespace logjam {

class Lcg {
 public:
  Lcg() = default;
  explicit Lcg(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return state_ >> 33;
  }

 private:
  uint64_t state_ = 1;
};

}  // namespace logjam
