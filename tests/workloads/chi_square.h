// Pearson's chi-square test, for random numbers from fixed seeds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace logjam {

// Returns the probability that random counts differ from the expected counts at least as much as
// `counts` (by Wilson and Hilferty, 1931). Returns 0 if `counts` has an impossible value.
inline double chi_square_p_value(const std::vector<uint64_t>& counts,
                                 const std::vector<double>& probabilities) {
  EXPECT_EQ(counts.size(), probabilities.size());
  EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-9);
  const auto draws =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  double statistic = 0, freedom = -1;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * draws;
    const double difference = static_cast<double>(counts[i]) - expected;
    if (expected > 0) {
      EXPECT_GE(expected, 5) << "too few draws for cell " << i;
      statistic += difference * difference / expected;
      ++freedom;
    } else if (counts[i] > 0) {
      return 0;
    }
  }
  if (freedom <= 0) return 1;
  const double spread = 2 / (9 * freedom);
  const double z = (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
  return std::erfc(z / std::sqrt(2)) / 2;
}

// Expects that `counts` follow `probabilities`. Seeds are fixed, so a test that passes once always
// passes. With a new seed, a correct generator fails one test in a thousand.
inline void expect_follows(const std::vector<uint64_t>& counts,
                           const std::vector<double>& probabilities, const std::string& what) {
  EXPECT_GT(chi_square_p_value(counts, probabilities), 0.001) << what;
}

// Compares frequent values one by one. Puts rare values into groups that each occur often enough.
inline void expect_follows_in_groups(const std::vector<uint64_t>& counts,
                                     const std::vector<double>& probabilities,
                                     const std::string& what) {
  const auto draws =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  std::vector<uint64_t> groups(1);
  std::vector<double> expected(1);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (expected.back() * draws >= 200) {
      groups.push_back(0);
      expected.push_back(0);
    }
    groups.back() += counts[i];
    expected.back() += probabilities[i];
  }
  groups[groups.size() - 2] += groups.back();  // the last group may be too small
  expected[expected.size() - 2] += expected.back();
  groups.pop_back();
  expected.pop_back();
  expect_follows(groups, expected, what);
}

inline void expect_uniform(const std::vector<uint64_t>& counts, const std::string& what) {
  expect_follows(counts, std::vector<double>(counts.size(), 1 / static_cast<double>(counts.size())),
                 what);
}

// Expects the frequency `hits` / `all` to agree with the probability `exact`.
inline void expect_share(uint64_t hits, uint64_t all, double exact, const std::string& what) {
  expect_follows({hits, all - hits}, {exact, 1 - exact}, what);
}

}  // namespace logjam
