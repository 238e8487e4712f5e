// Texts of numbers, and names that are similar to a name that does not exist.
#include <gtest/gtest.h>

#include <cstdlib>

#include "platform/nearest_name.h"
#include "platform/text.h"

namespace logjam::platform {
namespace {

const std::vector<std::string_view> kNames = {"async", "pipelined", "sync"};

TEST(NearestName, DiffersInFewLettersOrBeginsAlike) {
  for (const char* given :
       {"pipelined", "Pipelined", "piplined", "pipeliend", "pipe", "pipelining"}) {
    EXPECT_EQ(nearest_name(given, kNames), "pipelined") << given;
  }
  EXPECT_EQ(nearest_name("snyc", kNames), "sync") << "two neighbours are swapped";
  EXPECT_EQ(nearest_name("synchronous", kNames), "sync");
  for (const char* given : {"", "s", "x", "never", "as"}) {
    EXPECT_EQ(nearest_name(given, kNames), "") << given;
  }
  EXPECT_EQ(nearest_name("ab", {"abc1", "abc2"}), "");
  EXPECT_EQ(nearest_name("record", {"record_bytes", "record_words"}), "") << "it may be either";
  EXPECT_EQ(nearest_name("a", {"A", "B"}), "A");
  EXPECT_EQ(nearest_name("a", {}), "");
}

TEST(NearestName, EndsTheSentenceAboutAWrongName) {
  EXPECT_EQ(instead_of("never", kNames), "; allowed are async, pipelined and sync");
  EXPECT_EQ(instead_of("asyn", kNames), "; did you mean async?");
  EXPECT_EQ(instead_of("x", {"only"}), "; allowed is only");
}

TEST(Shortest, HasTheDigitsThatTellTheNumberFromAllOthers) {
  EXPECT_EQ(shortest(0.2), "0.2");
  EXPECT_EQ(shortest(0), "0");
  EXPECT_EQ(shortest(5), "5");
  EXPECT_EQ(shortest(0.999999), "0.999999");
  EXPECT_EQ(shortest(1 - 1e-15), "0.999999999999999");
  EXPECT_EQ(shortest(-2.5), "-2.5");
  for (const double value : {0.1 + 0.2, 1.0 / 3, 1e-300, 5e-324, 1.7976931348623157e308}) {
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
  }
}

TEST(Shortest, HasAnExponentOnlyWhereZerosWouldBeMany) {
  EXPECT_EQ(shortest(100000), "100000");
  EXPECT_EQ(shortest(123456789012), "123456789012");
  EXPECT_EQ(shortest(0.00002), "0.00002");
  EXPECT_EQ(shortest(1e20), "1e+20");
  EXPECT_EQ(shortest(1e-9), "1e-09");
}

}  // namespace
}  // namespace logjam::platform
