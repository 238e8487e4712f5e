// Tests try combinations of parameters (scheme, device, ...) that are chosen at random.
// scripts/run_tests.py sets and prints the seed, LOGJAM_TEST_SEED, which changes with each commit.
// With LOGJAM_TEST_ALL, tests try all combinations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace logjam {

inline bool tries_all() { return std::getenv("LOGJAM_TEST_ALL") != nullptr; }

inline uint64_t test_seed() {
  const char* seed = std::getenv("LOGJAM_TEST_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

// Chooses `count` elements by the seed and the test's name. Returns them in the order of `all`.
template <class T>
std::vector<T> drawn(const std::vector<T>& all, size_t count) {
  if (tries_all()) return all;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string drawer =
      std::string(test.test_suite_name()) + test.name() + std::to_string(test_seed());
  std::seed_seq seeds(drawer.begin(), drawer.end());
  std::mt19937_64 random(seeds);
  std::vector<T> some;
  std::ranges::sample(all, std::back_inserter(some), static_cast<std::ptrdiff_t>(count), random);
  return some;
}

}  // namespace logjam
