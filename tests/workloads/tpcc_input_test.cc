// TPC-C's random input is as clauses 2.1.6 and 4.3.2 prescribe.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "workloads/tpcc/input.h"
#include "workloads/tpcc/schema.h"

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
  EXPECT_EQ(last_name(777), "CALLYCALLYCALLY");  // the longest, 15 characters
  std::set<std::string> names;
  for (uint32_t number = 0; number < 1000; ++number) names.insert(last_name(number));
  EXPECT_EQ(names.size(), 1000u);
}

TEST(TpccInputTest, NuRandReachesExactlyItsRange) {
  Random random(1);
  std::vector<uint32_t> counts(101);
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t x = nu_rand(random, 15, 7, 1, 100);
    ASSERT_GE(x, 1u);
    ASSERT_LE(x, 100u);
    ++counts[x];
  }
  EXPECT_TRUE(std::all_of(counts.begin() + 1, counts.end(), [](uint32_t n) { return n > 0; }));
  // NURand's bitwise OR makes some numbers many times as likely as others.
  std::sort(counts.begin() + 1, counts.end());
  EXPECT_GT(counts[100], 5 * counts[50]);
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

TEST(TpccInputTest, OneItemInTenIsOriginal) {
  Random random(4);
  int originals = 0;
  for (int i = 0; i < 10'000; ++i) {
    char data[50];
    fill_brand_data(random, data);
    originals += text(data).find("ORIGINAL") != std::string_view::npos;
  }
  EXPECT_NEAR(originals, 1000, 150);
}

TEST(TpccInputTest, KeysDecodeToTheirParts) {
  const uint32_t w = (1u << kWarehouseBits) - 1, d = 10;
  const uint64_t o = (uint64_t{1} << kOrderBits) - 1;
  const Key order = order_key(w, d, o), line = line_key(order, kMaxLines);
  EXPECT_EQ(order_of_line(line), order);
  EXPECT_EQ(number_of_order(order), o);
  EXPECT_EQ(warehouse_of_district(district_of_order(order)), w);
  EXPECT_EQ(number_of_district(district_of_order(order)), d);
  EXPECT_EQ(district_of_customer(customer_key(w, d, 3000)), district_key(w, d));
  EXPECT_EQ(warehouse_of_stock(stock_key(w, 100'001)), w);
  // The keys of a customer's orders lie between those of the customers before and after.
  EXPECT_LT(customer_order_key(customer_key(w, d, 2999), o),
            customer_order_key(customer_key(w, d, 3000), 0));
  EXPECT_LT(history_key(1000, 1), loaded_history_key(0));
}

}  // namespace
}  // namespace logjam::tpcc
