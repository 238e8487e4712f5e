// atomic_max and EventCount, which schemes use where one thread waits for another thread.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "platform/event_count.h"
#include "platform/spin.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

using platform::atomic;
using platform::EventCount;

TEST(AtomicMax, SaysWhetherItRaised) {
  atomic<uint64_t> maximum{5};
  EXPECT_FALSE(platform::atomic_max(maximum, uint64_t{4}));
  EXPECT_FALSE(platform::atomic_max(maximum, uint64_t{5}));
  EXPECT_TRUE(platform::atomic_max(maximum, uint64_t{6}));
  EXPECT_EQ(maximum.load(), 6u);
}

// Threads raise one maximum at the same time, each with its own numbers. No thread ever sees the
// maximum go down, or sees it below a number with which the same thread has called atomic_max().
TEST(AtomicMax, NeverGoesDownWhileThreadsRaiseIt) {
  constexpr uint64_t kThreads = 3, kEach = 50'000;
  atomic<uint64_t> maximum{0};
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      uint64_t before = 0;
      for (uint64_t i = 1; i <= kEach; ++i) {
        const uint64_t mine = i * kThreads + thread;
        platform::atomic_max(maximum, mine);
        const uint64_t now = maximum.load();
        ASSERT_GE(now, std::max(before, mine));
        before = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(maximum.load(), kEach * kThreads + kThreads - 1);
}

// Two threads wake each other in turns. The threads sleep without a time-out, so a lost wake-up
// hangs the test.
TEST(EventCount, ThreadsThatWakeEachOtherInTurnsLoseNoWakeUp) {
  const Watchdog watchdog("a wake-up was lost");
  constexpr uint64_t kTurns = 20'000;
  atomic<uint64_t> turn{0};
  EventCount event;
  const auto play = [&](uint64_t first) {
    for (uint64_t mine = first; mine < kTurns; mine += 2) {
      {
        EventCount::Waiter waiter(event);
        while (true) {
          const uint32_t seen = waiter.prepare();
          if (turn.load(platform::memory_order_acquire) == mine) break;
          waiter.sleep(seen);
        }
      }
      turn.store(mine + 1, platform::memory_order_release);
      event.notify();
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn.load(), kTurns);
  EXPECT_FALSE(event.has_waiters());
}

// Each of several threads awaits its own condition. One change makes all of these conditions true.
TEST(EventCount, OneNotifyWakesAllThatAwait) {
  const Watchdog watchdog("a thread that awaits was not woken");
  atomic<bool> open{false};
  atomic<uint32_t> through{0};
  EventCount event;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EventCount::Waiter waiter(event);
      while (true) {
        const uint32_t seen = waiter.prepare();
        if (open.load(platform::memory_order_acquire)) break;
        waiter.sleep(seen);
      }
      through.fetch_add(1);
    });
  }
  for (platform::SpinWait wait; !event.has_waiters();) wait.once();
  open.store(true, platform::memory_order_release);
  event.notify();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(through.load(), 4u);
}

}  // namespace
}  // namespace logjam
