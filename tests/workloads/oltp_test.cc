#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/oltp/rows.h"

namespace logjam {
namespace {

using oltp::Row;

class OltpTest : public WorkloadTest {
 protected:
  OltpTest() { set(small_scale("oltp")); }
};

TEST_F(OltpTest, RefusesBadFlagsInOneSentence) {
  const auto refusal = [](const Flags& flags) { return refusal_of("oltp", flags); };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"oltp_tables", "0"}}), "--oltp_tables is 1 to 1000");
  EXPECT_NE(refusal({{"oltp_rows", "0"}}), "");
  EXPECT_NE(refusal({{"oltp_distribution", "pareto"}}), "");
  EXPECT_NE(refusal({{"oltp_range_size", "0"}}), "");
  EXPECT_NE(refusal({{"oltp_point_selects", "1001"}}), "");
}

TEST_F(OltpTest, RowsHaveTheFormatOfSysbench) {
  Row row;
  oltp::fill(&row, 17, 3, 0xffff'ffff'ffff'ffff);
  const std::string c(row.c.data()), pad(row.pad.data());
  EXPECT_EQ(c.size(), 119u);
  EXPECT_EQ(pad.size(), 59u);
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i] == '-', i % 12 == 11) << c;
  EXPECT_TRUE(c.starts_with("00184467440-73709551615-")) << c;
  EXPECT_TRUE(oltp::is_whole(row, 17));
  EXPECT_FALSE(oltp::is_whole(row, 18));
  for (size_t i = 0; i < 119; ++i) {
    row.c[i] ^= 1;
    EXPECT_FALSE(oltp::is_whole(row, 17)) << i;
    row.c[i] ^= 1;
  }
}

TEST_F(OltpTest, SpecialIdsAreConcentratedInTheMiddle) {
  for (const char* distribution : {"special", "uniform"}) {
    set({{"oltp_rows", "20000"}, {"oltp_distribution", distribution}});
    const auto workload = make_workload("oltp");
    const auto database = load(*workload, 2);
    double middle = 0, rows = 0;
    each<Row>(*database->tables()[0], [&](Key, const Row& row) {
      ++rows;
      EXPECT_GE(row.k, 1u);
      EXPECT_LE(row.k, 20'000u);
      middle += row.k >= 9'900 && row.k <= 10'101;
    });
    EXPECT_NEAR(middle / rows, *distribution == 's' ? 0.75 + 0.25 * 0.048 : 0.0101, 0.02);
  }
}

// Each index update adds 1 to k. Without deletes, the sum of all k grows by the number of updates.
TEST_F(OltpTest, IndexUpdatesMoveRowsInTheIndex) {
  set({{"oltp_tables", "1"}, {"oltp_delete_inserts", "0"}});
  for (const ProtocolInfo& protocol : all_protocols()) {
    const auto workload = make_workload("oltp");
    const auto database = load(*workload, 1);
    Table& table = *database->tables()[0];
    const auto sum = [&] {
      uint64_t all = 0;
      each<Row>(table, [&](Key, const Row& row) { all += row.k; });
      return all;
    };
    const uint64_t before = sum();
    Outcome outcome;
    run(*workload, *database, protocol, 3, 300, 1, outcome);
    EXPECT_EQ(sum() - before, 900u) << protocol.name;
    expect_consistent(*workload, *database);
  }
}

TEST_F(OltpTest, VerifyFindsPlantedErrors) {
  const std::vector<std::pair<std::string, std::function<void(Table&)>>> planted = {
      {"every row is there", [](Table& t) { erase(t, 7); }},
      {"every row is whole", [](Table& t) { row<Row>(t, 7).c[30] ^= 1; }},
      {"every row is whole", [](Table& t) { row<Row>(t, 7).pad = row<Row>(t, 8).pad; }},
      {"every row is found", [](Table& t) { row<Row>(t, 7).k += 100'000; }},
  };
  for (const auto& [caught_by, plant] : planted) {
    expect_caught("oltp", 100, caught_by,
                  [&plant = plant](Database& database) { plant(*database.tables()[0]); });
  }
}

}  // namespace
}  // namespace logjam
