// ELEDA's grasshopper in all schedules with few preemptions.
#include "logging/schemes/eleda/grasshopper.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logging/stream/ring.h"
#include "platform/atomic.h"
#include "platform/cpu.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

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
    if (wrong_ != nullptr) return wrong_;
    const uint64_t end = tracker_->advance(sbl_, *allocated_);
    return end == records_.back().end ? "" : "SBL stays at " + std::to_string(end);
  }

 private:
  using Word = platform::atomic<uint64_t>;

  void publish_record(size_t i) {
    (*filled_)[i].store(1, platform::memory_order_relaxed);
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
      if ((*filled_)[i].load(platform::memory_order_relaxed) == 0) wrong_ = "SBL passes a hole";
    }
    if (end != sbl_) wrong_ = "SBL is not the end of a record";
  }

  const Records records_;
  const size_t at_the_beginning_;
  std::unique_ptr<Grasshopper<kHops>> tracker_;
  std::unique_ptr<Word> allocated_;
  std::unique_ptr<std::array<Word, std::tuple_size_v<Records>>> filled_;
  uint64_t sbl_ = 0;
  const char* wrong_ = nullptr;
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
  std::unique_ptr<platform::atomic<uint64_t>> allocated_ =
      std::make_unique<platform::atomic<uint64_t>>(0);
  uint64_t end_ = 0, sbl_ = 0;
};

TEST(GrasshopperSteps, ANodeIsUsedAgainOnceItsRecordIsPassed) { search_all<FullList>(1); }

}  // namespace
}  // namespace logjam::sim
