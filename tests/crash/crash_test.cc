// kill -9, recover, prove: one round for each scheme x protocol x granularity, under the commit
// policies in turn; scripts/crash_rounds.py plays the whole product.
//
// LOGJAM          the binary (default: build/logjam)
// LOGJAM_CRASH_SEED, LOGJAM_CRASH_ROUNDS    play these instead: first seed, and how many rounds
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "tests/crash/crash_round.h"

namespace logjam {

// For GoogleTest.
void PrintTo(const CrashRound& round, std::ostream* out) { *out << round.name(); }

namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string binary() {
  const char* path = std::getenv("LOGJAM");
  return std::filesystem::absolute(path == nullptr ? "build/logjam" : path);
}

std::vector<CrashRound> rounds() {
  const uint64_t first = number_from("LOGJAM_CRASH_SEED", 0);
  const uint64_t count = number_from("LOGJAM_CRASH_ROUNDS", 0);
  std::vector<CrashRound> all;
  for (uint64_t i = 0; i < count; ++i) all.push_back(derive_round(first + i));
  if (count != 0) return all;
  // A seed's policy is its rest by their number.
  constexpr uint64_t kPolicies = 3;
  for (uint64_t i = 0; i < crash_combinations() / kPolicies; ++i) {
    all.push_back(derive_round(i * kPolicies + i % kPolicies));
  }
  return all;
}

class Crash : public testing::TestWithParam<CrashRound> {
 protected:
  static void TearDownTestSuite() {
    // Rounds in which nothing was acknowledged would prove nothing.
    EXPECT_GT(acknowledged_, 0u);
  }
  static uint64_t acknowledged_;
};
uint64_t Crash::acknowledged_ = 0;

TEST_P(Crash, LosesNothing) {
  ASSERT_EQ(access(binary().c_str(), X_OK), 0)
      << "no logjam at " << binary() << ": set LOGJAM to the binary";
  const CrashRound& round = GetParam();
  const std::string directory =
      std::filesystem::temp_directory_path() /
      ("logjam-crash-" + std::to_string(getpid()) + "-" + std::to_string(round.seed));
  const CrashResult result = play(round, binary(), directory);
  acknowledged_ += result.acknowledged;
  std::cout << "seed " << round.seed << ", " << round.name() << "\n"
            << result.commands << "  " << result.report << std::endl;
  EXPECT_TRUE(result.passed) << "seed " << round.seed << ": " << result.report;
}

INSTANTIATE_TEST_SUITE_P(Rounds, Crash, testing::ValuesIn(rounds()), [](const auto& info) {
  return info.param.name() + "_" + std::to_string(info.param.seed);
});

TEST(CrashRound, SeedsCoverEveryCombinationAndReplay) {
  std::set<std::string> names;
  for (uint64_t seed = 7; seed < 7 + crash_combinations(); ++seed) {
    const CrashRound round = derive_round(seed);
    names.insert(round.name());
    EXPECT_EQ(round.run_flags, derive_round(seed).run_flags);
  }
  EXPECT_EQ(names.size(), crash_combinations());
}

}  // namespace
}  // namespace logjam
