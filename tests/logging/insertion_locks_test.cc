// The choice among PostgreSQL's insertion locks. tests/explored/holes_test.cc has the schedules.
#include "logging/schemes/postgres/insertion_locks.h"

#include <gtest/gtest.h>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

bool fits(uint64_t) { return true; }

// Worker 0 holds lock 0 twice, each time for `hold`. During each hold worker 2 inserts once. Worker
// 2 begins with lock 0. If it has to wait for lock 0, it takes lock 1 for its next record. Returns
// whether worker 2 inserts during the second hold.
bool changes_its_lock(std::chrono::milliseconds hold) {
  InsertionLocks log(2, 3);
  std::atomic<int> inserted{0};
  const auto insert = [&] {
    log.reserve(2, 64, fits);
    ++inserted;
    log.release(2);
  };
  int during[2];
  for (int& seen : during) {
    log.reserve(0, 64, fits);
    std::thread other(insert);
    std::this_thread::sleep_for(hold);
    seen = inserted;
    log.release(0);
    other.join();
  }
  EXPECT_EQ(during[0], 0) << "two workers hold one lock";
  EXPECT_EQ(log.look(), 256u);
  return during[1] == 2;
}

// Worker 2 may start so late that the lock is free again, so the test repeats with longer holds.
TEST(InsertionLocks, AWorkerWaitsForABusyLockAndThenChangesToTheNext) {
  const Watchdog watchdog("a worker waits for a lock that is free");
  std::chrono::milliseconds hold(1);
  while (!changes_its_lock(hold) && hold < std::chrono::seconds(10)) hold *= 2;
  EXPECT_LT(hold, std::chrono::seconds(10));
}

}  // namespace
}  // namespace logjam
