// The hand-over of a stream's lead while a publisher, the leader and a waiter take their steps at
// the same time. No wake-up may be lost.
#include "logging/stream/flush_lead.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/logging/stepped_atomics.h"

namespace logjam {
namespace {

template <class T>
using Stepped = SteppedAtomics::atomic<T>;

// One waiter, which would lead, and sleeps unless a test says that it leaves.
struct OneWaiter {
  bool wake_one_to_lead(uint32_t) {
    SteppedAtomics::full_fence();
    if (waits.load(platform::memory_order_acquire) == 0) return false;
    ++wake_ups;
    return true;
  }
  void leave() { waits.store(0, platform::memory_order_relaxed); }

  Stepped<uint32_t> waits{1};
  int wake_ups = 0;
};

class FlushLeadTest : public testing::Test {
 protected:
  using Lead = BasicFlushLead<SteppedAtomics, OneWaiter>;

  // A thread leads, and there is nothing to flush.
  void begin() {
    waiter_ = std::make_unique<OneWaiter>();
    lead_ = std::make_unique<Lead>(0, *waiter_);
    filled_ = std::make_unique<Stepped<uint64_t>>(0);
    ASSERT_TRUE(lead_->take());
  }
  bool work_pending() { return filled_->load(platform::memory_order_acquire) != 0; }
  void publish() {
    filled_->store(64, platform::memory_order_release);
    SteppedAtomics::full_fence();
    offer();
  }
  void offer() {
    lead_->offer([this] { return work_pending(); });
  }
  void give_up() {
    lead_->give_up([this] { return work_pending(); });
  }

  std::unique_ptr<OneWaiter> waiter_;
  std::unique_ptr<Lead> lead_;
  std::unique_ptr<Stepped<uint64_t>> filled_;
};

TEST_F(FlushLeadTest, ThePublisherOrTheLeaderThatGivesUpWakesTheWaiter) {
  const auto one_wake_up = [this] {
    EXPECT_EQ(waiter_->wake_ups, 1);
    EXPECT_EQ(lead_->handed_over(), 1u);
    EXPECT_TRUE(lead_->take()) << "the lead is free";
  };
  const int gives_up = SteppedAtomics::interleave([this] { begin(); }, [this] { give_up(); },
                                                  [this] { publish(); }, one_wake_up);
  const int publishes = SteppedAtomics::interleave([this] { begin(); }, [this] { publish(); },
                                                   [this] { give_up(); }, one_wake_up);
  EXPECT_GE(gives_up, 5);
  EXPECT_GE(publishes, 5);
}

// The waiter leaves because a poll has made its commit durable. Work is pending, and the lead is
// offered. If the offer wakes the waiter that leaves, this waiter must pass the lead on.
TEST_F(FlushLeadTest, AWaiterThatIsChosenWhileItLeavesPassesTheLeadOn) {
  int passed_on = 0, chosen = 0;
  const auto start = [&] {
    begin();
    give_up();
    filled_->store(64);
    passed_on = 0;
  };
  const auto make_offer = [&] { offer(); };
  const auto leave = [&] {
    waiter_->leave();
    lead_->pass_on([&] {
      ++passed_on;
      return work_pending();
    });
  };
  const auto check = [&] {
    chosen += waiter_->wake_ups;
    EXPECT_TRUE(waiter_->wake_ups == 0 || passed_on == 1)
        << "the lead is free, and nobody takes it";
  };
  EXPECT_GE(SteppedAtomics::interleave(start, leave, make_offer, check), 3);
  EXPECT_GE(SteppedAtomics::interleave(start, make_offer, leave, check), 3);
  EXPECT_GE(chosen, 2) << "at least when the offer is over before the waiter leaves";
}

}  // namespace
}  // namespace logjam
