// Stealing groups in all schedules with few preemptions.
#include "logging/schemes/autonomous/stealing_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint32_t kBytes = 8;
constexpr uint64_t kFloor = 2, kMostNumbers = 16;

// Workers write records, whose one word names the worker and the number, into buffers of one
// record, and steal from each other. If there is one worker, another thread raises the floor, takes
// all, and learns below which number it has all. Checked: a worker's records are moved once each,
// filled, in their order, into open pieces; one that is moved later has no number below that.
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
    if (wrong_ != nullptr) return wrong_;
    if (shared_->group.unwritten() != 0) return "records are left";
    const uint64_t moved = moved_[0].records + moved_[1].records;
    return moved == workers_ * each_ ? "" : "not each record is moved once";
  }

 private:
  struct Shared {
    StealingGroup group{kBytes};
    platform::atomic<uint64_t> floor{0};
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
        return std::max(least, shared_->floor.load(platform::memory_order_relaxed) + 1);
      });
      *reinterpret_cast<uint64_t*>(group.memory(worker)) = worker * kMostNumbers + last;
      group.publish(worker, kBytes);
      if (i % 2 == 0) group.steal(worker, 2, Piece{*this});
    }
  }
  void look() {
    shared_->floor.store(kFloor, platform::memory_order_relaxed);
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
  std::array<Moved, 2> moved_ = {};  // by worker: one thread at a time moves its records
  uint64_t complete_ = 0;            // below it, the look has seen all
  const char* wrong_ = nullptr;
};

TEST(StealingGroupSteps, ThievesMoveEachRecordOnce) { search_all<Thieves>(2, 2u, 2u); }

TEST(StealingGroupSteps, ALookKnowsBelowWhichNumberAllIsMoved) { search_all<Thieves>(2, 1u, 3u); }

}  // namespace
}  // namespace logjam::sim
