#include "workloads/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/workloads/chi_square.h"
#include "workloads/zipf.h"

namespace logjam {
namespace {

TEST(RandomTest, EqualSeedAndStreamGiveEqualNumbers) {
  Random a(7, 3), b(7, 3), other_seed(8, 3), other_stream(7, 4);
  for (int i = 0; i < 100; ++i) {
    const uint64_t x = a.next();
    EXPECT_EQ(x, b.next());
    EXPECT_NE(x, other_seed.next());
    EXPECT_NE(x, other_stream.next());
  }
}

TEST(RandomTest, BelowIsUniform) {
  for (const uint64_t n : {2u, 3u, 10u, 100u}) {
    Random random(n);
    std::vector<uint64_t> counts(n);
    constexpr uint64_t kDraws = 200'000;
    for (uint64_t i = 0; i < kDraws; ++i) ++counts.at(random.below(n));
    expect_uniform(counts, std::to_string(n));
  }
}

// If the generator rejected no number, the residues would have the probabilities 1/4, 1/4 and 1/2.
TEST(RandomTest, BelowIsUniformInALargeRange) {
  constexpr uint64_t kRange = 3 * (uint64_t{1} << 62);
  Random random(1);
  std::vector<uint64_t> residues(3);
  constexpr uint64_t kDraws = 100'000;
  for (uint64_t i = 0; i < kDraws; ++i) ++residues.at(random.below(kRange) % 3);
  expect_uniform(residues, "residues");
}

TEST(RandomTest, BetweenReachesExactlyItsRange) {
  Random random(5);
  int64_t low = 100, high = -100;
  for (int i = 0; i < 1000; ++i) {
    const int64_t x = random.between(-3, 4);
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_EQ(low, -3);
  EXPECT_EQ(high, 4);
}

TEST(ZipfTest, ZetaOfManyTermsEqualsTheirSum) {
  constexpr uint64_t kTerms = 1'000'000;
  for (const double theta : {0.0, 0.6, 0.99}) {
    double sum = 0;
    for (uint64_t i = kTerms; i > 0; --i) sum += std::pow(static_cast<double>(i), -theta);
    EXPECT_NEAR(zeta(kTerms, theta) / sum, 1, 1e-12) << theta;
  }
  // YCSB's own constant for ten billion items (ScrambledZipfianGenerator.ZETAN).
  EXPECT_NEAR(zeta(10'000'000'000, 0.99), 26.46902820178302, 1e-6);
}

TEST(ZipfTest, DrawsFromSmallPopulations) {
  for (uint64_t records = 1; records <= 4; ++records) {
    const Zipf zipf(records, 0.9);
    Random random(records);
    std::vector<uint64_t> counts(records);
    for (int i = 0; i < 10'000; ++i) ++counts.at(zipf.draw(random));
    for (uint64_t rank = 0; rank < records; ++rank) EXPECT_GT(counts[rank], 0u) << records;
  }
}

TEST(ZipfTest, FnvMatchesKnownValues) {
  // FNV-1a-64 of eight zero octets, and of 'a' with seven zero octets, by the published algorithm.
  EXPECT_EQ(fnv1a(0), 0xa8c7f832281a39c5);
  uint64_t hash = (0xcbf29ce484222325 ^ 'a') * 0x100000001b3;
  EXPECT_EQ(hash, 0xaf63dc4c8601ec8c) << "the published test vector of \"a\"";
  for (int i = 0; i < 7; ++i) hash *= 0x100000001b3;
  EXPECT_EQ(fnv1a('a'), hash);
  // YCSB reads the hash as a signed number, and uses the number's absolute value.
  EXPECT_EQ(ycsb_hash(0), -0xa8c7f832281a39c5);
  EXPECT_EQ(ycsb_hash('a'), hash >> 63 != 0 ? -hash : hash);
}

}  // namespace
}  // namespace logjam
