// Crash rounds: kill -9, recovery, and a check of the history. There is one round for each scheme x
// protocol; commit policies and record granularities alternate.
//
// Environment variables:
// LOGJAM               the binary (default: build/logjam)
// LOGJAM_TEST_ALL      if set, a round for each scheme x protocol x commit policy x granularity
// LOGJAM_CRASH_SEED    the first seed, and
// LOGJAM_CRASH_ROUNDS  the number of rounds to play instead
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "tests/draw.h"
#include "tests/proof/child.h"
#include "tests/proof/crash_round.h"
#include "tests/proof/lives_round.h"

namespace logjam {

// GoogleTest prints parameters with it.
void PrintTo(const CrashRound& round, std::ostream* out) { *out << round.name(); }
void PrintTo(const LivesRound& round, std::ostream* out) { *out << round.name(); }

namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<CrashRound> rounds() {
  const uint64_t first = number_from("LOGJAM_CRASH_SEED", 0);
  const uint64_t count = number_from("LOGJAM_CRASH_ROUNDS", 0);
  std::vector<uint64_t> seeds;
  if (count != 0) {
    for (uint64_t i = 0; i < count; ++i) seeds.push_back(first + i);
  } else if (tries_all()) {
    for (uint64_t i = 0; i < crash_combinations(); ++i) seeds.push_back(i);
  } else {
    seeds = seeds_of_each_scheme_and_protocol();
  }
  std::vector<CrashRound> all;
  for (const uint64_t seed : seeds) all.push_back(derive_round(seed));
  return all;
}

class Crash : public testing::TestWithParam<CrashRound> {};

TEST_P(Crash, LosesNothing) {
  ASSERT_EQ(access(binary_under_test().c_str(), X_OK), 0)
      << "no logjam at " << binary_under_test() << ": set LOGJAM to the binary";
  const CrashRound& round = GetParam();
  const CrashResult result = play(round, binary_under_test());
  std::cout << "seed " << round.seed << ", " << round.name() << "\n"
            << result.commands << "  " << result.report << std::endl;
  EXPECT_TRUE(result.passed) << "seed " << round.seed << ": " << result.report;
  // A round in which nothing was acknowledged would prove nothing. A kill may come that early.
  if (round.ends_by_itself) {
    EXPECT_GT(result.acknowledged, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Rounds, Crash, testing::ValuesIn(rounds()), [](const auto& info) {
  return info.param.name() + "_" + std::to_string(info.param.seed);
});

std::vector<LivesRound> rounds_of_lives() {
  const uint64_t first = number_from("LOGJAM_CRASH_SEED", 0);
  const uint64_t count = number_from("LOGJAM_CRASH_ROUNDS", 0);
  std::vector<LivesRound> all;
  if (count != 0) {
    for (uint64_t i = 0; i < count; ++i) all.push_back(derive_lives(first + i));
    return all;
  }
  for (const uint64_t seed : seeds_of_each_scheme_and_protocol()) {
    constexpr uint64_t kEach = 3;  // a third of the pairs, others by another seed
    if (seed % kEach == 0 || tries_all()) {
      all.push_back(derive_lives(seed));
    }
  }
  return all;
}

class CrashLives : public testing::TestWithParam<LivesRound> {};

TEST_P(CrashLives, LoseNothing) {
  const LivesRound& round = GetParam();
  const CrashResult result = play(round, binary_under_test());
  std::cout << "seed " << round.seed << ", " << round.name() << "\n"
            << result.commands << "  " << result.report << std::endl;
  EXPECT_TRUE(result.passed) << "seed " << round.seed << ": " << result.report;
}

INSTANTIATE_TEST_SUITE_P(Rounds, CrashLives, testing::ValuesIn(rounds_of_lives()),
                         [](const auto& info) {
                           return info.param.name() + "_" + std::to_string(info.param.seed);
                         });

TEST(CrashRound, SeedsCoverEveryCombinationAndAreRepeatable) {
  std::set<std::string> names;
  for (uint64_t seed = 7; seed < 7 + crash_combinations(); ++seed) {
    const CrashRound round = derive_round(seed);
    names.insert(round.name());
    EXPECT_EQ(round.flags.arguments(), derive_round(seed).flags.arguments());
  }
  EXPECT_EQ(names.size(), crash_combinations());
}

TEST(CrashRound, OneRoundForEachSchemeAndProtocolTakesEveryPolicyAndGranularity) {
  std::set<std::string> pairs, policies, granularities;
  size_t rounds = 0, ending_by_themselves = 0;
  for (const uint64_t seed : seeds_of_each_scheme_and_protocol()) {
    const CrashRound round = derive_round(seed);
    ++rounds;
    ending_by_themselves += round.ends_by_itself;
    pairs.insert(round.flags.scheme + " " + round.flags.protocol);
    policies.insert(round.flags.commit);
    granularities.insert(round.flags.log_records);
  }
  EXPECT_EQ(rounds, pairs.size());
  EXPECT_EQ(policies.size(), 3u);
  EXPECT_EQ(granularities.size(), 4u);
  EXPECT_GT(ending_by_themselves, 0u);
}

}  // namespace
}  // namespace logjam
