// The classes that find up to where a log has no hole, in all schedules with few preemptions.
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

// All schedules share one ring. A grasshopper uses only the ring's size.
const Ring& ring() {
  static const auto& made = *new Ring(kRingBytes, kBlock);
  return made;
}

struct Record {
  uint32_t worker;
  uint64_t begin, end;
};
using Records = std::array<Record, 4>;

// Two workers publish records, some of them before the schedule begins. One store fills a record. A
// third thread asks for SBL. Checked: SBL is always at the end of a record, and all records before
// SBL are filled. When all records are published, SBL is at the end of the last one.
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

// The second and the third record each straddle a range's end.
constexpr Records kStraddling = {{{0, 0, 48}, {1, 48, 80}, {0, 80, 144}, {1, 144, 192}}};
// The first worker fills the whole first range. If its next record also counted for this range, SBL
// would pass the hole before that record.
constexpr Records kHoleAfterARange = {{{0, 0, 64}, {1, 64, 96}, {0, 96, 128}, {1, 128, 192}}};

TEST(GrasshopperSteps, SblPassesNoHoleWhenItHops) {
  search_all<WorkersAndATracker<true>>(1, kStraddling, size_t{0});
  search_all<WorkersAndATracker<true>>(1, kHoleAfterARange, size_t{0});
  search_all<WorkersAndATracker<true>>(1, kHoleAfterARange, size_t{1});
}

TEST(GrasshopperSteps, SblPassesNoHoleWhenItCrawls) {
  search_all<WorkersAndATracker<false>>(1, kStraddling, size_t{0});
}

// A worker's list is full. The worker waits for a free node, and then publishes a longer record.
// Meanwhile the tracker crawls over one record, and stops before the other worker's next record,
// which is published last. Checked: SBL stops at this hole. In the end SBL is at the log's end.
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

// Links of records. A record has one or more units of 64 bytes, and one store fills it.
class LinkedRecords {
 public:
  explicit LinkedRecords(uint64_t window_units)
      : shared_(std::make_unique<Shared>(window_units * kUnit)) {}

 protected:
  // Fills and links the record that begins at unit `unit` and has `units` units.
  void publish(uint64_t unit, uint64_t units = 1) {
    shared_->filled[unit].store(units, memory_order_relaxed);
    shared_->links.publish(0, unit * kUnit, (unit + units) * kUnit);
  }
  // Publishes two records. The second record has `units` units.
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
  // Advances the tail as a flusher does. Notes an error if the tail has passed a record that is not
  // filled.
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
  // Checks the links after all records before unit `end` were published. The next record must then
  // be at the tail. Returns an error, or "".
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

// Each worker publishes one record, while another thread looks. Checked: the tail never passes a
// record that is not filled. A look at the end finds all records.
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

// The window holds two records. One worker publishes records 1 and 3, which share an entry; another
// worker publishes records 0 and 2. A third thread looks twice. Checked: as in WorkersAndALook.
class EntriesUsedAgain : LinkedRecords {
 public:
  EntriesUsedAgain() : LinkedRecords(2) {}
  std::vector<Body> threads() { return {publishes(1, 3), publishes(0, 2), looks_twice()}; }
  std::string wrong() { return wrong_after(4); }
};

TEST(LinkBufSteps, AnEntryIsUsedAgainWhenItsRecordIsPassed) { search_all<EntriesUsedAgain>(2); }

// The window is two units long, and so is the record at unit 3. This record's begin and end share
// an entry with the begin of the record at unit 1. Checked: as in WorkersAndALook.
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

constexpr uint64_t kAbandon = 1, kStay = 0;  // values of release()'s random number
constexpr uint64_t kRegionBytes = 64;
constexpr uint32_t kMostRegions = 4;

// A release queue. One store fills a region.
class FilledRegions {
 public:
  FilledRegions(uint32_t nodes, uint32_t treadmill)
      : queue_(std::make_unique<ReleaseQueue>(nodes, treadmill)),
        bytes_(std::make_unique<std::array<Word, kMostRegions>>()) {}

 protected:
  // Joins the queue with region `i`. Called in the order of the regions, as under the log's lock.
  void join(uint32_t i) {
    const uint64_t begin = i * kRegionBytes, end = begin + kRegionBytes;
    regions_[i] = {.begin = begin, .end = end, .node = queue_->join(end)};
  }
  void fill_and_release(uint32_t i, uint64_t random) {
    (*bytes_)[i].store(1, memory_order_relaxed);
    queue_->release(regions_[i], random);
  }
  // Asks the queue for `filled` as a flusher does. Notes an error if `filled` has passed a region
  // that is not filled.
  void flush() {
    const uint64_t filled = queue_->filled();
    for (uint32_t i = 0; i < filled / kRegionBytes; ++i) {
      if ((*bytes_)[i].load(memory_order_relaxed) == 0) hole_ = true;
    }
  }
  // Checks the queue after the first `regions` regions were filled. It must then be the next
  // region's turn. Returns an error, or "".
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

// Each owner fills its region, and releases or delegates it. Another thread flushes. Checked:
// `filled` passes only filled regions. In the end all regions are released in order.
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
    // The last owner comes first, so that it delegates in the first schedule.
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

// The queue has two nodes. A thread releases the first region and then flushes. Meanwhile another
// thread joins with the second region, and with the third one, which needs the first node again.
// The joining thread delegates the third region and then releases the second. Checked: as in
// OwnersAndAFlusher.
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

// A segment index under the two latches of SegmentedBuffer. One store fills a record.
class Segments {
 protected:
  // Allocates `bytes` in the open segment. Returns the segment's number.
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
      // `filled` also counts bytes of later segments. So it may exceed `end`, but must not be less
      // than `end`.
      if (shared_->filled.load(memory_order_relaxed) < end) {
        wrong_ = "a segment is passed that is not filled";
      }
      if (sequence != ++passed_) wrong_ = "a segment is passed twice, or left out";
    });
    shared_->advancing.unlock();
  }
  uint64_t closed() const { return shared_->index.closed(); }
  // Checks the index after `segments` segments were closed and filled. The next segment must not be
  // passed before it is filled. Returns an error, or "".
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

// A publisher fills the last record of the open segment, while another thread closes the segment.
// Both threads then call pass(). Checked: one of the two threads passes the segment.
class FillBesideClose : Segments {
 public:
  FillBesideClose() : segment_(allocate(kBytes)) {}
  std::vector<Body> threads() { return {fills(segment_), closes()}; }
  std::string wrong() { return wrong_after(1); }

 private:
  const uint32_t segment_;
};

// One publisher fills the last record of a closed segment. Another fills the last record of the
// open segment, which a third thread closes. All threads then call pass(). Checked: both segments
// are passed.
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
// publisher fills the first segment. Another thread closes the fourth segment, which opens the
// first entry again. These two threads and a third thread then call pass(). Checked: all closed
// segments are passed.
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
