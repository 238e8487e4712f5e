// Poplar's segment index in all schedules with few preemptions.
#include "logging/schemes/common/segment_index.h"

#include <gtest/gtest.h>

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
    shared_->filled.fetch_add(kBytes, platform::memory_order_relaxed);
    shared_->index.filled(segment, kBytes);
  }
  // Passes segments as SegmentedBuffer::pass() does.
  void pass() {
    if (!shared_->index.passable()) return;
    shared_->advancing.lock();
    shared_->index.advance([this](uint64_t end, uint64_t sequence) {
      // Other segments may be filled as well, but never less than what was passed.
      if (shared_->filled.load(platform::memory_order_relaxed) < end) {
        wrong_ = "a segment is passed that is not filled";
      }
      if (sequence != ++passed_) wrong_ = "a segment is passed twice, or left out";
    });
    shared_->advancing.unlock();
  }
  uint64_t closed() const { return shared_->index.closed(); }
  // Says what is wrong if `segments` were closed and filled. One more segment must not be passed
  // before it is filled.
  std::string wrong_after(uint64_t segments) {
    if (passed_ != segments && wrong_ == nullptr) wrong_ = "a segment waits for the next look";
    if (open_ == 0) {
      const uint32_t next = allocate(kBytes);
      close();
      pass();
      fill(next);
      pass();
    }
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    SegmentIndex index{2};
    platform::SpinLock latch, advancing;
    platform::atomic<uint64_t> filled{0};
  };

  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  uint64_t open_ = 0, end_ = 0, sequence_ = 0;  // under `latch`
  uint64_t passed_ = 0;                         // under `advancing`
  const char* wrong_ = nullptr;
};

// A publisher fills the last record of the open segment, and another thread closes the segment.
// Each then looks. Checked: one of them passes the segment.
class FillBesideClose : Segments {
 public:
  FillBesideClose() : segment_(allocate(kBytes)) {}
  std::vector<Body> threads() {
    const Body fills = [this] {
      fill(segment_);
      pass();
    };
    const Body closes = [this] {
      close();
      pass();
    };
    return {fills, closes};
  }
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
  std::vector<Body> threads() {
    const Body fills_first = [this] {
      fill(first_);
      pass();
    };
    const Body fills_second = [this] {
      fill(second_);
      pass();
    };
    const Body closes = [this] {
      close();
      pass();
    };
    return {fills_first, fills_second, closes};
  }
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
    const Body fills = [this] {
      fill(first_);
      pass();
    };
    const Body closes = [this] {
      close();
      pass();
    };
    return {fills, closes, [this] { pass(); }};
  }
  std::string wrong() { return wrong_after(closed()); }

 private:
  const uint32_t first_;
};

TEST(SegmentIndexSteps, AnEntryIsOpenedAgainBesideALook) { search_all<EntryUsedAgain>(1); }

}  // namespace
}  // namespace logjam::sim
