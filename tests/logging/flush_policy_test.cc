// The moments at which the flush policy asks for a flush.
#include "logging/stream/flush_policy.h"

#include <gtest/gtest.h>

#include "platform/clock.h"

namespace logjam {
namespace {

TEST(FlushPolicyTest, IsImmediateUnlessACriterionIsSet) {
  EXPECT_TRUE(FlushPolicy{}.immediate());
  EXPECT_TRUE(FlushPolicy{.gap_ticks = 1}.immediate());
  EXPECT_FALSE(FlushPolicy{.txns = 1}.immediate());
  EXPECT_FALSE(FlushPolicy{.bytes = 1}.immediate());
  EXPECT_FALSE(FlushPolicy{.wait_ticks = 1}.immediate());
}

TEST(FlushPolicyTest, HasTheTimesOfTheConfigurationInTicks) {
  const FlushPolicy policy =
      FlushPolicy::of(LogConfig{.flush_txns = 3, .flush_bytes = 1000, .flush_us = 500});
  EXPECT_EQ(policy.txns, 3);
  EXPECT_EQ(policy.bytes, 1000);
  EXPECT_EQ(policy.wait_ticks, platform::ns_to_ticks(500e3));
}

TEST(FlushPolicyTest, XTransactionsAreEnough) {
  const FlushPolicy policy{.txns = 3};
  EXPECT_FALSE(policy.enough({.commits = 12, .position = 90000}, {.commits = 10}));
  EXPECT_TRUE(policy.enough({.commits = 13}, {.commits = 10}));
  EXPECT_TRUE(policy.enough({.commits = 14}, {.commits = 10}));
}

TEST(FlushPolicyTest, LBytesAreEnough) {
  const FlushPolicy policy{.bytes = 1000};
  EXPECT_FALSE(policy.enough({.commits = 90, .position = 1099}, {.position = 100}));
  EXPECT_TRUE(policy.enough({.position = 1100}, {.position = 100}));
  EXPECT_TRUE(policy.enough({.position = 1101}, {.position = 100}));
}

TEST(FlushPolicyTest, WithBothOneOfThemIsEnough) {
  const FlushPolicy policy{.txns = 3, .bytes = 1000};
  EXPECT_FALSE(policy.enough({.commits = 2, .position = 999}, {}));
  EXPECT_TRUE(policy.enough({.commits = 3, .position = 999}, {}));
  EXPECT_TRUE(policy.enough({.commits = 2, .position = 1000}, {}));
}

TEST(FlushPolicyTest, WithNeitherNothingIsEnough) {
  EXPECT_FALSE(FlushPolicy{}.enough({.commits = 90, .position = 90000}, {}));
}

// Another thread may raise the goal between a look and the question.
TEST(FlushPolicyTest, ALookThatALaterFlushCoversIsNotEnough) {
  EXPECT_FALSE(FlushPolicy{.txns = 3}.enough({.commits = 9}, {.commits = 10}));
  EXPECT_FALSE(FlushPolicy{.bytes = 1000}.enough({.position = 99}, {.position = 100}));
}

TEST(FlushPolicyTest, TAsksOnceItHasPassedSinceTheOldestPublish) {
  const FlushPolicy policy{.txns = 3, .wait_ticks = 50};
  EXPECT_EQ(policy.ticks_until_asked(1000, 1010), 40);
  EXPECT_FALSE(policy.asked_by_time(1000, 1049));
  EXPECT_TRUE(policy.asked_by_time(1000, 1050));
  EXPECT_TRUE(policy.asked_by_time(1000, 1051));
  EXPECT_FALSE(policy.asked_by_time(0, 1051)) << "nothing was published";
}

// Ticks are counted from the start of the machine, which may be less than T ago.
TEST(FlushPolicyTest, WhatIsLongAgoHasWaitedForAnyT) {
  const FlushPolicy policy{.wait_ticks = 5000};
  EXPECT_EQ(policy.ticks_until_asked(FlushPolicy::kLongAgo, 1000), 0);
  EXPECT_TRUE(policy.asked_by_time(FlushPolicy::kLongAgo, 1000));
}

TEST(FlushPolicyTest, AnImmediatePolicyAsksAtOnceExceptInTheGap) {
  EXPECT_TRUE(FlushPolicy{}.asked_by_time(1000, 1000));
  const FlushPolicy policy{.gap_ticks = 50};
  EXPECT_TRUE(policy.asked_by_time(0, 10)) << "the first write does not wait";
  EXPECT_EQ(policy.ticks_until_asked(1000, 1010), 40);
  EXPECT_FALSE(policy.asked_by_time(1000, 1049));
  EXPECT_TRUE(policy.asked_by_time(1000, 1050));
}

TEST(FlushPolicyTest, AnotherPolicyHasNoGap) {
  EXPECT_TRUE((FlushPolicy{.wait_ticks = 50, .gap_ticks = 9000}.asked_by_time(1000, 1050)));
}

TEST(FlushPolicyTest, AFlushIsLateFromWhenTHasPassedAndTheDeviceIsIdle) {
  const FlushPolicy policy{.wait_ticks = 50};
  EXPECT_EQ(policy.ticks_late(1000, 0, 1040), 0);
  EXPECT_EQ(policy.ticks_late(1000, 0, 1060), 10);
  EXPECT_EQ(policy.ticks_late(1000, 1055, 1060), 5);
  EXPECT_EQ(policy.ticks_late(1000, 1070, 1060), 0);
}

}  // namespace
}  // namespace logjam
