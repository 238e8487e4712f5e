// The classes that know how far a log has no hole, in all schedules with few preemptions.
#include <gtest/gtest.h>

#include "logging/schemes/aether/release_queue.h"
#include "logging/schemes/common/segment_index.h"
#include "logging/schemes/eleda/grasshopper.h"
#include "logging/schemes/innodb/link_buf.h"
#include "logging/stream/ring.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

using platform::memory_order_relaxed;
using Word = platform::atomic<uint64_t>;

// --- ELEDA's grasshopper ---

constexpr uint64_t kRange = 64, kRingBytes = 4096, kLeastRecord = 32;
constexpr uint32_t kBlock = 512;

// All schedules have one ring, of which a grasshopper only takes the size.
const Ring& ring() {
  static const auto& made = *new Ring(kRingBytes, kBlock);
  return made;
}

struct Record {
  uint32_t worker;
  uint64_t begin, end;
};
using Records = std::array<Record, 4>;

// Two workers publish records, each of which is filled by one store; some are published at the
// beginning. A third thread looks for SBL. Checked: SBL is always the end of a record, all records
// up to there are filled, and when all are published SBL is the end of the last one.
template <bool kHops>
class WorkersAndATracker {
 public:
  WorkersAndATracker(const Records& records, size_t at_the_beginning)
      : records_(records),
        at_the_beginning_(at_the_beginning),
        tracker_(std::make_unique<Grasshopper<kHops>>(2, ring(), kRange)),
        allocated_(std::make_unique<Word>(records.back().end)),
        filled_(std::make_unique<std::array<Word, std::tuple_size_v<Records>>>()) {
    for (size_t i = 0; i < at_the_beginning; ++i) publish_record(i);
  }

  std::vector<Body> threads() {
    const Body looks = [this] {
      sbl_ = tracker_->advance(0, *allocated_);
      judge();
    };
    return {[this] { publish(0); }, [this] { publish(1); }, looks};
  }
  std::string wrong() {
    if (*wrong_ != 0) return wrong_;
    const uint64_t end = tracker_->advance(sbl_, *allocated_);
    return end == records_.back().end ? "" : "SBL stays at " + std::to_string(end);
  }

 private:
  void publish_record(size_t i) {
    (*filled_)[i].store(1, memory_order_relaxed);
    tracker_->publish(records_[i].worker, records_[i].begin, records_[i].end);
  }
  void publish(uint32_t worker) {
    for (size_t i = at_the_beginning_; i < records_.size(); ++i) {
      if (records_[i].worker == worker) publish_record(i);
    }
  }
  void judge() {
    uint64_t end = 0;
    for (size_t i = 0; i < records_.size() && records_[i].begin < sbl_; ++i) {
      end = records_[i].end;
      if ((*filled_)[i].load(memory_order_relaxed) == 0) wrong_ = "SBL passes a hole";
    }
    if (end != sbl_) wrong_ = "SBL is not the end of a record";
  }

  const Records records_;
  const size_t at_the_beginning_;
  std::unique_ptr<Grasshopper<kHops>> tracker_;
  std::unique_ptr<Word> allocated_;
  std::unique_ptr<std::array<Word, std::tuple_size_v<Records>>> filled_;
  uint64_t sbl_ = 0;
  const char* wrong_ = "";
};

// The second and the third record straddle the end of a range.
constexpr Records kStraddling = {{{0, 0, 48}, {1, 48, 80}, {0, 80, 144}, {1, 144, 192}}};
// The first worker fills the first range alone. If its next record counts as one of this range, SBL
// passes the hole before that record.
constexpr Records kHoleAfterARange = {{{0, 0, 64}, {1, 64, 96}, {0, 96, 128}, {1, 128, 192}}};

TEST(GrasshopperSteps, SblPassesNoHoleWhenItHops) {
  search_all<WorkersAndATracker<true>>(1, kStraddling, size_t{0});
  search_all<WorkersAndATracker<true>>(1, kHoleAfterARange, size_t{0});
  search_all<WorkersAndATracker<true>>(1, kHoleAfterARange, size_t{1});
}

TEST(GrasshopperSteps, SblPassesNoHoleWhenItCrawls) {
  search_all<WorkersAndATracker<false>>(1, kStraddling, size_t{0});
}

// A worker's list is full. The worker waits for room, and publishes one more record, which is
// longer than the record that had the node. The tracker crawls meanwhile, over one record: the next
// one is another worker's, and comes in the end. Checked: SBL passes the records as they were
// published, and ends where the last one does.
class FullList {
 public:
  FullList() : tracker_(std::make_unique<Grasshopper<false>>(2, ring(), kRange)) {
    publish(kLeastRecord);
    end_ += kLeastRecord;
    while (tracker_->room(0)) publish(kLeastRecord);
  }

  std::vector<Body> threads() {
    const Body worker = [this] {
      while (!tracker_->room(0)) platform::pause();
      publish(kLonger);
    };
    return {worker, [this] { sbl_ = tracker_->advance(0, *allocated_); }};
  }
  std::string wrong() {
    if (sbl_ > kLeastRecord) return "SBL passes a hole";
    tracker_->publish(1, kLeastRecord, 2 * kLeastRecord);
    for (uint64_t before = ~uint64_t{0}; before != sbl_;) {
      before = sbl_;
      sbl_ = tracker_->advance(sbl_, *allocated_);
    }
    return sbl_ == end_ ? "" : "SBL stays at " + std::to_string(sbl_);
  }

 private:
  static constexpr uint64_t kLonger = 96;

  void publish(uint64_t bytes) {
    tracker_->publish(0, end_, end_ + bytes);
    end_ += bytes;
  }

  std::unique_ptr<Grasshopper<false>> tracker_;
  std::unique_ptr<Word> allocated_ = std::make_unique<Word>(0);
  uint64_t end_ = 0, sbl_ = 0;
};

TEST(GrasshopperSteps, ANodeIsUsedAgainOnceItsRecordIsPassed) { search_all<FullList>(1); }

// --- InnoDB's links ---

constexpr uint64_t kUnit = 64;
constexpr uint32_t kMostUnits = 8;

// Links whose records are filled by one store each. A record is some units of 64 bytes long.
class LinkedRecords {
 public:
  explicit LinkedRecords(uint64_t window_units)
      : shared_(std::make_unique<Shared>(window_units * kUnit)) {}

 protected:
  // Fills and links the record of `units` that begins at unit `unit`.
  void publish(uint64_t unit, uint64_t units = 1) {
    shared_->filled[unit].store(units, memory_order_relaxed);
    shared_->links.publish(0, unit * kUnit, (unit + units) * kUnit);
  }
  // Publishes two records: the second has `units` units.
  Body publishes(uint64_t first, uint64_t second, uint64_t units = 1) {
    return [=, this] {
      publish(first);
      publish(second, units);
    };
  }
  Body looks_twice() {
    return [this] {
      look();
      look();
    };
  }
  // Looks as a flusher does, and notes a record that would be written before it is filled.
  void look() {
    const uint64_t end = shared_->links.advance(0, 0) / kUnit;
    if (end < seen_) wrong_ = "the tail moves back";
    for (uint64_t unit = 0; unit < end;) {
      const uint64_t units = shared_->filled[unit].load(memory_order_relaxed);
      if (units == 0) {
        wrong_ = "the tail passed a record that is not filled";
        return;
      }
      unit += units;
    }
    seen_ = end;
  }
  // Returns what is wrong when all records up to unit `end` were published. The next record must
  // find that it is at the tail.
  std::string wrong_after(uint64_t end) {
    if (shared_->links.advance(0, 0) != end * kUnit) return "a link is lost";
    publish(end);
    seen_ = 0;
    look();
    if (seen_ != end + 1) return "the next record is not passed";
    return wrong_;
  }

 private:
  struct Shared {
    explicit Shared(uint64_t window_bytes) : links(window_bytes) {}
    LinkBuf links;
    std::array<Word, kMostUnits> filled{};
  };

  std::unique_ptr<Shared> shared_;
  uint64_t seen_ = 0;
  const char* wrong_ = "";
};

// Each of the threads publishes a record. Another thread looks. Checked: the tail never passes a
// record that is not filled, and a look at the end finds all of them.
class WorkersAndALook : LinkedRecords {
 public:
  explicit WorkersAndALook(uint32_t workers) : LinkedRecords(4), workers_(workers) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t i = workers_; i-- > 0;) all.emplace_back([this, i] { publish(i); });
    all.emplace_back([this] { look(); });
    return all;
  }
  std::string wrong() { return wrong_after(workers_); }

 private:
  const uint32_t workers_;
};

TEST(LinkBufSteps, TheTailPassesFilledRecordsOnly) {
  search_all<WorkersAndALook>(3, 2u);
  search_all<WorkersAndALook>(2, 3u);
}

// The window is two records long. A worker publishes the records 1 and 3, which have one entry,
// another the records 0 and 2. A third thread looks twice. Checked: the same.
class EntriesUsedAgain : LinkedRecords {
 public:
  EntriesUsedAgain() : LinkedRecords(2) {}
  std::vector<Body> threads() { return {publishes(1, 3), publishes(0, 2), looks_twice()}; }
  std::string wrong() { return wrong_after(4); }
};

TEST(LinkBufSteps, AnEntryIsUsedAgainWhenItsRecordIsPassed) { search_all<EntriesUsedAgain>(2); }

// The window is two units long, as is the first record. So the entry of the first record is that of
// the second record, and also that of the third, which begins a window later. The second record is
// linked first. Another thread looks. Checked: the same.
class RecordAsLongAsTheWindow : LinkedRecords {
 public:
  RecordAsLongAsTheWindow() : LinkedRecords(2) { publish(0); }
  std::vector<Body> threads() {
    return {publishes(2, 3, 2), [this] { publish(1); }, looks_twice()};
  }
  std::string wrong() { return wrong_after(5); }
};

TEST(LinkBufSteps, ARecordMayBeAsLongAsTheWindow) { search_all<RecordAsLongAsTheWindow>(3); }

// --- Aether's release queue ---

constexpr uint64_t kAbandon = 1, kStay = 0;  // release()'s random number
constexpr uint64_t kRegionBytes = 64;
constexpr uint32_t kMostRegions = 4;

// A release queue whose regions are filled by one store each.
class FilledRegions {
 public:
  FilledRegions(uint32_t nodes, uint32_t treadmill)
      : queue_(std::make_unique<ReleaseQueue>(nodes, treadmill)),
        bytes_(std::make_unique<std::array<Word, kMostRegions>>()) {}

 protected:
  // Called in the order of the regions, as under the log's lock.
  void join(uint32_t i) {
    const uint64_t begin = i * kRegionBytes, end = begin + kRegionBytes;
    regions_[i] = {.begin = begin, .end = end, .node = queue_->join(end)};
  }
  void fill_and_release(uint32_t i, uint64_t random) {
    (*bytes_)[i].store(1, memory_order_relaxed);
    queue_->release(regions_[i], random);
  }
  // Looks as a flusher does, and notes a region that would be written before it is filled.
  void flush() {
    const uint64_t filled = queue_->filled();
    for (uint32_t i = 0; i < filled / kRegionBytes; ++i) {
      if ((*bytes_)[i].load(memory_order_relaxed) == 0) hole_ = true;
    }
  }
  // Returns what is wrong when all of the first `regions` were filled. One more region must find
  // that it is its turn.
  std::string wrong_after(uint32_t regions) {
    if (hole_) return "a region was released before it was filled";
    if (queue_->filled() != regions * kRegionBytes) return "not all regions are released";
    join(regions);
    if (!queue_->release(regions_[regions], kAbandon)) return "the turn was lost";
    return "";
  }

 private:
  std::unique_ptr<ReleaseQueue> queue_;
  std::unique_ptr<std::array<Word, kMostRegions>> bytes_;
  std::array<Region, kMostRegions> regions_;
  bool hole_ = false;
};

// Each of the threads fills a region of its own, and releases or delegates it. Another thread
// flushes. Checked: `filled` never passes a region that is not filled, and in the end all regions
// are released, each in its turn.
class OwnersAndAFlusher : FilledRegions {
 public:
  OwnersAndAFlusher(uint32_t owners, uint64_t random, bool flushes)
      : FilledRegions(4, ReleaseQueue::kTreadmill),
        owners_(owners),
        random_(random),
        flushes_(flushes) {
    for (uint32_t i = 0; i < owners; ++i) join(i);
  }
  std::vector<Body> threads() {
    std::vector<Body> all;
    // The last owner comes first: the search begins with the schedule in which it delegates.
    for (uint32_t i = owners_; i-- > 0;) {
      all.emplace_back([this, i] { fill_and_release(i, random_); });
    }
    if (flushes_) all.emplace_back([this] { flush(); });
    return all;
  }
  std::string wrong() { return wrong_after(owners_); }

 private:
  const uint32_t owners_;
  const uint64_t random_;
  const bool flushes_;
};

TEST(ReleaseQueueSteps, RegionsAreReleasedInTheirOrderWhenTheyAreFilled) {
  search_all<OwnersAndAFlusher>(2, 2u, kAbandon, true);
  search_all<OwnersAndAFlusher>(1, 3u, kAbandon, true);
}

TEST(ReleaseQueueSteps, AnOwnerThatDoesNotDelegateGetsItsTurn) {
  search_all<OwnersAndAFlusher>(2, 2u, kStay, true);
  search_all<OwnersAndAFlusher>(1, 3u, kStay, false);
}

// The queue has two nodes. A thread releases the first region, and then flushes. Another thread
// joins with the second region meanwhile, and then with the third, for which the first node must
// be free again. It delegates the third region, and then releases the second. Checked: the same.
class OwnerBesideJoins : FilledRegions {
 public:
  explicit OwnerBesideJoins(uint64_t random) : FilledRegions(2, 2), random_(random) { join(0); }
  std::vector<Body> threads() {
    const Body releases = [this] {
      fill_and_release(0, kAbandon);
      flush();
    };
    const Body joins = [this] {
      join(1);
      join(2);
      fill_and_release(2, kAbandon);
      fill_and_release(1, random_);
    };
    return {joins, releases};
  }
  std::string wrong() { return wrong_after(3); }

 private:
  const uint64_t random_;
};

TEST(ReleaseQueueSteps, ANodeIsUsedAgainOnceItsRegionIsReleased) {
  search_all<OwnerBesideJoins>(2, kAbandon);
  search_all<OwnerBesideJoins>(2, kStay);
}

// --- Poplar's segment index ---

constexpr uint64_t kBytes = 64;

// A segment index under the two latches of SegmentedBuffer. A record's bytes are one store.
class Segments {
 protected:
  // Allocates `bytes` in the open segment, and returns its number.
  uint32_t allocate(uint64_t bytes) {
    shared_->latch.lock();
    open_ += bytes;
    const uint32_t segment = shared_->index.open();
    shared_->latch.unlock();
    return segment;
  }
  void close() {
    shared_->latch.lock();
    if (!shared_->index.full()) {
      end_ += open_;
      shared_->index.close(open_, end_, ++sequence_);
      open_ = 0;
    }
    shared_->latch.unlock();
  }
  void fill(uint32_t segment) {
    shared_->filled.fetch_add(kBytes, memory_order_relaxed);
    shared_->index.filled(segment, kBytes);
  }
  Body fills(uint32_t segment) {
    return [this, segment] {
      fill(segment);
      pass();
    };
  }
  Body closes() {
    return [this] {
      close();
      pass();
    };
  }
  // Passes segments as SegmentedBuffer::pass() does.
  void pass() {
    if (!shared_->index.passable()) return;
    shared_->advancing.lock();
    shared_->index.advance([this](uint64_t end, uint64_t sequence) {
      // Other segments may be filled as well, but never less than what was passed.
      if (shared_->filled.load(memory_order_relaxed) < end) {
        wrong_ = "a segment is passed that is not filled";
      }
      if (sequence != ++passed_) wrong_ = "a segment is passed twice, or left out";
    });
    shared_->advancing.unlock();
  }
  uint64_t closed() const { return shared_->index.closed(); }
  // Returns what is wrong if `segments` were closed and filled. One more segment must not be passed
  // before it is filled.
  std::string wrong_after(uint64_t segments) {
    if (passed_ != segments && *wrong_ == 0) wrong_ = "a segment waits for the next look";
    if (open_ == 0) {
      const uint32_t next = allocate(kBytes);
      close();
      pass();
      fill(next);
      pass();
    }
    return wrong_;
  }

 private:
  struct Shared {
    SegmentIndex index{2};
    platform::SpinLock latch, advancing;
    Word filled{0};
  };

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  uint64_t open_ = 0, end_ = 0, sequence_ = 0;  // under `latch`
  uint64_t passed_ = 0;                         // under `advancing`
  const char* wrong_ = "";
};

// A publisher fills the last record of the open segment, and another thread closes the segment.
// Each then looks. Checked: one of them passes the segment.
class FillBesideClose : Segments {
 public:
  FillBesideClose() : segment_(allocate(kBytes)) {}
  std::vector<Body> threads() { return {fills(segment_), closes()}; }
  std::string wrong() { return wrong_after(1); }

 private:
  const uint32_t segment_;
};

// Publishers fill the last record of a closed segment and that of the open one, which a third
// thread closes. Each then looks. Checked: both segments are passed.
class FillsBesideClose : Segments {
 public:
  FillsBesideClose() : first_(allocate(kBytes)) {
    close();
    second_ = allocate(kBytes);
  }
  std::vector<Body> threads() { return {fills(first_), fills(second_), closes()}; }
  std::string wrong() { return wrong_after(2); }

 private:
  const uint32_t first_;
  uint32_t second_;
};

TEST(SegmentIndexSteps, WhoFillsOrClosesLastPassesTheSegment) {
  search_all<FillBesideClose>(3);
  search_all<FillsBesideClose>(2);
}

// The index has four entries. Three segments are closed, and only the first is not filled. A
// publisher fills it, and looks. Another thread closes the fourth segment as soon as that is
// possible, and so opens the first entry again; then it looks. A third thread looks meanwhile.
// Checked: all closed segments are passed.
class EntryUsedAgain : Segments {
 public:
  EntryUsedAgain() : first_(allocate(kBytes)) {
    close();
    for (int i = 0; i < 3; ++i) {
      fill(allocate(kBytes));
      close();
    }
  }
  std::vector<Body> threads() {
    return {fills(first_), closes(), [this] { pass(); }};
  }
  std::string wrong() { return wrong_after(closed()); }

 private:
  const uint32_t first_;
};

TEST(SegmentIndexSteps, AnEntryIsOpenedAgainBesideALook) { search_all<EntryUsedAgain>(1); }

}  // namespace
}  // namespace logjam::sim
