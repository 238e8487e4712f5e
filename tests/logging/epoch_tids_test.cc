// Silo's last epoch: its TIDs fit into the version word, and when it ends, the process ends.
// tests/explored/protocols_test.cc has the schedules of threads.
#include "logging/schemes/silo/epoch_tids.h"

#include <gtest/gtest.h>

#include "engine/storage/tuple.h"

namespace logjam {
namespace {

TEST(EpochTidsDeathTest, TheEpochsEndBeforeTheVersionWordIsFull) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EpochTids tids(1, EpochTids::kLastEpoch - 2);
  for (uint64_t epoch = EpochTids::kLastEpoch - 2;; ++epoch) {
    tids.draw(0, 0);
    const uint64_t tid = tids.tid(0, 0);
    EXPECT_EQ(EpochTids::epoch_of(tid), epoch);
    EXPECT_EQ(Version(tid, false).sequence(), tid);
    EXPECT_FALSE(Version(tid, false).absent() || Version(tid, false).locked());
    tids.note_publish(0, true);
    if (epoch == EpochTids::kLastEpoch) break;
    EXPECT_EQ(tids.end_epoch(), epoch);
  }
  EXPECT_EQ(Version(EpochTids::last_tid(EpochTids::kLastEpoch), false).absent(), false);
  EXPECT_EXIT(tids.end_epoch(), testing::ExitedWithCode(3), "has had all its");
}

}  // namespace
}  // namespace logjam
