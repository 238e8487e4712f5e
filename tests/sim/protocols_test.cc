// Protocols between two and three threads in all schedules with few preemptions, with x86's store
// buffers on all sides. Where a protocol has fences, it must fail without them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "logging/schemes/aether/tails.h"
#include "logging/schemes/nvm/worker_log.h"
#include "logging/schemes/silo/epoch_tids.h"
#include "logging/stream/flush_lead.h"
#include "platform/atomic.h"
#include "platform/event_count.h"
#include "tests/sim/explored_atomics.h"
#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

template <class Atomics>
using Word = typename Atomics::template atomic<uint64_t>;

// --- Silo's epochs ---

using EpochTidsSteps = ExplorerTest;

// A worker draws a TID, writes its record and publishes it, while another thread ends the epoch and
// asks which epoch is over. Returns in how many schedules a record of an epoch that is over is
// still to come.
template <class Atomics>
uint64_t epochs_with_late_records(uint32_t preemptions) {
  using Tids = BasicEpochTids<Atomics>;
  std::unique_ptr<Tids> tids;
  std::unique_ptr<Word<Atomics>> record;
  uint64_t drawn = 0, over = 0, seen = 0, late = 0;
  search(
      preemptions,
      [&] {
        tids = std::make_unique<Tids>(1);
        record = std::make_unique<Word<Atomics>>(0);
        const Body worker = [&] {
          drawn = tids->tid(0, 0);
          record->store(1, memory_order_release);
          tids->published(0, true);
        };
        const Body asks = [&] {
          tids->end_epoch();
          over = tids->over_for(std::array{0U});
          seen = record->load(memory_order_acquire);
        };
        return std::vector<Body>{worker, asks};
      },
      [&] { late += Tids::epoch_of(drawn) <= over && seen == 0 ? 1 : 0; });
  return late;
}

TEST_F(EpochTidsSteps, AnEpochThatEndsDuringADrawIsNotOverForItsTid) {
  EXPECT_EQ(epochs_with_late_records<ExploredAtomics>(4), 0u);
  EXPECT_GT(epochs_with_late_records<FencelessAtomics>(4), 0u);
}

TEST_F(EpochTidsSteps, AnEpochInWhichATidIsDrawnDuringTheQuestionIsNotOver) {
  using Tids = BasicEpochTids<ExploredAtomics>;
  std::unique_ptr<Tids> tids;
  uint64_t over = 0;
  search(
      4,
      [&] {
        tids = std::make_unique<Tids>(1);
        const Body draws = [&] {
          tids->draw(0, 0);
          tids->end_epoch();
        };
        return std::vector<Body>{draws, [&] { over = tids->over_for(std::array{0U}); }};
      },
      [&] { EXPECT_LT(over, Tids::epoch_of(tids->tid(0, 0))); });
}

// --- the lead of a stream ---

using FlushLeadTest = ExplorerTest;

// A thread leads, and there is nothing to flush. One waiter would lead, and sleeps unless a test
// says that it leaves.
template <class Atomics>
class LeadWithAWaiter {
 public:
  LeadWithAWaiter() { lead_.take(); }

  bool work_pending() { return filled_.load(memory_order_acquire) != 0; }
  void publish() {
    filled_.store(64, memory_order_release);
    Atomics::full_fence();
    offer();
  }
  void offer() {
    lead_.offer([this] { return work_pending(); });
  }
  void give_up() {
    lead_.give_up([this] { return work_pending(); });
  }
  void waiter_leaves() {
    waiter_.waits.store(0, memory_order_relaxed);
    lead_.pass_on([this] {
      ++passed_on_;
      return work_pending();
    });
  }

  int wake_ups() const { return waiter_.wake_ups; }
  int passed_on() const { return passed_on_; }
  bool lead_is_free() { return lead_.take(); }

 private:
  struct Waiter {
    bool wake_one_to_lead(uint32_t) {
      Atomics::full_fence();
      if (waits.load(memory_order_acquire) == 0) return false;
      ++wake_ups;
      return true;
    }

    Word<Atomics> waits{1};
    int wake_ups = 0;
  };

  Waiter waiter_;
  BasicFlushLead<Atomics, Waiter> lead_{0, waiter_};
  Word<Atomics> filled_{0};
  int passed_on_ = 0;
};

// The leader gives up while others publish. Returns in how many schedules the waiter is not woken
// once, or the lead is not free for it.
template <class Atomics>
uint64_t lost_leads(size_t publishers, uint32_t preemptions) {
  std::unique_ptr<LeadWithAWaiter<Atomics>> lead;
  uint64_t lost = 0;
  search(
      preemptions,
      [&] {
        lead = std::make_unique<LeadWithAWaiter<Atomics>>();
        std::vector<Body> bodies(publishers, [&] { lead->publish(); });
        bodies.emplace_back([&] { lead->give_up(); });
        return bodies;
      },
      [&] { lost += lead->wake_ups() == 1 && lead->lead_is_free() ? 0 : 1; });
  return lost;
}

TEST_F(FlushLeadTest, ThePublisherOrTheLeaderThatGivesUpWakesTheWaiter) {
  EXPECT_EQ(lost_leads<ExploredAtomics>(1, 4), 0u);
  EXPECT_EQ(lost_leads<ExploredAtomics>(2, 2), 0u);
  EXPECT_GT(lost_leads<FencelessAtomics>(1, 4), 0u);
}

// The waiter leaves because a poll has made its commit durable. Work is pending, and the lead is
// offered. If the offer wakes the waiter that leaves, this waiter must pass the lead on. Returns in
// how many schedules it does not.
template <class Atomics>
uint64_t leads_not_passed_on(uint32_t preemptions) {
  std::unique_ptr<LeadWithAWaiter<Atomics>> lead;
  uint64_t chosen = 0, lost = 0;
  search(
      preemptions,
      [&] {
        lead = std::make_unique<LeadWithAWaiter<Atomics>>();
        lead->give_up();
        const Body publishes = [&] { lead->publish(); };
        return std::vector<Body>{publishes, [&] { lead->waiter_leaves(); }};
      },
      [&] {
        chosen += lead->wake_ups() == 0 ? 0 : 1;
        lost += lead->wake_ups() == 0 || lead->passed_on() == 1 ? 0 : 1;
      });
  EXPECT_GT(chosen, 0u);
  return lost;
}

TEST_F(FlushLeadTest, AWaiterThatIsChosenWhileItLeavesPassesTheLeadOn) {
  EXPECT_EQ(leads_not_passed_on<ExploredAtomics>(4), 0u);
  EXPECT_GT(leads_not_passed_on<FencelessAtomics>(4), 0u);
}

// --- a worker's log ---

using WorkerLogTest = ExplorerTest;

// A worker publishes the open record, of number 5, which ends at 64, and opens the next one.
TEST_F(WorkerLogTest, ALookMissesNoRecordBelowItsPlace) {
  using Log = BasicWorkerLog<ExploredAtomics>;
  std::unique_ptr<Log> log;
  Log::Seen seen{};
  for (const bool opens : {false, true}) {
    search(
        4,
        [&] {
          log = std::make_unique<Log>();
          log->open(5, [] { return 5; });
          const Body worker = [&] {
            log->published(64);
            if (opens) log->open(6, [] { return 9; });
          };
          return std::vector<Body>{worker, [&] { seen = log->look(); }};
        },
        [&] {
          if (seen.place > 5) {
            EXPECT_EQ(seen.filled, 64u) << "the record was published before " << seen.place;
          } else {
            EXPECT_EQ(seen.place, 5u);
          }
        });
  }
}

// A thread that advances the watermark raises the floor, fences, and looks. Workers draw numbers
// above the floor that they see. The watermark must not pass a number that is drawn later. Returns
// how often it does.
template <class Atomics>
uint64_t numbers_missed(size_t workers, uint32_t preemptions) {
  constexpr uint64_t kRaised = 10;
  using Log = BasicWorkerLog<Atomics>;
  std::vector<std::unique_ptr<Log>> logs(workers);
  std::vector<uint64_t> numbers(workers), places(workers);
  std::unique_ptr<Word<Atomics>> floor;
  uint64_t missed = 0;
  search(
      preemptions,
      [&] {
        floor = std::make_unique<Word<Atomics>>(0);
        std::vector<Body> bodies;
        for (size_t i = 0; i < workers; ++i) {
          logs[i] = std::make_unique<Log>();
          bodies.emplace_back([&, i] {
            const auto draw = [&] { return floor->load(memory_order_relaxed) + 1; };
            numbers[i] = logs[i]->open(1, draw).number;
          });
        }
        bodies.emplace_back([&] {
          floor->store(kRaised, memory_order_relaxed);
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

TEST_F(WorkerLogTest, ANumberIsAboveTheFloorOrItsBoundIsSeen) {
  EXPECT_EQ(numbers_missed<ExploredAtomics>(1, 4), 0u);
  EXPECT_EQ(numbers_missed<ExploredAtomics>(2, 2), 0u);
  EXPECT_GT(numbers_missed<FencelessAtomics>(1, 4), 0u);
}

TEST_F(WorkerLogTest, OthersMayWaitIfTheBoundWasStale) {
  WorkerLog log;
  EXPECT_FALSE(log.open(5, [] { return 5; }).others_may_wait);
  log.published(64);
  EXPECT_TRUE(log.open(6, [] { return 9; }).others_may_wait);
}

// --- the tails of a distributed log ---

using Tails = ExplorerTest;

// A log of which only the tail and the clock are there.
struct TailAndClock {
  struct {
    Word<ExploredAtomics> next{0};
    uint64_t reserved() const { return next.load(memory_order_acquire); }
  } buffer;
  struct {
    Word<ExploredAtomics> number{0};
    uint64_t now() const { return number.load(memory_order_acquire); }
  } clock;
};

// A worker reserves a record in log 1, draws its GSN, and raises the clock of log 0.
TEST_F(Tails, ARecordUpToTheLeastClockLiesBeforeTheTails) {
  std::vector<std::unique_ptr<TailAndClock>> logs(2);
  std::vector<uint64_t> tails(2);
  uint64_t least = 0, seen = 0;
  search(
      4,
      [&] {
        for (auto& log : logs) log = std::make_unique<TailAndClock>();
        const Body commits = [&] {
          logs[1]->buffer.next.store(64, memory_order_release);
          logs[1]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
          logs[0]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
        };
        return std::vector<Body>{commits, [&] { least = load_tails(logs, tails); }};
      },
      [&] {
        seen += least == 1 ? 1 : 0;
        EXPECT_TRUE(least == 0 || tails[1] == 64) << "a commit would not wait for the record";
      });
  EXPECT_GT(seen, 0u);
}

// --- the event count ---

using EventCountSteps = ExplorerTest;
using EventCountDeathTest = ExplorerTest;

// A thread makes a condition true and notifies; others wait for it. If a wake-up is lost, a waiter
// sleeps for ever, and the explorer says so. Returns how many schedules there are.
template <class Atomics>
uint64_t schedules_of_waits(size_t waiters, uint32_t preemptions) {
  using Count = platform::BasicEventCount<Atomics>;
  std::unique_ptr<Count> count;
  std::unique_ptr<Word<Atomics>> holds;
  const Body waits = [&] {
    typename Count::Waiter waiter(*count);
    for (;;) {
      const uint32_t seen = waiter.prepare();
      if (holds->load(memory_order_acquire) != 0) return;
      waiter.sleep(seen);
    }
  };
  return search(
      preemptions,
      [&] {
        count = std::make_unique<Count>();
        holds = std::make_unique<Word<Atomics>>(0);
        std::vector<Body> bodies(waiters, waits);
        bodies.emplace_back([&] {
          holds->store(1, memory_order_release);
          count->notify();
        });
        return bodies;
      },
      [&] { EXPECT_FALSE(count->has_waiters()); });
}

TEST_F(EventCountSteps, NoWakeUpIsLost) {
  EXPECT_GT(schedules_of_waits<ExploredAtomics>(1, 4), 100u);
  EXPECT_GT(schedules_of_waits<ExploredAtomics>(2, 2), 100u);
}

TEST_F(EventCountDeathTest, AWakeUpIsLostWithoutFences) {
  EXPECT_EXIT(schedules_of_waits<FencelessAtomics>(1, 4), testing::ExitedWithCode(7),
              "all threads wait, and no timer runs");
}

}  // namespace
}  // namespace logjam::sim
