// Silo's numbers while threads call the same object as often as they can. All schedules of two
// threads are in tests/explored/protocols_test.cc.
#include "logging/schemes/silo/epoch_tids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/storage/tuple.h"

namespace logjam {
namespace {

// The log is a list. No record of an epoch may come after the watermark of that epoch.
TEST(EpochTids, NoRecordComesAfterTheWatermarkOfItsEpoch) {
  constexpr uint32_t kWorkers = 3;
  constexpr std::array all{0U, 1U, 2U};
  constexpr int kTransactions = 5'000;
  constexpr uint64_t kEpochs = 20;
  struct Entry {
    bool watermark;
    uint64_t epoch;
  };
  EpochTids tids(kWorkers);
  std::mutex mutex;
  std::vector<Entry> log;
  std::atomic<uint32_t> running{kWorkers};
  std::atomic<uint64_t> passed{0};  // the largest watermark in the list
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      for (int i = 0; i < kTransactions || passed.load() < kEpochs; ++i) {
        if (i % 2 == 0) tids.draw(worker, 0);
        if (i % 10 == 0) {
          tids.abandon(worker);
          continue;
        }
        const uint64_t tid = tids.tid(worker, 0);
        {
          const std::lock_guard guard(mutex);
          log.push_back({false, EpochTids::epoch_of(tid)});
        }
        tids.published(worker, true);
      }
      --running;
    });
  }
  while (running.load() > 0) {
    tids.end_epoch();
    const uint64_t over = tids.over_for(all);
    const std::lock_guard guard(mutex);
    log.push_back({true, over});
    passed.store(over);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tids.over_for(all), tids.ended());
  uint64_t watermark = 0;
  for (const Entry& entry : log) {
    if (entry.watermark) {
      watermark = std::max(watermark, entry.epoch);
    } else {
      ASSERT_GT(entry.epoch, watermark);
    }
  }
  EXPECT_GE(watermark, kEpochs);
}

// The last TIDs still fit beside the two flags of a version word.
TEST(EpochTidsDeathTest, TheEpochsEndBeforeTheVersionWordIsFull) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EpochTids tids(1, EpochTids::kLastEpoch - 2);
  for (uint64_t epoch = EpochTids::kLastEpoch - 2;; ++epoch) {
    tids.draw(0, 0);
    const uint64_t tid = tids.tid(0, 0);
    EXPECT_EQ(EpochTids::epoch_of(tid), epoch);
    EXPECT_EQ(Version(tid, false).sequence(), tid);
    EXPECT_FALSE(Version(tid, false).absent() || Version(tid, false).locked());
    tids.published(0, true);
    if (epoch == EpochTids::kLastEpoch) break;
    EXPECT_EQ(tids.end_epoch(), epoch);
  }
  EXPECT_EQ(Version(EpochTids::last_tid(EpochTids::kLastEpoch), false).absent(), false);
  EXPECT_EXIT(tids.end_epoch(), testing::ExitedWithCode(3), "--log=silo has had all its");
}

}  // namespace
}  // namespace logjam
