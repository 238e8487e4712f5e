// The tails of dlog, the prefix of durable commits, and protocols in which each of two threads
// stores a word, executes a fence, and then loads a word of the other thread. Without the fences, a
// search must find a wrong schedule.
#include <gtest/gtest.h>

#include "engine/storage/commit_clock.h"
#include "logging/schemes/aether/gsn_clock.h"
#include "logging/schemes/nvm/worker_log.h"
#include "logging/schemes/silo/epoch_tids.h"
#include "logging/stream/flush_lead.h"
#include "platform/event_count.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;
using Word = platform::atomic<uint64_t>;

// --- Silo's epochs ---

// Workers draw TIDs, write their records and publish them. Another thread ends the epoch and asks
// which epoch is over. Checked: every record of an epoch that is over has been written.
class DrawsAndAQuestion {
 public:
  explicit DrawsAndAQuestion(uint32_t workers)
      : shared_(std::make_unique<Shared>(workers)), drawn_(workers), seen_(workers) {
    for (uint32_t worker = 0; worker < workers; ++worker) all_.push_back(worker);
  }
  std::vector<Body> threads() {
    std::vector<Body> bodies;
    for (const uint32_t worker : all_) {
      bodies.emplace_back([this, worker] {
        drawn_[worker] = shared_->tids.tid(worker, 0);
        shared_->records[worker].store(1, memory_order_release);
        shared_->tids.note_publish(worker, true);
      });
    }
    bodies.emplace_back([this] {
      shared_->tids.end_epoch();
      over_ = shared_->tids.over_for(all_);
      for (const uint32_t worker : all_) {
        seen_[worker] = shared_->records[worker].load(memory_order_acquire);
      }
    });
    return bodies;
  }
  std::string wrong() {
    for (const uint32_t worker : all_) {
      if (EpochTids::epoch_of(drawn_[worker]) <= over_ && seen_[worker] == 0) {
        return "a record of an epoch that is over comes late";
      }
    }
    return "";
  }

 private:
  struct Shared {
    explicit Shared(uint32_t workers) : tids(workers) {}
    EpochTids tids;
    std::array<Word, 2> records{};
  };

  std::unique_ptr<Shared> shared_;
  std::vector<uint32_t> all_;
  std::vector<uint64_t> drawn_, seen_;
  uint64_t over_ = 0;
};

TEST(EpochTidsSteps, AnEpochThatEndsDuringADrawIsNotOverForItsTid) {
  search_all<DrawsAndAQuestion>(3, 1u);
  search_all<DrawsAndAQuestion>(2, 2u);
  EXPECT_NE(first_wrong<WithoutFences<DrawsAndAQuestion>>(3, 1u), "");
}

// A worker draws a TID and then ends the epoch. Meanwhile another thread asks which epoch is over.
class ADrawDuringTheQuestion {
 public:
  std::vector<Body> threads() {
    const Body draws = [this] {
      tids_->draw(0, 0);
      tids_->end_epoch();
    };
    return {draws, [this] { over_ = tids_->over_for(std::array{0U}); }};
  }
  std::string wrong() {
    return over_ < EpochTids::epoch_of(tids_->tid(0, 0)) ? "" : "the epoch of a TID in use is over";
  }

 private:
  std::unique_ptr<EpochTids> tids_ = std::make_unique<EpochTids>(1);
  uint64_t over_ = 0;
};

TEST(EpochTidsSteps, AnEpochInWhichATidIsDrawnDuringTheQuestionIsNotOver) {
  search_all<ADrawDuringTheQuestion>(3);
}

// --- the durable prefix of commit stamps ---

// Workers draw stamps, make their commits durable, and extend the prefix. Another thread only
// extends the prefix. Checked: all commits of a prefix are durable, and the last prefix has all
// commits. Without `announces`, workers draw stamps without an announcement.
class CommitsAndAPrefix {
 public:
  CommitsAndAPrefix(uint32_t workers, bool announces)
      : shared_(std::make_unique<Shared>()), workers_(workers), announces_(announces) {
    shared_->clock.track(workers);
  }
  std::vector<Body> threads() {
    std::vector<Body> bodies;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      bodies.emplace_back([this, worker] {
        if (announces_) shared_->clock.announce(worker);
        const uint64_t stamp = shared_->clock.draw();
        shared_->durable[stamp].store(1, memory_order_relaxed);
        shared_->clock.note_oldest(worker, CommitClock::kNone);
        extend();
      });
    }
    bodies.emplace_back([this] { extend(); });
    return bodies;
  }
  std::string wrong() {
    if (early_) return "the prefix has a commit that is not durable";
    return shared_->clock.durable_prefix() == workers_ ? "" : "the prefix lacks durable commits";
  }

 private:
  struct Shared {
    CommitClock clock;
    std::array<Word, 3> durable{};
  };

  void extend() {
    const uint64_t prefix = shared_->clock.extend_durable_prefix();
    for (uint64_t stamp = 1; stamp <= prefix; ++stamp) {
      if (shared_->durable[stamp].load(memory_order_relaxed) == 0) early_ = true;
    }
  }

  std::unique_ptr<Shared> shared_;
  const uint32_t workers_;
  const bool announces_;
  bool early_ = false;
};

TEST(CommitClockSteps, ThePrefixHasAllDurableCommitsAndNoOther) {
  search_all<CommitsAndAPrefix>(3, 1u, true);
  search_all<CommitsAndAPrefix>(2, 2u, true);
  EXPECT_NE(first_wrong<CommitsAndAPrefix>(1, 1u, false), "");
}

// --- the lead of a stream ---

// A model of a stream that has only a lead. The leader makes all waiters' commit points durable.
class LeadAndWaiters : Durability {
 public:
  explicit LeadAndWaiters(uint32_t waiters) : waiters_(waiters, *this) { lead.take(); }

  static CommitPoint point(uint32_t waiter) { return CommitPoint::in_stream(0, waiter + 1); }
  bool is_durable(const CommitPoint& point) const override {
    return durable_.load(memory_order_acquire) >= point.sequence;
  }
  bool work_pending() const { return filled_.load(memory_order_acquire) != 0; }
  void publish() {
    filled_.store(64, memory_order_release);
    platform::full_fence();
    lead.offer([this] { return work_pending(); });
  }
  void give_up() {
    lead.give_up([this] { return work_pending(); });
  }
  // Makes the commit points of the first `waiters` waiters durable, and wakes these waiters.
  void make_durable(uint64_t waiters) {
    platform::atomic_max(durable_, waiters);
    waiters_.wake_durable();
  }
  // Sleeps like a stream's wait(), until the waiter's commit point is durable or the waiter leads.
  // Without `passes_on`, a leaving waiter does not pass on a lead that it was offered.
  void wait(uint32_t waiter, bool passes_on) {
    while (!is_durable(point(waiter))) {
      lead.park(waiter, point(waiter), platform::kForever);
      if (is_durable(point(waiter)) || !lead.take()) continue;
      return make_durable(~uint64_t{0});
    }
    if (passes_on) lead.pass_on([this] { return work_pending(); });
  }

 private:
  DurabilityWaiters waiters_;
  Word filled_{0}, durable_{0};

 public:
  FlushLead lead{0, waiters_};
};

// The leader gives up the lead while other threads publish and a waiter sleeps. If no thread wakes
// the waiter, the explorer reports it.
class PublishersAndALeader {
 public:
  explicit PublishersAndALeader(uint32_t publishers) : publishers_(publishers) {}
  std::vector<Body> threads() {
    std::vector<Body> bodies = {[this] { shared_->wait(0, true); }, [this] { shared_->give_up(); }};
    bodies.resize(2 + publishers_, [this] { shared_->publish(); });
    return bodies;
  }
  std::string wrong() {
    if (!shared_->lead.held()) return "the waiter does not lead";
    return shared_->lead.handed_over() <= 1 ? "" : "the waiter is woken twice to lead";
  }

 private:
  const uint32_t publishers_;
  std::unique_ptr<LeadAndWaiters> shared_ = std::make_unique<LeadAndWaiters>(1);
};

TEST(FlushLeadTest, ThePublisherOrTheLeaderThatGivesUpWakesTheWaiter) {
  search_all<PublishersAndALeader>(3, 1u);
  search_all<PublishersAndALeader>(2, 2u);
}

TEST(FlushLeadDeathTest, AWakeUpIsLostWithoutFences) {
  EXPECT_EXIT(first_wrong<WithoutFences<PublishersAndALeader>>(2, 1u), testing::ExitedWithCode(7),
              "all threads wait, and no timer runs");
}

// No thread leads, and two waiters sleep. A poll makes the first waiter's commit durable while a
// thread publishes. If the first waiter gets the lead, it must pass the lead to the second waiter.
class AWaiterThatLeaves {
 public:
  explicit AWaiterThatLeaves(bool passes_on) : passes_on_(passes_on) { shared_->give_up(); }
  std::vector<Body> threads() {
    return {[this] { shared_->wait(0, passes_on_); }, [this] { shared_->wait(1, passes_on_); },
            [this] { shared_->publish(); }, [this] { shared_->make_durable(1); }};
  }
  static std::string wrong() { return ""; }

 private:
  const bool passes_on_;
  std::unique_ptr<LeadAndWaiters> shared_ = std::make_unique<LeadAndWaiters>(2);
};

TEST(FlushLeadTest, AWaiterThatIsChosenWhileItLeavesPassesTheLeadOn) {
  search_all<AWaiterThatLeaves>(1, true);
}

TEST(FlushLeadDeathTest, AWaiterThatDoesNotPassTheLeadOnLeavesTheOtherAsleep) {
  EXPECT_EXIT(first_wrong<AWaiterThatLeaves>(1, false), testing::ExitedWithCode(7),
              "all threads wait, and no timer runs");
}

// --- a worker's log ---

// A worker publishes its open record, which has number 5 and ends at byte 64. It may then open the
// next record. Checked: if a look returns a number above 5, it also sees the record as filled.
class APublishAndALook {
 public:
  explicit APublishAndALook(bool opens) : opens_(opens) {
    log_->open(5, [] { return 5; });
  }
  std::vector<Body> threads() {
    const Body worker = [this] {
      log_->note_fill(64);
      if (opens_) log_->open(6, [] { return 9; });
    };
    return {worker, [this] { seen_ = log_->look(); }};
  }
  std::string wrong() {
    if (seen_.place < 5) return "the place is before the open record";
    return seen_.place == 5 || seen_.filled == 64 ? "" : "a look misses a record below its place";
  }

 private:
  const bool opens_;
  std::unique_ptr<WorkerLog> log_ = std::make_unique<WorkerLog>();
  WorkerLog::Seen seen_{};
};

TEST(WorkerLogTest, ALookMissesNoRecordBelowItsPlace) {
  search_all<APublishAndALook>(4, false);
  search_all<APublishAndALook>(4, true);
}

// A thread that advances the watermark raises the floor, executes a fence, and looks at the
// workers' logs. Workers draw numbers above the floor that they load. Checked: if the look has
// missed a worker's number, this number is above the raised floor.
class DrawsAboveAFloor {
 public:
  explicit DrawsAboveAFloor(uint32_t workers) : numbers_(workers), places_(workers) {}
  std::vector<Body> threads() {
    std::vector<Body> bodies;
    for (size_t i = 0; i < numbers_.size(); ++i) {
      bodies.emplace_back([this, i] {
        const auto draw = [this] { return shared_->floor.load(memory_order_relaxed) + 1; };
        numbers_[i] = shared_->logs[i].open(1, draw).number;
      });
    }
    bodies.emplace_back([this] {
      shared_->floor.store(kRaised, memory_order_relaxed);
      platform::full_fence();
      for (size_t i = 0; i < places_.size(); ++i) places_[i] = shared_->logs[i].look().place;
    });
    return bodies;
  }
  std::string wrong() {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (numbers_[i] <= kRaised && places_[i] > numbers_[i]) return "a number is missed";
    }
    return "";
  }

 private:
  static constexpr uint64_t kRaised = 10;
  struct Shared {
    std::array<WorkerLog, 2> logs;
    Word floor{0};
  };

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::vector<uint64_t> numbers_, places_;
};

TEST(WorkerLogTest, ANumberIsAboveTheFloorOrItsBoundIsSeen) {
  search_all<DrawsAboveAFloor>(4, 1u);
  search_all<DrawsAboveAFloor>(2, 2u);
  EXPECT_NE(first_wrong<WithoutFences<DrawsAboveAFloor>>(4, 1u), "");
}

TEST(WorkerLogTest, OthersMayWaitIfTheBoundWasStale) {
  WorkerLog log;
  EXPECT_FALSE(log.open(5, [] { return 5; }).others_may_wait);
  log.note_fill(64);
  EXPECT_TRUE(log.open(6, [] { return 9; }).others_may_wait);
}

// --- the tails of a distributed log ---

// A model of a log that has only a tail and a clock.
struct TailAndClock {
  struct {
    Word next{0};
    uint64_t reserved() const { return next.load(memory_order_acquire); }
  } buffer;
  struct {
    Word number{0};
    uint64_t now() const { return number.load(memory_order_acquire); }
  } clock;
};

// A worker reserves a record in log 1, draws its GSN, and raises the clock of log 0. Checked: if a
// thread sees the GSN in all clocks, the tails that it loads include the record.
class ACommitAndALoad {
 public:
  std::vector<Body> threads() {
    const Body commits = [this] {
      logs_[1]->buffer.next.store(64, memory_order_release);
      logs_[1]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
      logs_[0]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
    };
    return {commits, [this] { least_ = load_tails(logs_, tails_); }};
  }
  std::string wrong() {
    seen += least_;
    return least_ == 0 || tails_[1] == 64 ? "" : "a commit would not wait for the record";
  }
  static inline uint64_t seen = 0;  // number of schedules in which all clocks have reached the GSN

 private:
  std::array<std::unique_ptr<TailAndClock>, 2> logs_ = {std::make_unique<TailAndClock>(),
                                                        std::make_unique<TailAndClock>()};
  std::vector<uint64_t> tails_ = std::vector<uint64_t>(2);
  uint64_t least_ = 0;
};

TEST(Tails, ARecordUpToTheLeastClockLiesBeforeTheTails) {
  search_all<ACommitAndALoad>(4);
  EXPECT_GT(ACommitAndALoad::seen, 0u);
}

// --- the event count ---

// A thread makes a condition true and notifies the threads that wait for it. If a wake-up is lost,
// a waiter sleeps for ever, and the explorer reports it.
class WaitersAndANotifier {
 public:
  explicit WaitersAndANotifier(uint32_t waiters) : waiters_(waiters) {}
  std::vector<Body> threads() {
    std::vector<Body> bodies(waiters_, [this] { wait(); });
    bodies.emplace_back([this] {
      shared_->holds.store(1, memory_order_release);
      shared_->count.notify();
    });
    return bodies;
  }
  std::string wrong() { return shared_->count.has_waiters() ? "a waiter is still counted" : ""; }

 private:
  struct Shared {
    platform::EventCount count;
    Word holds{0};
  };

  void wait() {
    platform::EventCount::Waiter waiter(shared_->count);
    for (;;) {
      const uint32_t seen = waiter.prepare();
      if (shared_->holds.load(memory_order_acquire) != 0) return;
      waiter.sleep(seen);
    }
  }

  const uint32_t waiters_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

TEST(EventCountSteps, NoWakeUpIsLost) {
  search_all<WaitersAndANotifier>(4, 1u);
  search_all<WaitersAndANotifier>(2, 2u);
}

TEST(EventCountDeathTest, AWakeUpIsLostWithoutFences) {
  EXPECT_EXIT(first_wrong<WithoutFences<WaitersAndANotifier>>(4, 1u), testing::ExitedWithCode(7),
              "all threads wait, and no timer runs");
}

}  // namespace
}  // namespace logjam::sim
