#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

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

TEST_F(OltpTest, RowsHaveTheFormatOfSysbench) {
  Row row;
  oltp::load_row(&row, 17, 3);
  oltp::add_to_c(&row, 17, ~uint64_t{0} - oltp::seed_of(row.c.data()));
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

// Column k has the distribution of the ids that transactions choose (distribution_test.cc).
TEST_F(OltpTest, LoadedRowsHaveAKOfTheDistribution) {
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

TEST_F(OltpTest, TheFourRangesReturnWhatTheirStatementsSay) {
  using oltp::Range;
  set({{"oltp_tables", "1"}});
  const auto workload = make_workload("oltp");
  const auto database = load(*workload, 1);
  Table& table = *database->tables()[0];
  row<Row>(table, 55).c = row<Row>(table, 52).c;  // so that DISTINCT removes a value
  const auto c_of = [](const Row* row) { return std::string(row->c.data()); };
  std::vector<std::string> all;
  uint64_t sum = 0;
  for (Key id = 50; id <= 59; ++id) {
    all.push_back(c_of(&row<Row>(table, id)));
    sum += row<Row>(table, id).k;
  }
  std::vector<std::string> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  ASSERT_EQ(distinct.size(), 9u);
  ASSERT_NE(sorted, all);
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
    in_transaction(*database, protocol, [&](Transaction& txn) {
      oltp::RangeSelect select(10);
      const auto run = [&](Range range, Key from, Key to) {
        EXPECT_EQ(select.run(txn, table, range, from, to), Status::kOk);
        std::vector<std::string> found;
        for (const Row* row : select.rows) found.push_back(c_of(row));
        return found;
      };
      EXPECT_EQ(run(Range::kSimple, 50, 59), all);
      EXPECT_EQ(run(Range::kSum, 50, 59), all);
      EXPECT_EQ(select.sum, sum);
      EXPECT_EQ(run(Range::kOrder, 50, 59), sorted);
      EXPECT_EQ(run(Range::kDistinct, 50, 59), distinct);
      EXPECT_EQ(run(Range::kSimple, 195, 204).size(), 6u) << "the ids end at 200";
      EXPECT_TRUE(run(Range::kDistinct, 300, 309).empty());
    });
  }
}

TEST_F(OltpTest, VerifyFindsPlantedErrors) {
  const auto posting_of = [](Table& table, Key id) {
    Posting* found = nullptr;
    table.secondary(oltp::kByK).for_each([&](Keyed* entry) {
      auto* posting = static_cast<Posting*>(entry);
      if (posting->primary == id && posting->key == row<Row>(table, id).k) found = posting;
    });
    return found;
  };
  const PlantedErrors<Table> planted = {
      {"every row is there", [](Table& t) { erase(t, 7); }},
      {"every row is whole", [](Table& t) { row<Row>(t, 7).c[30] ^= 1; }},
      {"every row is whole", [](Table& t) { row<Row>(t, 7).pad = row<Row>(t, 8).pad; }},
      {"every row is found", [](Table& t) { row<Row>(t, 7).k += 100'000; }},
      // A posting is missing, or leads to the wrong row.
      {"every row is found", [&](Table& t) { posting_of(t, 7)->key = 1'000'000; }},
      {"every row is found", [&](Table& t) { posting_of(t, 7)->tuple = tuple(t, 8); }},
      // A part of a transaction is lost: its update of k, or its update of c.
      {"every transaction is whole", [](Table& t) { row<Row>(t, 7).k -= 1; }},
      {"every transaction is whole", [](Table& t) { oltp::add_to_c(&row<Row>(t, 7), 7, 99); }},
      {"every transaction is there, and once",
       [](Table& t) {
         row<Row>(t, 7).k -= 1;
         oltp::add_to_c(&row<Row>(t, 7), 7, ~uint64_t{0});
       }},
  };
  expect_each_caught("oltp", 100, planted);
}

}  // namespace
}  // namespace logjam
