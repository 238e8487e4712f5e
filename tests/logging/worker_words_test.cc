// The trackers with a word for each worker: what is their own. tests/logging/eleda_test.cc has what
// all trackers do, and tests/explored/worker_words_test.cc all schedules of three threads.
#include "logging/schemes/common/worker_words.h"

#include <gtest/gtest.h>

#include "logging/schemes/border_collie/herd_flags.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/ermia/dirty_ends.h"
#include "logging/schemes/fasterlog/epoch_slots.h"

namespace logjam {
namespace {

constexpr uint64_t kBytes = 64;

// A tracker with its sequencer.
template <class Tracker>
struct Words {
  explicit Words(uint32_t workers) : ring(4096, 512), tracker(workers, ring) {}

  void announce(uint32_t worker) { tracker.announce(worker, next); }
  uint64_t draw() { return next.fetch_add(kBytes); }
  uint64_t open(uint32_t worker) { return draw_hole(tracker, worker, next, kBytes); }
  void publish(uint32_t worker, uint64_t begin) { tracker.publish(worker, begin, begin + kBytes); }
  void write(uint32_t worker) { publish(worker, open(worker)); }
  uint64_t advance() { return filled = tracker.advance(filled, next); }

  Ring ring;
  Tracker tracker;
  platform::atomic<uint64_t> next{0};
  uint64_t filled = 0;
};

template <class Tracker>
class WorkerWordsTest : public testing::Test {};
using Trackers = testing::Types<HerdFlags, EpochSlots, DirtyEnds>;
TYPED_TEST_SUITE(WorkerWordsTest, Trackers);

TYPED_TEST(WorkerWordsTest, AnIdleWorkerStopsNothing) {
  Words<TypeParam> log(3);  // the third one never writes
  log.write(0);
  for (uint64_t records = 2; records < 100; ++records) {
    log.write(1);
    ASSERT_EQ(log.advance(), records * kBytes);
  }
}

// The worker announces, then others fill ten records, and then it draws its hole. Until it says
// where the hole begins, SBL cannot pass what it announced.
TYPED_TEST(WorkerWordsTest, AWorkerThatWaitsForRoomStopsSblAtItsHole) {
  Words<TypeParam> log(2);
  log.announce(0);
  for (int i = 0; i < 10; ++i) log.write(1);
  log.advance();
  const uint64_t hole = log.draw();
  log.tracker.must_wait(0, hole);
  log.write(1);
  EXPECT_EQ(log.advance(), hole);
  EXPECT_EQ(log.advance(), hole);
  log.publish(0, hole);
  EXPECT_EQ(log.advance(), hole + 2 * kBytes);
}

TEST(HerdFlags, TheBoundaryIsTheLeastBlackFlag) {
  Words<HerdFlags> log(3);
  log.write(0);
  const uint64_t first = log.open(0), second = log.open(1);
  log.write(2);
  EXPECT_EQ(log.advance(), first);
  log.publish(0, first);
  EXPECT_EQ(log.advance(), second);
}

TEST(EpochSlots, AnAdvanceWaitsForOlderEpochsOnly) {
  Words<EpochSlots> log(3);
  const uint64_t old = log.open(0);
  EXPECT_EQ(log.advance(), 0u);
  const uint64_t later = log.open(1);
  log.write(2);
  EXPECT_EQ(log.advance(), 0u);
  log.publish(0, old);
  EXPECT_EQ(log.advance(), later) << "this hole is of the later epoch";
  log.publish(1, later);
  EXPECT_EQ(log.advance(), log.next.load());
}

TEST(DirtyEnds, ADirtyWorkerStopsSblAtTheEndOfItsLastRecord) {
  Words<DirtyEnds> log(3);
  log.write(0);
  log.write(1);
  const uint64_t first = log.open(0);
  log.write(1);
  EXPECT_EQ(log.advance(), kBytes) << "one record before the hole";
  log.publish(0, first);
  EXPECT_EQ(log.advance(), log.next.load());
}

}  // namespace
}  // namespace logjam
