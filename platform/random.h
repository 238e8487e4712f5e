// Small generators of random numbers, which give the same numbers on every machine.
#pragma once

#include <cstdint>

namespace logjam::platform {

// 2^64 divided by the golden ratio, as an odd number: a factor that spreads small numbers.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;

// Returns the last step of splitmix64: if one bit of `x` changes, half of the result's bits change.
constexpr uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// splitmix64 (Steele, Lea, Flood 2014).
class SplitMix64 {
 public:
  constexpr explicit SplitMix64(uint64_t seed) : state_(seed) {}
  constexpr uint64_t next() { return mix_bits(state_ += kGoldenRatio); }

 private:
  uint64_t state_;
};

// The high bits of Knuth's MMIX linear congruential generator: good enough to spread threads.
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

}  // namespace logjam::platform
