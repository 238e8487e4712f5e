// WiredTiger's log slots: full slots, a full pool. tests/explored/holes_test.cc has the schedules.
#include "logging/schemes/wiredtiger/log_slots.h"

#include <gtest/gtest.h>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

TEST(LogSlots, AnEmptySlotIsNotClosed) {
  LogSlots slots(1 << 20);
  slots.close_active();
  EXPECT_EQ(slots.closed(), 0u);
}

TEST(LogSlots, AFullSlotIsClosedByTheWorkerThatFindsItFull) {
  LogSlots slots(4096);  // a slot holds a quarter of the bytes
  const auto first = slots.join(1000), second = slots.join(1000), large = slots.join(3000);
  EXPECT_EQ(second.begin, 1000u);
  EXPECT_EQ(large.begin, 2000u) << "a record that is larger than a slot has one of its own";
  EXPECT_EQ(slots.closed(), 2u);
  slots.release(first.slot, 1000);
  EXPECT_EQ(slots.pass(), 1000u);
}

TEST(LogSlots, AWorkerWaitsWhileThePoolIsFull) {
  const Watchdog watchdog("the pool stays full");
  LogSlots slots(4096);
  std::vector<LogSlots::Joined> joined;
  for (int i = 0; i < 128; ++i) joined.push_back(slots.join(1024));
  std::atomic<bool> came{false};
  std::thread late([&] {
    slots.join(1024);
    came = true;
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(came) << "a slot is used that is not passed";
    std::this_thread::yield();
  }
  slots.release(joined[0].slot, 1024);
  late.join();
}

}  // namespace
}  // namespace logjam
