// The synchronization benchmark: the locks give mutual exclusion, and the counts are right.
#include "workloads/sync/sync.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platform/thread.h"
#include "tests/logging/watchdog.h"
#include "workloads/sync/locks.h"

namespace logjam::sync {
namespace {

constexpr uint32_t kThreads = 4;
constexpr uint64_t kCalls = 400;
constexpr uint64_t kAdditions = 2000;

template <class Lock>
class Locks : public testing::Test {};
using AllLocks = testing::Types<TasLock, TicketLock<false>, TicketLock<true>, McsLock, ClhLock>;
TYPED_TEST_SUITE(Locks, AllLocks);

// The counters are not atomic. If a lock did not exclude other threads, additions would be lost and
// ThreadSanitizer would report a race. Each thread uses one Handle for two locks in turn.
TYPED_TEST(Locks, LoseNoAdditionToACounter) {
  const Watchdog watchdog("a lock is never handed over");
  TypeParam locks[2];
  uint64_t counters[2] = {0, 0};
  std::vector<platform::thread> threads;
  for (uint32_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      typename TypeParam::Handle handle;
      for (uint64_t i = 0; i < kAdditions; ++i) {
        const uint64_t which = (i + id) % 2;
        locks[which].lock(handle, Wait(true));
        const uint64_t seen = counters[which];
        if (i % 16 == 0) platform::yield();  // lets another thread run before the store
        counters[which] = seen + 1;
        locks[which].unlock(handle);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counters[0], kThreads * kAdditions / 2);
  EXPECT_EQ(counters[1], kThreads * kAdditions / 2);
}

Options options_of(const std::string& kind, uint32_t lines) {
  Options options;
  options.kind = *kind_named(kind);
  options.lines = lines;
  options.threads = kThreads;
  options.seconds = 120;
  options.calls = kCalls;
  return options;
}

const std::vector<std::string> kAtomics = {"faa", "cas", "cas-faa", "swap", "load", "tas-once"};
const std::vector<std::string> kLocks = {"tas", "ticket", "ticket-backoff", "mcs", "clh"};

TEST(Sync, EachThreadMakesTheCallsThatItIsGiven) {
  const Watchdog watchdog("a thread never ends its calls");
  for (const auto& kinds : {kAtomics, kLocks}) {
    for (const std::string& kind : kinds) {
      for (const uint32_t lines : {1, 5}) {
        const Result result = measure(options_of(kind, lines));
        EXPECT_EQ(result.calls, kThreads * kCalls) << kind;
        EXPECT_EQ(result.least_calls, kCalls) << kind;
        EXPECT_EQ(result.most_calls, kCalls) << kind;
        EXPECT_EQ(result.lost, 0u) << kind;
        EXPECT_LE(result.failed, result.calls) << kind;
        const bool may_fail = kind == "cas" || kind == "tas-once";
        EXPECT_TRUE(may_fail || result.failed == 0) << kind;
      }
    }
  }
}

TEST(Sync, CallsOfOneThreadAloneDoNotFail) {
  for (const char* kind : {"cas", "tas-once"}) {
    Options options = options_of(kind, 1);
    options.threads = 1;
    const Result result = measure(options);
    EXPECT_EQ(result.calls, kCalls);
    EXPECT_EQ(result.failed, 0u) << kind;
  }
}

TEST(Sync, TimeEndsARunWithoutALimit) {
  Options options = options_of("faa", 1);
  options.calls = 0;
  options.seconds = 0.01;
  const Result result = measure(options);
  EXPECT_GE(result.seconds, 0.01);
  EXPECT_LE(result.least_calls, result.most_calls);
  EXPECT_GE(result.calls, result.least_calls + result.most_calls);
}

TEST(Sync, KindsHaveNamesAndLocksAreToldFromAtomics) {
  for (const std::string& kind : kAtomics) EXPECT_FALSE(is_lock(*kind_named(kind))) << kind;
  for (const std::string& kind : kLocks) EXPECT_TRUE(is_lock(*kind_named(kind))) << kind;
  EXPECT_FALSE(kind_named("mutex"));
  EXPECT_EQ(kind_names().size(), kAtomics.size() + kLocks.size());
}

}  // namespace
}  // namespace logjam::sync
