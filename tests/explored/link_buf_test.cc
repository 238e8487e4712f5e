// InnoDB's links in all schedules with few preemptions.
#include "logging/schemes/innodb/link_buf.h"

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
    shared_->filled[unit].store(units, platform::memory_order_relaxed);
    shared_->links.publish(0, unit * kUnit, (unit + units) * kUnit);
  }
  // Looks as a flusher does, and notes a record that would be written before it is filled.
  void look() {
    const uint64_t end = shared_->links.advance(0, 0) / kUnit;
    if (end < seen_) wrong_ = "the tail moves back";
    for (uint64_t unit = 0; unit < end;) {
      const uint64_t units = shared_->filled[unit].load(platform::memory_order_relaxed);
      if (units == 0) {
        wrong_ = "the tail passed a record that is not filled";
        return;
      }
      unit += units;
    }
    seen_ = end;
  }
  // Says what is wrong when all records up to unit `end` were published. The next record must find
  // that it is at the tail.
  std::string wrong_after(uint64_t end) {
    if (shared_->links.advance(0, 0) != end * kUnit) return "a link is lost";
    publish(end);
    seen_ = 0;
    look();
    if (seen_ != end + 1) return "the next record is not passed";
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    explicit Shared(uint64_t window_bytes) : links(window_bytes) {}
    LinkBuf links;
    std::array<platform::atomic<uint64_t>, kMostUnits> filled{};
  };

  std::unique_ptr<Shared> shared_;
  uint64_t seen_ = 0;
  const char* wrong_ = nullptr;
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
  std::vector<Body> threads() {
    const Body odd = [this] {
      publish(1);
      publish(3);
    };
    const Body even = [this] {
      publish(0);
      publish(2);
    };
    const Body looks = [this] {
      look();
      look();
    };
    return {odd, even, looks};
  }
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
    const Body first = [this] {
      publish(2, 1);
      publish(3, 2);
    };
    const Body second = [this] { publish(1, 1); };
    const Body looks = [this] {
      look();
      look();
    };
    return {first, second, looks};
  }
  std::string wrong() { return wrong_after(5); }
};

TEST(LinkBufSteps, ARecordMayBeAsLongAsTheWindow) { search_all<RecordAsLongAsTheWindow>(3); }

}  // namespace
}  // namespace logjam::sim
