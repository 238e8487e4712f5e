// The place and the end of a worker's log, while the worker and another thread take their steps at
// the same time.
#include "logging/schemes/nvm/worker_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/logging/stepped_atomics.h"

namespace logjam {
namespace {

using SteppedLog = BasicWorkerLog<SteppedAtomics>;

class WorkerLogTest : public testing::Test {
 protected:
  // A log whose first record, of number 5, is open. The record will end at 64.
  void begin() {
    log_ = std::make_unique<SteppedLog>();
    log_->open(5, [] { return 5; });
  }
  void publish() { log_->published(64); }
  void publish_and_open() {
    publish();
    log_->open(6, [] { return 9; });
  }
  void look() { seen_ = log_->look(); }
  void expect_record_before_place_lies_before_end() const {
    if (seen_.place > 5) {
      EXPECT_EQ(seen_.filled, 64u) << "the record was published before " << seen_.place;
    } else {
      EXPECT_EQ(seen_.place, 5u);
    }
  }

  std::unique_ptr<SteppedLog> log_;
  SteppedLog::Seen seen_{};
};

TEST_F(WorkerLogTest, ALookInTheMiddleOfAPublishMissesNoRecordBelowItsPlace) {
  const int runs = SteppedAtomics::interleave(
      [this] { begin(); }, [this] { publish_and_open(); }, [this] { look(); },
      [this] { expect_record_before_place_lies_before_end(); });
  EXPECT_GE(runs, 10);
}

TEST_F(WorkerLogTest, APublishInTheMiddleOfALookMissesNoRecordBelowItsPlace) {
  for (const bool opens : {false, true}) {
    const int runs = SteppedAtomics::interleave(
        [this] { begin(); }, [this] { look(); }, [&] { opens ? publish_and_open() : publish(); },
        [this] { expect_record_before_place_lies_before_end(); });
    EXPECT_EQ(runs, 3) << "before each load, and at the end";
  }
}

// A thread that advances the watermark raises the floor, fences, and looks. A worker draws a number
// above the floor that it sees. The watermark must not pass a number that is drawn later.
TEST_F(WorkerLogTest, ANumberIsAboveTheFloorOrItsBoundIsSeen) {
  constexpr uint64_t kRaised = 10;
  using Floor = SteppedAtomics::atomic<uint64_t>;
  std::unique_ptr<Floor> floor;
  uint64_t number = 0;
  const auto make = [&] {
    log_ = std::make_unique<SteppedLog>();
    floor = std::make_unique<Floor>(0);
  };
  const auto open = [&] {
    const auto draw = [&] {
      return std::max(uint64_t{1}, floor->load(platform::memory_order_relaxed) + 1);
    };
    number = log_->open(1, draw).number;
  };
  const auto advance = [&] {
    floor->store(kRaised, platform::memory_order_relaxed);
    SteppedAtomics::full_fence();
    look();
  };
  const auto check = [&] { EXPECT_TRUE(number > kRaised || seen_.place <= number) << number; };
  EXPECT_GE(SteppedAtomics::interleave(make, open, advance, check), 4);
  EXPECT_GE(SteppedAtomics::interleave(make, advance, open, check), 4);
}

TEST_F(WorkerLogTest, OthersMayWaitIfTheBoundWasStale) {
  SteppedLog log;
  EXPECT_FALSE(log.open(5, [] { return 5; }).others_may_wait);
  log.published(64);
  EXPECT_TRUE(log.open(6, [] { return 9; }).others_may_wait);
}

}  // namespace
}  // namespace logjam
