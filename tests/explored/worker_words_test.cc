// The trackers with a word for each worker, in all schedules with few preemptions.
#include "logging/schemes/common/worker_words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logging/schemes/border_collie/herd_flags.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/ermia/dirty_ends.h"
#include "logging/schemes/fasterlog/epoch_slots.h"
#include "logging/stream/ring.h"
#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kRecord = 64, kRingBytes = 4096;
constexpr uint32_t kBlock = 512;

// All schedules have one ring, which these trackers do not use.
const Ring& ring() {
  static const auto& made = *new Ring(kRingBytes, kBlock);
  return made;
}

enum class Room : uint8_t { kThere, kWaitedFor };

// Two workers draw holes, fill each by one store, and publish. A third thread looks for SBL twice.
// Checked: all records up to SBL are filled, and SBL is at the end when all are published.
template <class Tracker>
class WorkersAndALook {
 public:
  template <class... Options>
  explicit WorkersAndALook(Room room, const Options&... options)
      : room_(room), shared_(std::make_unique<Shared>(options...)) {}

  std::vector<Body> threads() {
    const Body looks = [this] {
      look();
      look();
    };
    const Body twice = [this] {
      write(0);
      write(0);
    };
    return {twice, [this] { write(1); }, looks};
  }
  std::string wrong() {
    if (wrong_ != nullptr) return wrong_;
    look();
    return sbl_ == 3 * kRecord ? "" : "SBL stays at " + std::to_string(sbl_);
  }

 private:
  using Word = platform::atomic<uint64_t>;
  struct Shared {
    template <class... Options>
    explicit Shared(const Options&... options) : tracker(2, ring(), options...) {}
    Tracker tracker;
    Word next{0};
    std::array<Word, 3> filled{};
  };

  void write(uint32_t worker) {
    const uint64_t begin = draw_hole(shared_->tracker, worker, shared_->next, kRecord);
    if (room_ == Room::kWaitedFor) shared_->tracker.must_wait(worker, begin);
    shared_->filled[begin / kRecord].store(1, platform::memory_order_relaxed);
    shared_->tracker.publish(worker, begin, begin + kRecord);
  }
  void look() {
    sbl_ = shared_->tracker.advance(sbl_, shared_->next);
    for (uint64_t i = 0; i < sbl_ / kRecord; ++i) {
      if (shared_->filled[i].load(platform::memory_order_relaxed) == 0)
        wrong_ = "SBL passes a hole";
    }
  }

  const Room room_;
  std::unique_ptr<Shared> shared_;
  uint64_t sbl_ = 0;
  const char* wrong_ = nullptr;
};

template <class Tracker>
class WorkerWordsSteps : public testing::Test {};
using Trackers = testing::Types<HerdFlags, EpochSlots, DirtyEnds>;
TYPED_TEST_SUITE(WorkerWordsSteps, Trackers);

TYPED_TEST(WorkerWordsSteps, SblPassesNoHole) {
  search_all<WorkersAndALook<TypeParam>>(2, Room::kThere);
}

TYPED_TEST(WorkerWordsSteps, SblPassesNoHoleWhoseWorkerWaitsForRoom) {
  search_all<WorkersAndALook<TypeParam>>(2, Room::kWaitedFor);
}

// A schedule of the kind that dirty_ends.h describes.
TEST(DirtyEndsSteps, WithoutItsBoundSblPassesAHole) {
  const std::string found = first_wrong<WorkersAndALook<DirtyEnds>>(2, Room::kThere, false);
  EXPECT_EQ(found.substr(0, found.find(" in")), "SBL passes a hole") << found;
}

}  // namespace
}  // namespace logjam::sim
