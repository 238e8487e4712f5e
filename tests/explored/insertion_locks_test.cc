// PostgreSQL's insertion locks in all schedules with few preemptions.
#include "logging/schemes/postgres/insertion_locks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kBytes = 64;
constexpr uint32_t kMostRecords = 4;

// Each of the threads inserts a record, which it fills by one store. Another thread looks twice.
// Checked: a look never passes a record that is not filled, and never sees less than the look
// before; a look at the end sees all records.
class InsertersAndALook {
 public:
  InsertersAndALook(uint32_t locks, uint32_t inserters)
      : inserters_(inserters), shared_(std::make_unique<Shared>(locks, inserters)) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < inserters_; ++worker) {
      all.emplace_back([this, worker] { insert(worker); });
    }
    all.emplace_back([this] { look_twice(); });
    return all;
  }
  std::string wrong() { return wrong_after(inserters_); }

 protected:
  void insert(uint32_t worker) { fill(worker, reserve(worker, true)); }
  void insert_after_a_wait_for_room(uint32_t worker) {
    const uint64_t begin = reserve(worker, false);
    constexpr int kMostLooks = 100;  // in a pause the other thread goes on
    for (int looks = 0; shared_->locks.look() < begin && wrong_ == nullptr; ++looks) {
      if (looks == kMostLooks) wrong_ = "a holder that waits for room holds earlier records back";
      platform::pause();
    }
    fill(worker, begin);
  }
  void look_twice() {
    uint64_t seen = 0;
    for (int i = 0; i < 2; ++i) {
      const uint64_t end = shared_->locks.look();
      if (end < seen) wrong_ = "a look sees less than the one before";
      seen = end;
      for (uint64_t record = 0; record < end / kBytes; ++record) {
        if (shared_->filled[record].load(platform::memory_order_relaxed) == 0) {
          wrong_ = "a look passed a record that is not filled";
        }
      }
    }
  }
  std::string wrong_after(uint32_t records) {
    if (shared_->locks.look() != records * kBytes) return "a look at the end does not see all";
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    Shared(uint32_t count, uint32_t workers) : locks(count, workers) {}
    InsertionLocks locks;
    std::array<platform::atomic<uint64_t>, kMostRecords> filled{};
  };

  uint64_t reserve(uint32_t worker, bool fits) {
    return shared_->locks.reserve(worker, kBytes, [fits](uint64_t) { return fits; });
  }
  void fill(uint32_t worker, uint64_t begin) {
    shared_->filled[begin / kBytes].store(1, platform::memory_order_relaxed);
    shared_->locks.release(worker);
  }

  const uint32_t inserters_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = nullptr;
};

TEST(InsertionLocksSteps, ALookPassesFilledRecordsOnly) {
  search_all<InsertersAndALook>(2, 2u, 2u);
  search_all<InsertersAndALook>(1, 3u, 3u);
}

TEST(InsertionLocksSteps, TwoWorkersTakeOneLockInTurn) {
  search_all<InsertersAndALook>(1, 1u, 2u);
  search_all<InsertersAndALook>(1, 2u, 3u);
}

// Two workers insert. One of them looks twice when it has inserted. Checked: the same. With one
// lock, the other may take it in the midst of the release; with two, the other may announce an old
// bound between the two looks.
class InserterThatLooks : InsertersAndALook {
 public:
  explicit InserterThatLooks(uint32_t locks) : InsertersAndALook(locks, 2) {}
  std::vector<Body> threads() {
    const Body looks_then = [this] {
      insert(0);
      look_twice();
    };
    return {looks_then, [this] { insert(1); }};
  }
  std::string wrong() { return wrong_after(2); }
};

TEST(InsertionLocksSteps, AReleaseDoesNotHideTheNextHolder) {
  search_all<InserterThatLooks>(2, 1u);
}

TEST(InsertionLocksSteps, AnOldBoundDoesNotTakeALookBack) { search_all<InserterThatLooks>(3, 2u); }

// A worker waits until all records before its own could be written, because the ring has no room.
// The other inserts meanwhile. Checked: the wait ends, and the same.
class InserterThatWaitsForRoom : InsertersAndALook {
 public:
  InserterThatWaitsForRoom() : InsertersAndALook(2, 2) {}
  std::vector<Body> threads() {
    return {[this] { insert_after_a_wait_for_room(0); }, [this] { insert(1); }};
  }
  std::string wrong() { return wrong_after(2); }
};

TEST(InsertionLocksSteps, EarlierRecordsAreSeenWhileAHolderWaitsForRoom) {
  search_all<InserterThatWaitsForRoom>(2);
}

}  // namespace
}  // namespace logjam::sim
