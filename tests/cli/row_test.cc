// The values in the columns of a row, in a CSV file, and in JSON.
#include "cli/row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

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
    // A percentile is the middle of the histogram's bin. It differs from the values in the bin by
    // less than 0.4 %.
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

TEST(Json, TextsAreEscaped) {
  EXPECT_EQ(json_text("plain, it's"), "\"plain, it's\"");
  EXPECT_EQ(json_text("say \"a\\b\"\n"), R"("say \"a\\b\"\u000a")");
  EXPECT_EQ(json_text(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
}

TEST(Json, BytesThatAreNoUtf8AreReplacedAndOthersStay) {
  const std::string good = "\u00b5s \u20ac \U0001f600";
  EXPECT_EQ(json_text(good), "\"" + good + "\"");
  // Invalid UTF-8: a continuation byte without a first byte, a first byte at the end, an encoding
  // that is too long, a surrogate, and a number above U+10FFFF.
  EXPECT_EQ(json_text("a\x80z"), "\"a?z\"");
  EXPECT_EQ(json_text("a\xe2\x82"), "\"a??\"");
  EXPECT_EQ(json_text("\xc0\xaf"), "\"??\"");
  EXPECT_EQ(json_text("\xe0\x9f\xbf"), "\"???\"");
  EXPECT_EQ(json_text("\xed\xa0\x80"), "\"???\"");
  EXPECT_EQ(json_text("\xf4\x90\x80\x80"), "\"????\"");
}

TEST(Json, ObjectsAndArraysHaveCommasBetweenTheirParts) {
  EXPECT_EQ(json_object({}), "{}");
  EXPECT_EQ(json_object({{"a", "1"}, {"b \"c\"", "[]"}}), R"({"a": 1, "b \"c\"": []})");
  EXPECT_EQ(json_array({}), "[]");
  EXPECT_EQ(json_array({"1", "null"}), "[1, null]");
}

// A revision of the source is a string even if all its characters are digits.
TEST(Json, TheKindOfAValueDoesNotFollowFromItsLooks) {
  Row row = {{"revision", "1234567"},
             {"other", std::string("12e4567")},
             {"count", uint64_t{7}},
             {"rate", number(1.25, 2)},
             {"endless", number(std::numeric_limits<double>::infinity())},
             {"on", true},
             {"off", false},
             {"empty", ""},
             {"nothing", Value()}};
  EXPECT_EQ(to_json(row),
            R"({"revision": "1234567", "other": "12e4567", "count": 7, "rate": 1.25, )"
            R"("endless": null, "on": true, "off": false, "empty": null, "nothing": null})");
}

TEST(Json, TheSchemesCountersAreAnObject) {
  Row row;
  add_counters({{"flushes", 3}, {"hops", 5}, {"mean_group_size", 3, 2}}, &row);
  EXPECT_EQ(row.back().second.text(), "hops=5.00 mean_group_size=1.50");
  EXPECT_EQ(row.back().second.json(), R"({"hops": 5.00, "mean_group_size": 1.50})");
  add_counters({}, &row);
  EXPECT_EQ(row.back().second.json(), "{}");
}

TEST(Json, AListIsAnArray) {
  const Value list = list_of({number(1.25, 2), number(2, 0)});
  EXPECT_EQ(list.text(), "1.25 2");
  EXPECT_EQ(list.json(), "[1.25, 2]");
  EXPECT_EQ(list_of({}).json(), "[]");
}

TEST(Json, EachRowIsALineAfterTheOthers) {
  const TemporaryDirectory directory;
  const OutputFiles files{.csv = "", .json = directory.path_of("rows.json"), .cdf = ""};
  files.append({{"a", "x\ny"}});
  files.append({{"b", number(2, 0)}});
  std::ifstream in(files.json);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "{\"a\": \"x\\u000ay\"}\n{\"b\": 2}\n");
}

}  // namespace
}  // namespace logjam
