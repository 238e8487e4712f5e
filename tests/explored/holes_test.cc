// Writers fill holes while a thread seeks the first hole, in all schedules with few preemptions.
#include <gtest/gtest.h>

#include "logging/schemes/border_collie/herd_flags.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/ermia/dirty_ends.h"
#include "logging/schemes/fasterlog/epoch_slots.h"
#include "logging/schemes/nvm/open_holes.h"
#include "logging/schemes/postgres/insertion_locks.h"
#include "logging/schemes/wiredtiger/log_slots.h"
#include "logging/stream/ring.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint32_t kBytes = 64, kMostRecords = 6;  // kBytes: in each record

// The records of a log. One store fills a record.
class FilledRecords {
 public:
  void fill(uint64_t begin) { (*filled_)[begin / kBytes].store(1, platform::memory_order_relaxed); }
  // Checks the result of a look: all records before `end` must be filled.
  void judge(uint64_t end) {
    seen = end;
    for (uint64_t record = 0; record < end / kBytes; ++record) {
      if ((*filled_)[record].load(platform::memory_order_relaxed) == 0) {
        wrong = "a look passes a hole";
      }
    }
  }
  uint64_t seen = 0;
  const char* wrong = "";

 private:
  using Words = std::array<platform::atomic<uint64_t>, kMostRecords>;
  std::unique_ptr<Words> filled_ = std::make_unique<Words>();
};

// Workers take turns to write `count` records, while another thread looks twice. Checked: a look
// passes only filled records, and never sees less than the look before it. Two looks at the end see
// all records, so no two records overlap.
template <class Log>
class WritersAndALook {
 public:
  template <class... Options>
  WritersAndALook(uint32_t workers, uint32_t count, const Options&... options)
      : workers_(workers), count_(count), log_(std::make_unique<Log>(workers, options...)) {}

  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      all.emplace_back([this, worker] {
        for (uint32_t i = worker; i < count_; i += workers_) write(worker);
      });
    }
    all.emplace_back([this] { look_twice(); });
    return all;
  }
  std::string wrong() {
    look_twice();
    return records_.seen == count_ * kBytes ? records_.wrong : "a look at the end does not see all";
  }

 protected:
  void write(uint32_t worker) { log_->write(worker, records_); }
  void look_twice() {
    for (int i = 0; i < 2; ++i) {
      const uint64_t end = log_->look(records_.seen);
      if (end < records_.seen && !requires { Log::kMayGoBack; }) {
        records_.wrong = "a look sees less than the look before it";
      }
      records_.judge(end);
    }
  }

  const uint32_t workers_, count_;
  FilledRecords records_;
  std::unique_ptr<Log> log_;
};

// --- NVM: the holes of a log in place ---

struct Holes {
  explicit Holes(uint32_t workers) : holes(workers) {}
  void write(uint32_t worker, FilledRecords& records) {
    records.fill(holes.reserve(worker, kBytes).number);
    holes.filled(worker);
  }
  uint64_t look(uint64_t) { return holes.look(); }
  static constexpr bool kMayGoBack = true;  // a later look may see less than an earlier look
  OpenHoles holes;
};

TEST(OpenHolesSteps, NoLookPassesAHole) {
  search_all<WritersAndALook<Holes>>(3, 1u, 2u);
  search_all<WritersAndALook<Holes>>(3, 2u, 2u);
}

// --- WiredTiger's log slots ---

// A slot holds two records. A look closes the active slot.
struct Slots {
  explicit Slots(uint32_t) {}
  void write(uint32_t, FilledRecords& records) {
    const auto [begin, slot] = slots.join(kBytes);
    records.fill(begin);
    slots.release(slot, kBytes);
  }
  uint64_t look(uint64_t) {
    slots.close_active();
    return slots.pass();
  }
  LogSlots slots{4 * 2 * kBytes};
};

TEST(LogSlotsSteps, OnlyFilledRecordsArePassed) {
  search_all<WritersAndALook<Slots>>(2, 2u, 2u);
  search_all<WritersAndALook<Slots>>(1, 3u, 3u);
}

TEST(LogSlotsSteps, AFullSlotIsClosedByAWorker) { search_all<WritersAndALook<Slots>>(1, 2u, 6u); }

// --- trackers with a word for each worker ---

// Returns the ring for the constructors of these trackers. The trackers do not use the ring.
const Ring& ring() {
  static const auto& made = *new Ring(4096, 512);
  return made;
}

enum class Room : uint8_t { kThere, kWaitedFor };

template <class Tracker, Room kRoom = Room::kThere>
struct Tracked {
  template <class... Options>
  explicit Tracked(uint32_t workers, const Options&... options)
      : tracker(workers, ring(), options...) {}
  void write(uint32_t worker, FilledRecords& records) {
    const uint64_t begin = draw_hole(tracker, worker, next, kBytes);
    if (kRoom == Room::kWaitedFor) tracker.must_wait(worker, begin);
    records.fill(begin);
    tracker.publish(worker, begin, begin + kBytes);
  }
  uint64_t look(uint64_t sbl) { return tracker.advance(sbl, next); }
  Tracker tracker;
  platform::atomic<uint64_t> next{0};
};

template <class Tracker>
class WorkerWordsSteps : public testing::Test {};
using Trackers = testing::Types<HerdFlags, EpochSlots, DirtyEnds>;
TYPED_TEST_SUITE(WorkerWordsSteps, Trackers);

TYPED_TEST(WorkerWordsSteps, SblPassesNoHole) {
  search_all<WritersAndALook<Tracked<TypeParam>>>(2, 2u, 3u);
}

TYPED_TEST(WorkerWordsSteps, SblPassesNoHoleWhoseWorkerWaitsForRoom) {
  search_all<WritersAndALook<Tracked<TypeParam, Room::kWaitedFor>>>(2, 2u, 3u);
}

// The search finds a schedule like the one that dirty_ends.h describes.
TEST(DirtyEndsSteps, WithoutItsBoundSblPassesAHole) {
  const std::string found = first_wrong<WritersAndALook<Tracked<DirtyEnds>>>(2, 2u, 3u, false);
  EXPECT_EQ(found.substr(0, found.find(" in")), "a look passes a hole") << found;
}

// --- PostgreSQL's insertion locks ---

struct Locks {
  Locks(uint32_t workers, uint32_t count) : locks(count, workers) {}
  uint64_t reserve(uint32_t worker, bool fits) {
    return locks.reserve(worker, kBytes, [fits](uint64_t) { return fits; });
  }
  void write(uint32_t worker, FilledRecords& records) {
    records.fill(reserve(worker, true));
    locks.release(worker);
  }
  uint64_t look(uint64_t) { return locks.look(); }
  InsertionLocks locks;
};

TEST(InsertionLocksSteps, ALookPassesFilledRecordsOnly) {
  search_all<WritersAndALook<Locks>>(2, 2u, 2u, 2u);
  search_all<WritersAndALook<Locks>>(1, 3u, 3u, 3u);
}

TEST(InsertionLocksSteps, TwoWorkersTakeOneLockInTurn) {
  search_all<WritersAndALook<Locks>>(1, 2u, 2u, 1u);
  search_all<WritersAndALook<Locks>>(1, 3u, 3u, 2u);
}

// Two workers insert, and worker 0 then looks twice. With one lock, worker 1 may take the lock
// during worker 0's release, which must not erase worker 1's bound. With two locks, worker 1 may
// announce an old bound between the two looks; the second look must not see less than the first.
class InserterThatLooks : public WritersAndALook<Locks> {
 public:
  explicit InserterThatLooks(uint32_t locks) : WritersAndALook(2, 2, locks) {}
  std::vector<Body> threads() {
    const Body looks_then = [this] {
      write(0);
      look_twice();
    };
    return {looks_then, [this] { write(1); }};
  }
};

TEST(InsertionLocksSteps, AReleaseDoesNotHideTheNextHolder) {
  search_all<InserterThatLooks>(2, 1u);
}

TEST(InsertionLocksSteps, AnOldBoundDoesNotTakeALookBack) { search_all<InserterThatLooks>(3, 2u); }

// The ring is full, so worker 0 waits until all records before its own record are filled. Meanwhile
// worker 1 inserts. Also checked: the wait ends.
class InserterThatWaitsForRoom : public WritersAndALook<Locks> {
 public:
  InserterThatWaitsForRoom() : WritersAndALook(2, 2, 2u) {}
  std::vector<Body> threads() {
    return {[this] { insert_after_a_wait_for_room(); }, [this] { write(1); }};
  }

 private:
  void insert_after_a_wait_for_room() {
    const uint64_t begin = log_->reserve(0, false);
    constexpr int kMostLooks = 100;  // during pause() the other thread continues
    for (int looks = 0; log_->look(0) < begin && *records_.wrong == 0; ++looks) {
      if (looks == kMostLooks) records_.wrong = "a holder that waits holds earlier records back";
      platform::pause();
    }
    records_.fill(begin);
    log_->locks.release(0);
  }
};

TEST(InsertionLocksSteps, EarlierRecordsAreSeenWhileAHolderWaitsForRoom) {
  search_all<InserterThatWaitsForRoom>(2);
}

}  // namespace
}  // namespace logjam::sim
