// Aether's release queue in all schedules with few preemptions.
#include "logging/schemes/aether/release_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kAbandon = 1, kStay = 0;  // release()'s random number
constexpr uint64_t kRegionBytes = 64;
constexpr uint32_t kMostRegions = 4;

// A release queue whose regions are filled by one store each.
class FilledRegions {
 public:
  FilledRegions(uint32_t nodes, uint32_t treadmill)
      : queue_(std::make_unique<ReleaseQueue>(nodes, treadmill)),
        bytes_(std::make_unique<std::array<platform::atomic<uint64_t>, kMostRegions>>()) {}

 protected:
  // Called in the order of the regions, as under the log's lock.
  void join(uint32_t i) {
    const uint64_t begin = i * kRegionBytes, end = begin + kRegionBytes;
    regions_[i] = {.begin = begin, .end = end, .node = queue_->join(end)};
  }
  void fill_and_release(uint32_t i, uint64_t random) {
    (*bytes_)[i].store(1, platform::memory_order_relaxed);
    queue_->release(regions_[i], random);
  }
  // Looks as a flusher does, and notes a region that would be written before it is filled.
  void flush() {
    const uint64_t filled = queue_->filled();
    for (uint32_t i = 0; i < filled / kRegionBytes; ++i) {
      if ((*bytes_)[i].load(platform::memory_order_relaxed) == 0) hole_ = true;
    }
  }
  // Says what is wrong when all of the first `regions` were filled. One more region must find that
  // it is its turn.
  std::string wrong_after(uint32_t regions) {
    if (hole_) return "a region was released before it was filled";
    if (queue_->filled() != regions * kRegionBytes) return "not all regions are released";
    join(regions);
    if (!queue_->release(regions_[regions], kAbandon)) return "the turn was lost";
    return "";
  }

 private:
  std::unique_ptr<ReleaseQueue> queue_;
  std::unique_ptr<std::array<platform::atomic<uint64_t>, kMostRegions>> bytes_;
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

}  // namespace
}  // namespace logjam::sim
