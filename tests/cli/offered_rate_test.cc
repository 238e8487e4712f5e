// The value of --rate, and the lines of a profile.
#include "cli/offered_rate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "platform/fatal.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

std::string command_error(const std::function<void()>& command) {
  try {
    command();
  } catch (const platform::CommandError& error) {
    return error.what();
  }
  return "";
}

class OfferedRate : public testing::Test {
 protected:
  std::vector<RateStep> steps_of(const std::string& lines) {
    std::ofstream(path_) << lines;
    return rates_of("profile:" + path_);
  }
  // Returns the sentence that refuses the lines, without the file's path.
  std::string refusal_of(const std::string& lines) {
    const std::string why = command_error([&] { steps_of(lines); });
    const size_t at = why.find(path_);
    return at == why.npos ? why : why.substr(at + path_.size());
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/profile";
};

TEST_F(OfferedRate, ANumberIsOneRate) {
  EXPECT_TRUE(rates_of("0").empty());
  const auto rates = rates_of("2.5e3");
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates[0].from_seconds, 0);
  EXPECT_EQ(rates[0].per_second, 2500);
  for (const char* good : {"0", "0.001", "1e9", "profile:x", "think_us:0", "think_us:1e9"}) {
    EXPECT_EQ(check_rate(good), "");
  }
  for (const char* wrong : {"", "-1", "0.0001", "2e9", "nan", "inf", "1 2", "fast", "profile",
                            "think_us", "think_us:", "think_us:-1", "think_us:1ms"}) {
    EXPECT_EQ(
        check_rate(wrong),
        std::string("--rate=") + wrong +
            " is neither a number without a unit, 0 or from 0.001 to 1e9, nor think_us:N with N "
            "from 0 to 1e9, nor profile:FILE");
  }
}

TEST_F(OfferedRate, AThinkTimeIsNoRate) {
  EXPECT_TRUE(rates_of("think_us:2.5").empty());
  EXPECT_EQ(think_ns_of("think_us:2.5"), 2500u);
  EXPECT_EQ(think_ns_of("2.5"), 0u);
}

TEST_F(OfferedRate, AProfileHasARateFromEachTimeOn) {
  const auto steps = steps_of("# a day in a minute\n\n0 100\n 20.5\t5000 # noon\r\n40 0");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].from_seconds, 20.5);
  EXPECT_EQ(steps[1].per_second, 5000);
  EXPECT_EQ(steps[2].per_second, 0);
}

TEST_F(OfferedRate, EachBadLineGetsItsSentence) {
  EXPECT_EQ(refusal_of("0 100\nx\n"), ", line 2, \"x\", is not SECONDS RATE");
  EXPECT_EQ(refusal_of("0 100 200\n"), ", line 1, \"0 100 200\", is not SECONDS RATE");
  EXPECT_EQ(refusal_of("0\n"), ", line 1, \"0\", is not SECONDS RATE");
  EXPECT_EQ(refusal_of("1 100\n"),
            ", line 1, \"1 100\", begins after 0 s: the first line says the first rate");
  EXPECT_EQ(refusal_of("0 1\n0 2\n"), ", line 2, \"0 2\", is not later than the line before it");
  EXPECT_EQ(refusal_of("0 1\nnan 2\n"),
            ", line 2, \"nan 2\", has a time that is not from 0 to 1e9 s");
  EXPECT_EQ(refusal_of("0 -1\n"),
            ", line 1, \"0 -1\", has a rate that is neither 0 nor from 0.001 to 1e9");
  EXPECT_EQ(refusal_of("0 \x1b[1m\n"), ", line 1, \"0 \\x1b[1m\", is not SECONDS RATE");
  EXPECT_EQ(refusal_of("# none\n"), " has no line SECONDS RATE with a rate above 0");
  EXPECT_EQ(refusal_of("0 0\n"), " has no line SECONDS RATE with a rate above 0");
  EXPECT_EQ(command_error([&] { rates_of("profile:" + directory_.path() + "/none"); }),
            "cannot read --rate=profile:" + directory_.path() + "/none: No such file or directory");
}

}  // namespace
}  // namespace logjam
