#include "logging/counters.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

TEST(Counters, SinceSubtractsEarlierValues) {
  const Counters before = {{"groups", 10}, {"mean_size", 40, 10}};
  const Counters after = {{"groups", 12}, {"mean_size", 44, 12}, {"new", 3}};
  const Counters since = after.since(before);
  EXPECT_EQ(since.value("groups"), 2);
  EXPECT_EQ(since.value("mean_size"), 2);
  EXPECT_EQ(since.value("new"), 3);
}

TEST(Counters, AddSumsByName) {
  Counters all = {{"flushes", 1}, {"bytes_mean", 100, 1}};
  all.add({{"flushes", 3}, {"bytes_mean", 100, 3}});
  EXPECT_EQ(all.value("flushes"), 4);
  EXPECT_EQ(all.value("bytes_mean"), 50);
}

}  // namespace
}  // namespace logjam
