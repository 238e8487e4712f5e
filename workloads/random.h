// A random number generator for clients and loaders: fast, with the same numbers on all machines.
#pragma once

#include <array>

#include "platform/assert.h"
#include "platform/random.h"

namespace logjam {

// Returns a hash of `x`: the number that splitmix64 draws with the seed `x`.
constexpr uint64_t mix64(uint64_t x) { return platform::SplitMix64(x).next(); }

// xoshiro256** (Blackman, Vigna 2018), seeded through splitmix64 as its authors ask. `stream`
// distinguishes generators of the same seed: it is the number of a client, or of a part of the
// load. One thread at a time uses a generator.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t x = mix64(seed) ^ mix64(~stream);
    for (uint64_t& word : state_) word = x = mix64(x);
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Draws uniformly from [0, n) without bias, by Lemire's multiplication method (2019). The method
  // divides only if the lower half of the product is below n, which is rare for small n.
  uint64_t below(uint64_t n) {
    LJ_ASSERT_IN_TESTS(n > 0);
    Wide product = Wide{next()} * n;
    if (static_cast<uint64_t>(product) < n) {
      const uint64_t unfair = -n % n;
      while (static_cast<uint64_t>(product) < unfair) product = Wide{next()} * n;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Draws uniformly from [low, high].
  int64_t between(int64_t low, int64_t high) {
    LJ_ASSERT_IN_TESTS(low <= high);
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  // Draws uniformly from [0, 1), with all 53 bits random.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Returns true with a probability of `share` per cent.
  bool percent(uint32_t share) {
    LJ_ASSERT_IN_TESTS(share <= 100);
    return below(100) < share;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<uint64_t, 4> state_;
};

}  // namespace logjam
