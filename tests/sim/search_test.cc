// Protocols between two and three threads in all schedules with few preemptions, with x86's store
// buffers on all sides. Each is also run without its fences, and must fail then.
#include "sim/search.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "logging/schemes/nvm/worker_log.h"
#include "logging/schemes/silo/epoch_tids.h"
#include "logging/stream/flush_lead.h"
#include "platform/event_count.h"
#include "tests/sim/explored_atomics.h"
#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

using SearchTest = ExplorerTest;

// Runs the bodies that `begin` makes in all schedules with at most `preemptions` preemptions, and
// `check` after each. Returns how many schedules there are.
uint64_t search(uint32_t preemptions, const std::function<std::vector<Body>()>& begin,
                const std::function<void()>& check) {
  Search all(preemptions);
  do {
    const std::vector<Body> bodies = begin();
    Explored::run({}, bodies, all.order());
    check();
  } while (all.next());
  return all.schedules();
}

TEST_F(SearchTest, MeetsEveryOutcomeOfStoreBuffering) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto outcomes_of = [&](bool fences) {
    std::set<Outcome> all;
    const auto side = [&, fences](uint64_t& mine, uint64_t& other, uint64_t& r) {
      return [&, fences] {
        store(mine, 1);
        if (fences) before_fence();
        r = load(other);
      };
    };
    const uint64_t schedules = search(
        2,
        [&] {
          shared_ = {};
          r_ = {};
          return std::vector<Body>{side(x, y, r_[0]), side(y, x, r_[1])};
        },
        [&] { all.insert(r_); });
    EXPECT_GT(schedules, 10u);
    return all;
  };
  EXPECT_EQ(outcomes_of(false), (std::set<Outcome>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(outcomes_of(true), (std::set<Outcome>{{0, 1}, {1, 0}, {1, 1}}));
}

// Each of two threads increments a word with a load and a store. One preemption loses one.
TEST_F(SearchTest, TakesNoMorePreemptionsThanItMay) {
  uint64_t& x = shared_.x;
  const Body increments = [&] { store(x, load(x) + 1); };
  for (const uint32_t preemptions : {0u, 1u}) {
    std::set<uint64_t> sums;
    search(
        preemptions,
        [&] {
          x = 0;
          return std::vector<Body>{increments, increments};
        },
        [&] { sums.insert(x); });
    EXPECT_EQ(sums.contains(1), preemptions > 0);
    EXPECT_TRUE(sums.contains(2));
  }
}

// A worker draws a TID, writes its record and publishes it, while another thread ends the epoch and
// asks which epoch is over. Returns in how many schedules a record of an epoch that is over is
// still to come.
template <class Atomics>
uint64_t epochs_with_late_records(uint32_t preemptions) {
  using Tids = BasicEpochTids<Atomics>;
  using Word = typename Atomics::template atomic<uint64_t>;
  std::unique_ptr<Tids> tids;
  std::unique_ptr<Word> record;
  uint64_t drawn = 0, over = 0, seen = 0, late = 0;
  search(
      preemptions,
      [&] {
        tids = std::make_unique<Tids>(1);
        record = std::make_unique<Word>(0);
        const Body worker = [&] {
          drawn = tids->tid(0, 0);
          record->store(1, platform::memory_order_release);
          tids->published(0, true);
        };
        const Body looks = [&] {
          tids->end_epoch();
          over = tids->over_for(0, 1);
          seen = record->load(platform::memory_order_acquire);
        };
        return std::vector<Body>{worker, looks};
      },
      [&] { late += Tids::epoch_of(drawn) <= over && seen == 0 ? 1 : 0; });
  return late;
}

TEST_F(SearchTest, AnEpochThatIsOverHasNoRecordToCome) {
  EXPECT_EQ(epochs_with_late_records<ExploredAtomics>(3), 0u);
  EXPECT_GT(epochs_with_late_records<FencelessAtomics>(3), 0u);
}

// One waiter, which sleeps and would lead.
template <class Atomics>
struct OneWaiter {
  bool wake_one_to_lead(uint32_t) {
    Atomics::full_fence();
    if (waits.load(platform::memory_order_acquire) == 0) return false;
    ++wake_ups;
    return true;
  }

  typename Atomics::template atomic<uint32_t> waits{1};
  int wake_ups = 0;
};

// A leader gives up because there is nothing to flush, while others publish. Returns in how many
// schedules the waiter is not woken, and with `publishers` of 1 not once.
template <class Atomics>
uint64_t lost_wake_ups(size_t publishers, uint32_t preemptions) {
  using Lead = BasicFlushLead<Atomics, OneWaiter<Atomics>>;
  using Word = typename Atomics::template atomic<uint64_t>;
  std::unique_ptr<OneWaiter<Atomics>> waiter;
  std::unique_ptr<Lead> lead;
  std::unique_ptr<Word> filled;
  uint64_t lost = 0;
  search(
      preemptions,
      [&] {
        waiter = std::make_unique<OneWaiter<Atomics>>();
        lead = std::make_unique<Lead>(0, *waiter);
        filled = std::make_unique<Word>(0);
        lead->take();
        const auto work_pending = [&] { return filled->load(platform::memory_order_acquire) != 0; };
        std::vector<Body> bodies = {[&, work_pending] { lead->give_up(work_pending); }};
        for (size_t i = 0; i < publishers; ++i) {
          bodies.emplace_back([&, work_pending] {
            filled->store(64, platform::memory_order_release);
            Atomics::full_fence();
            lead->offer(work_pending);
          });
        }
        return bodies;
      },
      [&] { lost += waiter->wake_ups == 1 ? 0 : 1; });
  return lost;
}

TEST_F(SearchTest, TheLeadIsOfferedOnce) {
  EXPECT_EQ(lost_wake_ups<ExploredAtomics>(1, 4), 0u);
  EXPECT_EQ(lost_wake_ups<ExploredAtomics>(2, 2), 0u);
  EXPECT_GT(lost_wake_ups<FencelessAtomics>(1, 4), 0u);
}

// Workers draw numbers above the floor that they see, while another thread raises the floor and
// looks at the workers' places. Returns in how many schedules it looks past a number that is drawn
// and not published, and not above the new floor.
template <class Atomics>
uint64_t numbers_missed(size_t workers, uint32_t preemptions) {
  constexpr uint64_t kRaised = 10;
  using Log = BasicWorkerLog<Atomics>;
  using Word = typename Atomics::template atomic<uint64_t>;
  std::vector<std::unique_ptr<Log>> logs(workers);
  std::vector<uint64_t> numbers(workers), places(workers);
  std::unique_ptr<Word> floor;
  uint64_t missed = 0;
  search(
      preemptions,
      [&] {
        floor = std::make_unique<Word>(0);
        std::vector<Body> bodies;
        for (size_t i = 0; i < workers; ++i) {
          logs[i] = std::make_unique<Log>();
          bodies.emplace_back([&, i] {
            const auto draw = [&] { return floor->load(platform::memory_order_relaxed) + 1; };
            numbers[i] = logs[i]->open(1, draw).number;
          });
        }
        bodies.emplace_back([&] {
          floor->store(kRaised, platform::memory_order_relaxed);
          Atomics::full_fence();
          for (size_t i = 0; i < workers; ++i) places[i] = logs[i]->look().place;
        });
        return bodies;
      },
      [&] {
        for (size_t i = 0; i < workers; ++i) {
          missed += numbers[i] <= kRaised && places[i] > numbers[i] ? 1 : 0;
        }
      });
  return missed;
}

TEST_F(SearchTest, ANumberIsAboveTheFloorOrItsBoundIsSeen) {
  EXPECT_EQ(numbers_missed<ExploredAtomics>(1, 4), 0u);
  EXPECT_EQ(numbers_missed<ExploredAtomics>(2, 2), 0u);
  EXPECT_GT(numbers_missed<FencelessAtomics>(1, 4), 0u);
}

// A thread makes a condition true and notifies; others wait for it. A lost wake-up leaves a waiter
// asleep, and the explorer says so.
template <class Atomics>
uint64_t schedules_of_waits(size_t waiters, uint32_t preemptions) {
  using Count = platform::BasicEventCount<Atomics>;
  using Word = typename Atomics::template atomic<uint32_t>;
  std::unique_ptr<Count> count;
  std::unique_ptr<Word> holds;
  return search(
      preemptions,
      [&] {
        count = std::make_unique<Count>();
        holds = std::make_unique<Word>(0);
        std::vector<Body> bodies = {[&] {
          holds->store(1, platform::memory_order_release);
          count->notify();
        }};
        for (size_t i = 0; i < waiters; ++i) {
          bodies.emplace_back([&] {
            typename Count::Waiter waiter(*count);
            for (;;) {
              const uint32_t seen = waiter.prepare();
              if (holds->load(platform::memory_order_acquire) != 0) return;
              waiter.sleep(seen);
            }
          });
        }
        return bodies;
      },
      [&] { EXPECT_FALSE(count->has_waiters()); });
}

TEST_F(SearchTest, NoWakeUpOfAnEventCountIsLost) {
  EXPECT_GT(schedules_of_waits<ExploredAtomics>(1, 4), 100u);
  EXPECT_GT(schedules_of_waits<ExploredAtomics>(2, 2), 100u);
}

using SearchDeathTest = SearchTest;

TEST_F(SearchDeathTest, AnEventCountWithoutFencesLosesAWakeUp) {
  EXPECT_EXIT(schedules_of_waits<FencelessAtomics>(1, 4), testing::ExitedWithCode(7),
              "all threads wait, and no timer runs");
}

}  // namespace
}  // namespace logjam::sim
