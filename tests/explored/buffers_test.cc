// Buffers, groups and latches of log schemes, in all schedules with few preemptions.
#include <gtest/gtest.h>

#include "logging/schemes/autonomous/stealing_group.h"
#include "logging/schemes/common/backoff_lock.h"
#include "logging/schemes/common/durable_sequence.h"
#include "logging/schemes/common/queue_lock.h"
#include "logging/schemes/mariadb/shared_latch.h"
#include "logging/schemes/pwal/private_buffer.h"
#include "logging/schemes/rocksdb/write_groups.h"
#include "platform/clock.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

using platform::memory_order_relaxed;
using Word = platform::atomic<uint64_t>;

// --- P-WAL's buffers ---

constexpr uint64_t kRecord = 64, kWatermark = 32;

// A worker publishes records of 64 bytes. Another thread does one of two things: it reads the
// buffer's Place (an end and a number), or it appends a watermark of 32 bytes if the worker is
// idle.
class WorkerAndOther {
 protected:
  void publish(int records) {
    for (int i = 0; i < records; ++i) {
      const uint64_t sequence = shared_->buffer.open();
      const PrivateBuffer::Place before = shared_->buffer.place();
      if (before.sequence >= sequence) wrong_ = "a watermark has the number of a later record";
      fill(before.end, kRecord);
      shared_->buffer.publish({before.end + kRecord, sequence});
      bytes_ += kRecord;
    }
  }
  void append_watermark() {
    const bool appended =
        shared_->buffer.append_if_idle([this](const auto& place, uint64_t counter) {
          if (place.sequence >= counter) return place;
          fill(place.end, kWatermark);
          return PrivateBuffer::Place{place.end + kWatermark, counter};
        });
    if (appended) bytes_ += kWatermark;
  }
  void cancel_next() {
    shared_->buffer.open();
    shared_->buffer.cancel();
  }
  PrivateBuffer::Place place() const { return shared_->buffer.place(); }
  void draw_elsewhere() { shared_->counter.fetch_add(1); }
  std::string wrong_at_end() const {
    if (*wrong_ != 0) return wrong_;
    return place().end == bytes_ ? "" : "the place does not have all bytes";
  }

 private:
  struct Shared {
    Word counter{0};
    PrivateBuffer buffer{counter};
    std::array<Word, 16> words;  // one for each 32 bytes
  };

  void fill(uint64_t begin, uint64_t bytes) {
    for (uint64_t at = begin; at < begin + bytes; at += kWatermark) {
      if (shared_->words[at / kWatermark].exchange(1) != 0)
        wrong_ = "two threads fill the same bytes";
    }
  }

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  uint64_t bytes_ = 0;  // two threads may add: an addition has no step within
  const char* wrong_ = "";
};

// Checked: the Place has the end and the number of the same record. Record n ends at byte 64 n.
class PublishBesideLook : WorkerAndOther {
 public:
  std::vector<Body> threads() {
    return {[this] { seen_ = place(); }, [this] { publish(3); }};
  }
  std::string wrong() const {
    return seen_.end == seen_.sequence * kRecord ? wrong_at_end() : "a place is torn";
  }

 private:
  PrivateBuffer::Place seen_;
};

TEST(PrivateBufferSteps, APlaceIsReadAsItWasStored) { search_all<PublishBesideLook>(3); }

// Checked: no byte is filled twice, and the sequence numbers grow along the buffer.
class PublishBesideWatermark : WorkerAndOther {
 public:
  PublishBesideWatermark() { draw_elsewhere(); }
  std::vector<Body> threads() {
    const Body appends = [this] {
      append_watermark();
      draw_elsewhere();
      append_watermark();
    };
    return {[this] { publish(2); }, appends};
  }
  std::string wrong() const { return wrong_at_end(); }
};

TEST(PrivateBufferSteps, AWatermarkAndARecordNeverShareBytes) {
  search_all<PublishBesideWatermark>(3);
}

// The worker cancels a record and then publishes another record, while two threads append
// watermarks. Checked: as in PublishBesideWatermark.
class CancelBesideWatermarks : WorkerAndOther {
 public:
  CancelBesideWatermarks() { draw_elsewhere(); }
  std::vector<Body> threads() {
    const Body worker = [this] {
      cancel_next();
      publish(1);
    };
    return {worker, [this] { append_watermark(); }, [this] { append_watermark(); }};
  }
  std::string wrong() const { return wrong_at_end(); }
};

TEST(PrivateBufferSteps, TwoWatermarksNeverShareBytes) { search_all<CancelBesideWatermarks>(2); }

// --- MariaDB's log latch ---

constexpr uint32_t kMostRecords = 4;

// Each sharer fills the next record with one store. A writer takes the latch exclusively. If there
// is only one writer, it takes the latch twice. Checked: while a writer has the latch, all taken
// records are filled. Two writers never hold the latch at the same time. All threads end.
class SharersAndWriters {
 public:
  SharersAndWriters(uint32_t sharers, uint32_t writers)
      : sharers_(sharers), writers_(writers), shared_(std::make_unique<Shared>()) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t i = 0; i < sharers_; ++i) {
      all.emplace_back([this] { fill(); });
    }
    for (uint32_t i = 0; i < writers_; ++i) {
      all.emplace_back([this] { look(); });
    }
    return all;
  }
  std::string wrong() {
    const uint32_t taken = shared_->taken.load(memory_order_relaxed);
    if (taken != sharers_) return "a record is lost";
    return wrong_;
  }

 private:
  struct Shared {
    SharedLatch latch;
    platform::atomic<uint32_t> taken{0}, inside{0};
    std::array<platform::atomic<uint32_t>, kMostRecords> filled{};
  };

  void fill() {
    shared_->latch.lock_shared();
    const uint32_t record = shared_->taken.fetch_add(1, memory_order_relaxed);
    shared_->filled[record].store(1, memory_order_relaxed);
    shared_->latch.unlock_shared();
  }
  void look() {
    for (uint32_t i = writers_; i < 3; ++i) {  // twice, if no other thread is a writer
      while (!shared_->latch.lock(2)) platform::pause();
      if (shared_->inside.fetch_add(1, memory_order_relaxed) != 0) {
        wrong_ = "two writers have the latch";
      }
      const uint32_t taken = shared_->taken.load(memory_order_relaxed);
      for (uint32_t record = 0; record < taken; ++record) {
        if (shared_->filled[record].load(memory_order_relaxed) == 0) {
          wrong_ = "a writer has the latch while a record is not filled";
        }
      }
      shared_->inside.fetch_sub(1, memory_order_relaxed);
      shared_->latch.unlock();
    }
  }

  const uint32_t sharers_, writers_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = "";
};

TEST(SharedLatchSteps, AWriterFindsAllRecordsFilled) {
  search_all<SharersAndWriters>(2, 2u, 1u);
  search_all<SharersAndWriters>(1, 3u, 1u);
  search_all<SharersAndWriters>(3, 1u, 1u);
}

TEST(SharedLatchSteps, OneWriterHasIt) { search_all<SharersAndWriters>(2, 0u, 2u); }

// --- stealing groups ---

constexpr uint32_t kBytes = 8;
constexpr uint64_t kFloor = 2, kMostNumbers = 16;

// Workers write records into buffers of one record, and steal each other's records. A record's word
// names the worker and the number. If there is one worker, another thread raises the floor, takes
// all records, and learns the least number of later records. Checked: each record is moved once,
// after it is filled, and into an open piece. The records of a worker are moved in their order.
// Later records have at least the learned number.
class Thieves {
 public:
  Thieves(uint32_t workers, uint32_t each)
      : workers_(workers), each_(each), shared_(std::make_unique<Shared>()) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      all.emplace_back([this, worker] { work(worker); });
    }
    if (workers_ == 1) all.emplace_back([this] { look(); });
    return all;
  }
  std::string wrong() {
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      shared_->group.take(worker, false, Piece{*this});
    }
    if (*wrong_ != 0) return wrong_;
    if (shared_->group.unwritten() != 0) return "records are left";
    const uint64_t moved = moved_[0].records + moved_[1].records;
    return moved == workers_ * each_ ? "" : "not each record is moved once";
  }

 private:
  struct Shared {
    StealingGroup group{kBytes};
    Word floor{0};
  };
  struct Moved {
    uint64_t last = 0, records = 0;
  };
  struct Piece {
    Thieves& program;
    bool open_now = false;
    bool open(uint64_t) { return open_now = true; }
    void move(const std::byte* from, uint64_t bytes) {
      if (!open_now) program.wrong_ = "a record comes into a piece that is not open";
      for (uint64_t at = 0; at < bytes; at += kBytes) {
        program.moves(*reinterpret_cast<const uint64_t*>(from + at));
      }
    }
    void close() { open_now = false; }
  };

  void work(uint32_t worker) {
    StealingGroup& group = shared_->group;
    uint64_t last = 0;
    for (uint32_t i = 0; i < each_; ++i) {
      while (!group.fits(worker, kBytes)) group.take(worker, true, Piece{*this});
      const uint64_t least = last + 1;
      last = group.open(worker, least, [&] {
        return std::max(least, shared_->floor.load(memory_order_relaxed) + 1);
      });
      *reinterpret_cast<uint64_t*>(group.memory(worker)) = worker * kMostNumbers + last;
      group.publish(worker, kBytes);
      if (i % 2 == 0) group.steal(worker, 2, Piece{*this});
    }
  }
  void look() {
    shared_->floor.store(kFloor, memory_order_relaxed);
    platform::full_fence();
    const uint64_t below = shared_->group.take(0, false, Piece{*this});
    complete_ = std::min(below, kFloor + 1);
  }
  void moves(uint64_t record) {
    const uint64_t number = record % kMostNumbers;
    Moved& mine = moved_[record / kMostNumbers % moved_.size()];
    if (number <= mine.last) wrong_ = "a record is not filled, or moved twice, or too late";
    mine.last = number;
    if (number < complete_) wrong_ = "a record comes after a look that promised it";
    ++mine.records;
  }

  const uint32_t workers_, each_;
  std::unique_ptr<Shared> shared_;
  std::array<Moved, 2> moved_ = {};  // by worker; one thread at a time moves a worker's records
  uint64_t complete_ = 0;            // later records have at least this number
  const char* wrong_ = "";
};

TEST(StealingGroupSteps, ThievesMoveEachRecordOnce) { search_all<Thieves>(2, 2u, 2u); }

TEST(StealingGroupSteps, ALookKnowsBelowWhichNumberAllIsMoved) { search_all<Thieves>(2, 1u, 3u); }

// --- RocksDB's write groups ---

// Each worker writes records that contain their positions. Checked: only one leader copies at a
// time, and it copies filled records in their order. A worker continues only when its record is
// copied.
class WritersInGroups {
 public:
  WritersInGroups(uint32_t workers, uint32_t each)
      : workers_(workers), each_(each), shared_(std::make_unique<Shared>(workers)) {}
  // With late stores, a search would take minutes.
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      all.emplace_back([this, worker] { write(worker); });
    }
    return all;
  }
  std::string wrong() {
    if (shared_->end.load(memory_order_relaxed) != workers_ * each_ * kRecord) {
      return "not all records are copied";
    }
    return wrong_;
  }

 private:
  struct Shared {
    explicit Shared(uint32_t workers) : groups(workers) {}
    WriteGroups groups;
    Word end{0};
    platform::atomic<uint32_t> leaders{0};
  };

  void write(uint32_t worker) {
    for (uint32_t i = 0; i < each_; ++i) {
      const uint64_t begin = shared_->groups.link(worker, kRecord);
      auto* const record = reinterpret_cast<uint64_t*>(shared_->groups.memory(worker));
      *record = begin + 1;
      shared_->groups.hand_over(
          worker, [this](uint64_t at, const std::byte* copied, uint32_t) { copy(at, copied); },
          [] {});
      if (shared_->end.load(memory_order_relaxed) < begin + kRecord) {
        wrong_ = "a worker came back before its record was copied";
      }
    }
  }
  void copy(uint64_t begin, const std::byte* record) {
    if (shared_->leaders.fetch_add(1, memory_order_relaxed) != 0) {
      wrong_ = "two leaders copy";
    }
    if (shared_->end.load(memory_order_relaxed) != begin) wrong_ = "out of order";
    if (*reinterpret_cast<const uint64_t*>(record) != begin + 1) wrong_ = "not filled";
    shared_->end.store(begin + kRecord, memory_order_relaxed);
    shared_->leaders.fetch_sub(1, memory_order_relaxed);
  }

  const uint32_t workers_, each_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = "";
};

TEST(WriteGroupsSteps, ALeaderCopiesTheRecordsOfItsGroup) {
  search_all<WritersInGroups>(2, 2u, 1u);
}

TEST(WriteGroupsSteps, TheLeadPassesToTheWriterAfterTheGroup) {
  search_all<WritersInGroups>(2, 2u, 2u);
  search_all<WritersInGroups>(1, 3u, 1u);
}

// --- the sequence number of a durable position ---

// The pairs (10, 1) and (20, 2) are recorded at first. A thread records (30, 3) and then makes the
// stream durable up to 20. Other threads ask for the numbers of the positions 10 and 20 and of the
// durable position. Checked: an answer is at least the position's number, and at most 2, because
// the third pair is not durable. end() is at least the end of the answered pair.
class AsksBesideARecord {
 public:
  explicit AsksBesideARecord(uint32_t askers) : askers_(askers) {
    shared_->pairs.record(10, 1);
    shared_->pairs.record(20, 2);
  }
  std::vector<Body> threads() {
    const Body records = [this] {
      shared_->pairs.record(30, 3);
      shared_->durable.store(20, platform::memory_order_release);
    };
    std::vector<Body> all = {records, [this] { ask(10, 1); }, [this] { ask(20, 2); }};
    all.resize(1 + askers_);
    return all;
  }
  std::string wrong() {
    ask(20, 2);
    if (shared_->pairs.at(30) != 3) wrong_ = "the last pair is lost";
    return wrong_;
  }

 private:
  struct Shared {
    DurableSequence pairs;
    Word durable{0};
  };

  void ask(uint64_t position, uint64_t sequence) {
    const uint64_t durable = shared_->durable.load(platform::memory_order_acquire);
    answer(shared_->pairs.at(durable), durable / 10);
    answer(shared_->pairs.at(position), sequence);
  }
  void answer(uint64_t answered, uint64_t least) {
    if (answered < least) wrong_ = "a thread does not see that its position is durable";
    if (answered > 2) wrong_ = "a pair counts before it is reached";
    if (shared_->pairs.end() < answered * 10) wrong_ = "the end of a pair is late";
  }

  const uint32_t askers_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  const char* wrong_ = "";
};

TEST(DurableSequenceSteps, AThreadThatAsksGetsTheNumberOfItsPosition) {
  search_all<AsksBesideARecord>(2, 1u);
  search_all<AsksBesideARecord>(1, 2u);
}

// --- locks that one thread may take and another thread may release ---

// A waiter sleeps at once, or after one pause and one yield.
using SleepingQueueLock = BasicQueueLock<0, 0>;
using SpinningQueueLock = BasicQueueLock<1, 1>;
struct SleepingBackoffLock : BackoffLock {
  SleepingBackoffLock() : BackoffLock(false) {}
};

// Each thread takes the lock `rounds` times, in every second round with try_lock() first, and adds
// 1 to a plain word. Checked: no addition is lost. All threads end, so no wake-up is lost.
template <class Lock>
class Additions {
 public:
  Additions(uint32_t threads, uint32_t rounds) : threads_(threads), rounds_(rounds) {}
  std::vector<Body> threads() {
    return std::vector<Body>(threads_, [this] {
      for (uint32_t i = 0; i < rounds_; ++i) {
        if (i % 2 == 0 || !shared_->lock.try_lock()) shared_->lock.lock();
        const uint64_t seen = shared_->sum;
        shared_->sum = seen + 1;
        shared_->lock.unlock();
      }
    });
  }
  std::string wrong() {
    if (shared_->sum != uint64_t{threads_} * rounds_) return "two threads had the lock";
    return shared_->lock.try_lock() ? "" : "the lock is not free";
  }

 private:
  struct Shared {
    Lock lock;
    volatile uint64_t sum = 0;
  };

  const uint32_t threads_, rounds_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

TEST(QueueLockSteps, OneThreadAtATimeHasTheLockAndNoWakeUpIsLost) {
  search_all<Additions<SleepingQueueLock>>(4, 2u, 1u);
  search_all<Additions<SleepingQueueLock>>(3, 3u, 1u);
  search_all<Additions<SleepingQueueLock>>(3, 2u, 2u);
}

TEST(QueueLockSteps, OneThreadAtATimeHasTheLockBesideThreadsThatSpin) {
  search_all<Additions<SpinningQueueLock>>(4, 2u, 1u);
  search_all<Additions<QueueLock>>(3, 2u, 1u);
}

TEST(BackoffLockSteps, OneThreadAtATimeHasTheLockAndNoWakeUpIsLost) {
  platform::now_ns();  // loads the machine's profile before the first schedule
  search_all<Additions<SleepingBackoffLock>>(3, 2u, 2u);
  search_all<Additions<SleepingBackoffLock>>(3, 3u, 1u);
  search_all<Additions<BackoffLock>>(2, 3u, 1u);
}

}  // namespace
}  // namespace logjam::sim
