// Crash rounds: kill -9, recovery, and a check of the history. By default there is one round for
// each scheme x protocol; commit policies and record granularities alternate.
//
// Environment variables:
// LOGJAM               the binary (default: build/logjam)
// LOGJAM_TEST_ALL      if set, a round for each scheme x protocol x commit policy x granularity
// LOGJAM_CRASH_ROUNDS  if set, a suite plays this number of rounds, with consecutive seeds
// LOGJAM_CRASH_SEED    the first seed for LOGJAM_CRASH_ROUNDS (default: 0)
// LOGJAM_CRASH_SYNC    if set, the sync method of all rounds
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "proof/rounds/child.h"
#include "proof/rounds/crash_round.h"
#include "tests/draw.h"
#include "tests/proof/damage.h"

namespace logjam {

// GoogleTest prints the parameters of tests with this function.
void PrintTo(const CrashRound& round, std::ostream* out) { *out << round.name(); }
void PrintTo(const LivesRound& round, std::ostream* out) { *out << round.name(); }

namespace {

// Returns a seed for each scheme x protocol. LOGJAM_TEST_SEED changes the seeds (tests/draw.h).
std::vector<uint64_t> choose_seeds() {
  std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> candidates;
  for (uint64_t seed = 0; seed < crash_combinations(); ++seed) {
    const CrashRound round = derive_round(seed);
    candidates[{round.flags.scheme, round.flags.protocol}].push_back(seed);
  }
  std::vector<uint64_t> seeds;
  for (const auto& [pair, of_pair] : candidates) {
    const uint64_t turn = seeds.size() + test_seed();
    seeds.push_back(of_pair[turn % of_pair.size()] + test_seed() % 1000 * crash_combinations());
  }
  return seeds;
}

const std::vector<uint64_t>& seeds_of_each_scheme_and_protocol() {
  static const std::vector<uint64_t> seeds = choose_seeds();
  return seeds;
}

// Returns the seeds that the environment variables select.
std::vector<uint64_t> asked_seeds() {
  const uint64_t first = number_from("LOGJAM_CRASH_SEED", 0);
  std::vector<uint64_t> seeds(number_from("LOGJAM_CRASH_ROUNDS", 0));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

void force_sync(LedgerFlags* flags) {
  if (const char* sync = std::getenv("LOGJAM_CRASH_SYNC")) flags->sync = sync;
}
CrashRound with_sync(CrashRound round) {
  force_sync(&round.flags);
  return round;
}
LivesRound with_sync(LivesRound round) {
  for (Life& life : round.lives) force_sync(&life.flags);
  return round;
}

std::vector<CrashRound> rounds() {
  std::vector<uint64_t> seeds = asked_seeds();
  if (seeds.empty() && tries_all()) {
    seeds.resize(crash_combinations());
    std::iota(seeds.begin(), seeds.end(), 0);
  }
  if (seeds.empty()) seeds = seeds_of_each_scheme_and_protocol();
  std::vector<CrashRound> all;
  for (const uint64_t seed : seeds) all.push_back(with_sync(derive_round(seed)));
  return all;
}

template <class Round>
CrashResult play_and_tell(const Round& round) {
  const CrashResult result = play(round, binary_under_test());
  std::cout << "seed " << round.seed << ", " << round.name() << "\n"
            << result.commands << "  " << result.report << std::endl;
  EXPECT_TRUE(result.passed) << "seed " << round.seed << ": " << result.report;
  return result;
}

template <class Info>
std::string name_of(const Info& info) {
  return info.param.name() + "_" + std::to_string(info.param.seed);
}

class Crash : public testing::TestWithParam<CrashRound> {};

TEST_P(Crash, LosesNothing) {
  ASSERT_EQ(access(binary_under_test().c_str(), X_OK), 0)
      << "no logjam at " << binary_under_test() << ": set LOGJAM to the binary";
  const CrashRound& round = GetParam();
  const CrashResult result = play_and_tell(round);
  // A run that ends by itself acknowledges transactions. A kill may come before the first of them.
  if (round.ends_by_itself) {
    EXPECT_GT(result.acknowledged, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Rounds, Crash, testing::ValuesIn(rounds()),
                         [](const auto& info) { return name_of(info); });

std::vector<LivesRound> rounds_of_lives() {
  std::vector<LivesRound> all;
  for (const uint64_t seed : asked_seeds()) all.push_back(with_sync(derive_lives(seed)));
  if (!all.empty()) return all;
  for (const uint64_t seed : seeds_of_each_scheme_and_protocol()) {
    constexpr uint64_t kEach = 3;  // tests a third of the pairs; the seed chooses which
    if (seed % kEach == 0 || tries_all()) all.push_back(derive_lives(seed));
  }
  return all;
}

class CrashLives : public testing::TestWithParam<LivesRound> {};

TEST_P(CrashLives, LoseNothing) { play_and_tell(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rounds, CrashLives, testing::ValuesIn(rounds_of_lives()),
                         [](const auto& info) { return name_of(info); });

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
