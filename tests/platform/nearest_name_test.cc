#include "platform/nearest_name.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace logjam::platform
