// Pearson's chi-square test, for draws with fixed seeds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace logjam {

// The probability that counts which follow `probabilities` are at least as far from them as
// `counts` are (by the approximation of Wilson and Hilferty, 1931). 0 if something was drawn that
// has no probability.
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

// The seeds are fixed, so a test that holds once holds always. At this level a sound generator
// fails one of a thousand tests when its seed is changed.
inline void expect_follows(const std::vector<uint64_t>& counts,
                           const std::vector<double>& probabilities, const std::string& what) {
  EXPECT_GT(chi_square_p_value(counts, probabilities), 0.001) << what;
}

inline void expect_uniform(const std::vector<uint64_t>& counts, const std::string& what) {
  expect_follows(counts, std::vector<double>(counts.size(), 1 / static_cast<double>(counts.size())),
                 what);
}

// `hits` of `all` draws have the probability `exact`.
inline void expect_share(uint64_t hits, uint64_t all, double exact, const std::string& what) {
  expect_follows({hits, all - hits}, {exact, 1 - exact}, what);
}

}  // namespace logjam
