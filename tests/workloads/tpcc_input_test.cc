// TPC-C's random input is as clauses 2.1.6 and 4.3.2 prescribe.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/workloads/chi_square.h"
#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

std::string last_name(uint32_t number) {
  char name[16];
  make_last_name(number, name);
  return std::string(text(name));
}

TEST(TpccInputTest, LastNamesAreThreeSyllables) {
  EXPECT_EQ(last_name(0), "BARBARBAR");
  EXPECT_EQ(last_name(371), "PRICALLYOUGHT");  // the specification's example
  EXPECT_EQ(last_name(40), "BARPRESBAR");
  EXPECT_EQ(last_name(999), "EINGEINGEING");
  EXPECT_EQ(last_name(777), "CALLYCALLYCALLY");  // the longest name, 15 characters
  std::set<std::string> names;
  for (uint32_t number = 0; number < 1000; ++number) names.insert(last_name(number));
  EXPECT_EQ(names.size(), 1000u);
}

// Returns the exact probabilities of `low` to `high` in NURand(a, low, high) with the constant `c`.
// `a` is a power of 2 minus 1. NURand ORs a number r of [0, a] with a number x of [low, high]. The
// result is v if r has each bit of v that x lacks, and no bit that v lacks.
std::vector<double> nu_rand_probabilities(uint32_t a, uint32_t c, uint32_t low, uint32_t high) {
  const uint32_t range = high - low + 1;
  std::vector<uint64_t> pairs((high | a) + 1);
  for (uint32_t x = low; x <= high; ++x) pairs[x] += uint64_t{1} << std::popcount(x & a);
  for (uint32_t bit = 1; bit <= a; bit <<= 1) {  // sums over subsets of the low bits
    for (uint32_t v = 0; v < pairs.size(); ++v) {
      if ((v & bit) != 0) pairs[v] += pairs[v ^ bit];
    }
  }
  std::vector<double> probabilities(range);
  const double all = static_cast<double>(range) * (a + 1.0);
  for (uint32_t v = 0; v < pairs.size(); ++v) {
    probabilities[(v + c) % range] += static_cast<double>(pairs[v]) / all;
  }
  return probabilities;
}

// Clause 2.1.6: NURand(1023, 1, 3000), NURand(8191, 1, 100000) and NURand(255, 0, 999).
TEST(TpccInputTest, CustomersItemsAndLastNamesAreDrawnWithNuRandsProbabilities) {
  constexpr uint64_t kDraws = 1'000'000;
  Database database;
  create_tables(database, {.warehouses = 1, .items = 1, .customers = 10});
  const Scale scale;
  std::map<std::string, uint32_t> names;
  for (uint32_t number = 0; number < 1000; ++number) names[last_name(number)] = number;
  for (const uint64_t seed : {1, 2}) {
    Terminal terminal(database, scale, 0, {}, seed);
    const NuRandConstants constants = NuRandConstants::of_run(seed);
    std::vector<uint64_t> customers(3000), items(100'000), named(1000);
    for (uint64_t i = 0; i < kDraws; ++i) {
      ++customers.at(terminal.draw_customer() - 1);
      ++items.at(terminal.draw_item() - 1);
    }
    for (uint64_t i = 0; i < kDraws / 4; ++i) {
      char name[16];
      terminal.draw_last_name(name);
      ++named[names.at(std::string(text(name)))];
    }
    expect_follows_in_groups(customers, nu_rand_probabilities(1023, constants.customer, 1, 3000),
                             "customers");
    expect_follows_in_groups(items, nu_rand_probabilities(8191, constants.item, 1, 100'000),
                             "items");
    expect_follows_in_groups(named, nu_rand_probabilities(255, constants.last_name, 0, 999),
                             "last names");
  }
}

// As in Silo's TPC-C, several workers share a warehouse if there are more workers than warehouses.
// Otherwise each worker has a range of warehouses, and the last worker also has the remainder.
TEST(TpccInputTest, WarehousesAreSplitAmongAllWorkers) {
  const auto split = [](uint32_t workers, uint32_t warehouses) {
    std::string text;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      const Home home = Home::of(HomePolicy::kSplit, worker, workers, warehouses);
      EXPECT_EQ(home.district, 0u) << "Stock-Level draws the district";
      text += std::to_string(home.first) + "-" + std::to_string(home.first + home.count - 1) + " ";
    }
    return text;
  };
  EXPECT_EQ(split(1, 4), "1-4 ");
  EXPECT_EQ(split(2, 4), "1-2 3-4 ");
  EXPECT_EQ(split(4, 4), "1-1 2-2 3-3 4-4 ");
  EXPECT_EQ(split(3, 8), "1-2 3-4 5-8 ");
  EXPECT_EQ(split(5, 2), "1-1 2-2 1-1 2-2 1-1 ");

  const Home fixed = Home::of(HomePolicy::kFixed, 9, 20, 4);
  EXPECT_EQ(fixed.first, 2u);
  EXPECT_EQ(fixed.count, 1u);
  EXPECT_EQ(fixed.district, 3u);
  const Home any = Home::of(HomePolicy::kAny, 9, 20, 4);
  EXPECT_EQ(any.first, 1u);
  EXPECT_EQ(any.count, 4u);
}

// A row's memory should be on the node of the row's worker, so each part's loader asks worker_of().
TEST(TpccInputTest, AWarehouseIsLoadedByTheWorkersThatWorkForIt) {
  for (const uint32_t workers : {1, 2, 3, 8, 64}) {
    for (const uint32_t warehouses : {1, 2, 3, 4, 7, 64, 100}) {
      std::vector<uint32_t> loads(workers);
      for (uint32_t warehouse = 1; warehouse <= warehouses; ++warehouse) {
        for (uint32_t turn = 0; turn < 130; ++turn) {
          const uint32_t worker = Home::worker_of(warehouse, turn, workers, warehouses);
          ASSERT_LT(worker, workers);
          const Home home = Home::of(HomePolicy::kSplit, worker, workers, warehouses);
          EXPECT_TRUE(home.first <= warehouse && warehouse < home.first + home.count)
              << warehouse << " of " << warehouses << " is loaded by " << worker << " of "
              << workers;
          ++loads[worker];
        }
      }
      EXPECT_GT(std::ranges::min(loads), 0u) << "a worker that loads nothing";
    }
  }
}

TEST(TpccInputTest, ATerminalDrawsAllItsWarehousesAlike) {
  Database database;
  create_tables(database, {.warehouses = 1, .items = 1, .customers = 10});
  const Scale scale{.warehouses = 8, .items = 100, .customers = 10};
  Terminal terminal(database, scale, 2, Home::of(HomePolicy::kSplit, 2, 3, 8), 1);
  std::vector<uint64_t> drawn(8), remote(8);
  for (int i = 0; i < 40'000; ++i) {
    ++drawn.at(terminal.draw_warehouse() - 1);
    ++remote.at(terminal.draw_remote_warehouse(6) - 1);
  }
  expect_follows(drawn, {0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25}, "its warehouses");
  const double one = 1.0 / 7;
  expect_follows(remote, {one, one, one, one, one, 0, one, one}, "other warehouses");
}

TEST(TpccInputTest, NuRandConstantsOfLoadAndRunDiffer) {
  const NuRandConstants load = NuRandConstants::of_load();
  std::set<uint32_t> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const NuRandConstants run = NuRandConstants::of_run(seed);
    EXPECT_LE(run.last_name, 255u);
    EXPECT_LE(run.customer, 1023u);
    EXPECT_LE(run.item, 8191u);
    EXPECT_TRUE(last_name_constants_differ_enough(load.last_name, run.last_name)) << seed;
    seen.insert(run.last_name);
  }
  EXPECT_GT(seen.size(), 20u);
  EXPECT_EQ(NuRandConstants::of_run(5).item, NuRandConstants::of_run(5).item);

  EXPECT_FALSE(last_name_constants_differ_enough(100, 164));
  EXPECT_TRUE(last_name_constants_differ_enough(100, 165));
  EXPECT_FALSE(last_name_constants_differ_enough(100, 196));
  EXPECT_FALSE(last_name_constants_differ_enough(212, 100));
  EXPECT_TRUE(last_name_constants_differ_enough(219, 100));
  EXPECT_FALSE(last_name_constants_differ_enough(220, 100));
}

TEST(TpccInputTest, StringsHaveTheirLengthsAndAreZeroPadded) {
  Random random(3);
  std::set<size_t> lengths;
  for (int i = 0; i < 1000; ++i) {
    char field[20];
    std::memset(field, '#', sizeof field);
    fill_alphanumeric(random, field, sizeof field, 10, 14);
    const std::string_view said = text(field);
    lengths.insert(said.size());
    EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](unsigned char c) { return isalnum(c); }));
    EXPECT_TRUE(std::all_of(field + said.size(), std::end(field), [](char c) { return c == 0; }));
  }
  EXPECT_EQ(lengths, (std::set<size_t>{10, 11, 12, 13, 14}));
}

}  // namespace
}  // namespace logjam::tpcc
