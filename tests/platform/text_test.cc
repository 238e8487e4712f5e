// The shortest texts of numbers.
#include "platform/text.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace logjam::platform {
namespace {

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
