// The values in the columns of a row, and in a CSV file.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "cli/output.h"
#include "engine/stats/histogram.h"
#include "platform/clock.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

TEST(Row, LatencyColumnsHoldThePercentilesThatTheyName) {
  Histogram histogram;
  for (int ms = 1; ms <= 1000; ++ms) histogram.record(platform::ns_to_ticks(ms * 1e6));
  HistogramSum sum;
  sum.add(histogram);
  Row row;
  add_latency("commit", sum, &row);
  const std::vector<std::pair<std::string, double>> expected = {{"commit_p50_us", 500e3},
                                                                {"commit_p95_us", 950e3},
                                                                {"commit_p99_us", 990e3},
                                                                {"commit_p999_us", 999e3},
                                                                {"commit_max_us", 1000e3}};
  ASSERT_EQ(row.size(), expected.size());
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i].first, expected[i].first);
    // The middle of a bin is wrong by less than 0.4 %; two percentiles differ by at least 0.1 %.
    EXPECT_NEAR(std::stod(row[i].second.text()), expected[i].second, 0.004 * expected[i].second);
  }
}

TEST(Row, ValuesWithCommasQuotesAndNewlinesAreQuotedInTheCsvFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path_of("rows.csv");
  append_csv(path, {{"plain", "a b"}, {"comma", "a,b"}, {"quote", "say \"a\""}, {"line", "a\nb"}});
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "plain,comma,quote,line\na b,\"a,b\",\"say \"\"a\"\"\",\"a\nb\"\n");
}

}  // namespace
}  // namespace logjam
