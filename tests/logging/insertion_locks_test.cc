// PostgreSQL's insertion locks: how far a look sees, which lock a worker takes, and more workers
// than locks.
#include "logging/schemes/postgres/insertion_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "logging/scheme_registry.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

bool fits(uint64_t) { return true; }

TEST(InsertionLocks, ALookStopsAtTheLeastPositionOfAllHolders) {
  InsertionLocks log(3, 3);
  EXPECT_EQ(log.look(), 0u);
  EXPECT_EQ(log.reserve(2, 64, fits), 0u);
  EXPECT_EQ(log.reserve(1, 48, fits), 64u);
  EXPECT_EQ(log.reserve(0, 80, fits), 112u);
  log.release(1);
  EXPECT_EQ(log.look(), 0u) << "passed an unfilled hole";
  log.release(2);
  EXPECT_EQ(log.look(), 112u) << "stopped before a filled record";
  log.release(0);
  EXPECT_EQ(log.look(), 192u);
}

// Workers 0 and 2 begin with the first of two locks.
TEST(InsertionLocks, AWorkerWaitsForABusyLockAndThenChangesToTheNext) {
  const Watchdog watchdog("a worker waits for a lock that it should have left");
  InsertionLocks log(2, 3);
  std::atomic<bool> inserted{false};
  log.reserve(0, 64, fits);
  std::thread waits([&] {
    log.reserve(2, 64, fits);
    inserted = true;
    log.release(2);
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(inserted) << "two workers hold one lock";
    std::this_thread::yield();
  }
  log.release(0);
  waits.join();
  log.reserve(0, 64, fits);
  if (log.look() != 128) GTEST_SKIP() << "the thread came late, and found the lock free";
  log.reserve(2, 64, fits);
  log.release(2);
  log.release(0);
  EXPECT_EQ(log.look(), 256u);
}

// Threads that look race with workers. A flag for each record says whether it is filled.
class InsertionLocksLooks : public testing::TestWithParam<uint32_t> {};

TEST_P(InsertionLocksLooks, NoLookPassesAHole) {
  const Watchdog watchdog("a lock was lost");
  constexpr uint32_t kWorkers = 12, kLookers = 2;
  constexpr uint64_t kEach = 5'000, kBytes = 8;
  InsertionLocks log(GetParam(), kWorkers);
  std::vector<std::atomic<bool>> filled(kWorkers * kEach);
  std::atomic<uint64_t> passed{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> workers, lookers;
  for (uint32_t i = 0; i < kLookers; ++i) {
    lookers.emplace_back([&] {
      for (uint64_t seen = 0; !done;) {
        const uint64_t end = log.look();
        if (end < seen) ++passed;
        for (; seen < end; seen += kBytes) passed += filled[seen / kBytes] ? 0 : 1;
        std::this_thread::yield();
      }
    });
  }
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      std::mt19937_64 random(worker);
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t begin =
            log.reserve(worker, kBytes, [&](uint64_t) { return random() % 16 != 0; });
        if (random() % 64 == 0) std::this_thread::yield();
        filled[begin / kBytes] = true;
        log.release(worker);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  done = true;
  for (std::thread& looker : lookers) looker.join();
  EXPECT_EQ(passed, 0u);
  EXPECT_EQ(log.look(), kWorkers * kEach * kBytes);
}

INSTANTIATE_TEST_SUITE_P(Locks, InsertionLocksLooks, testing::Values(1, 3, 8));

TEST(Postgres, ANumberOfLocksOutOfItsRangeIsRefused) {
  ScopedFlags flags;
  flags.set("test", "postgres_insert_locks:2000");
  EXPECT_EQ(find_scheme("postgres")->check_flags(),
            "--test=postgres_insert_locks=2000 is outside 1 to 1024");
  flags.set("test", "");
  EXPECT_EQ(find_scheme("postgres")->check_flags(), "");
}

}  // namespace
}  // namespace logjam
