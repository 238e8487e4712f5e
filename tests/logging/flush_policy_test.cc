// The conditions under which the flush policy asks for a flush.
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

TEST(FlushPolicyTest, XTransactionsOrLBytesAreEnough) {
  const struct {
    FlushPolicy policy;
    Progress filled, flushed;
    bool enough;
  } cases[] = {
      {{.txns = 3}, {12, 90000}, {10, 0}, false},
      {{.txns = 3}, {13, 0}, {10, 0}, true},
      {{.txns = 3}, {14, 0}, {10, 0}, true},
      {{.bytes = 1000}, {90, 1099}, {0, 100}, false},
      {{.bytes = 1000}, {0, 1100}, {0, 100}, true},
      {{.bytes = 1000}, {0, 1101}, {0, 100}, true},
      {{.txns = 3, .bytes = 1000}, {2, 999}, {}, false},
      {{.txns = 3, .bytes = 1000}, {3, 999}, {}, true},
      {{.txns = 3, .bytes = 1000}, {2, 1000}, {}, true},
      {{}, {90, 90000}, {}, false},
      // The flushed position may exceed the filled position, because another thread may raise the
      // flushed position after this thread has loaded the filled position.
      {{.txns = 3}, {9, 0}, {10, 0}, false},
      {{.bytes = 1000}, {0, 99}, {0, 100}, false},
  };
  for (const auto& [policy, filled, flushed, enough] : cases) {
    EXPECT_EQ(policy.enough(filled, flushed), enough)
        << policy.txns << ", " << policy.bytes << ": " << filled.commits << ", " << filled.position;
  }
}

TEST(FlushPolicyTest, TAsksOnceItHasPassedSinceTheOldestPublish) {
  const FlushPolicy policy{.txns = 3, .wait_ticks = 50};
  EXPECT_EQ(policy.ticks_until_asked(1000, 1010), 40);
  EXPECT_FALSE(policy.asked_by_time(1000, 1049));
  EXPECT_TRUE(policy.asked_by_time(1000, 1050));
  EXPECT_TRUE(policy.asked_by_time(1000, 1051));
  EXPECT_FALSE(policy.asked_by_time(0, 1051)) << "nothing was published";
}

// kLongAgo counts as at least T ago, even if the machine has not yet run for T.
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
  EXPECT_TRUE((FlushPolicy{.wait_ticks = 50, .gap_ticks = 9000}.asked_by_time(1000, 1050)))
      << "another policy has no gap";
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
