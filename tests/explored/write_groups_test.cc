// RocksDB's write groups in all schedules with few preemptions.
#include "logging/schemes/rocksdb/write_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint32_t kBytes = 64;

// Each worker writes a number of records, which it fills with their positions. Checked: one leader
// at a time copies; it copies records in the order of their positions, and filled; a worker comes
// back when its record is copied; all records are copied.
class WritersInGroups {
 public:
  WritersInGroups(uint32_t workers, uint32_t each)
      : workers_(workers), each_(each), shared_(std::make_unique<Shared>(workers)) {}
  // With late stores, the searches take minutes.
  static constexpr bool kStoresLandAtOnce = true;
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      all.emplace_back([this, worker] { write(worker); });
    }
    return all;
  }
  std::string wrong() {
    if (shared_->end.load(platform::memory_order_relaxed) != workers_ * each_ * kBytes) {
      return "not all records are copied";
    }
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    explicit Shared(uint32_t workers) : groups(workers) {}
    WriteGroups groups;
    platform::atomic<uint64_t> end{0};
    platform::atomic<uint32_t> leaders{0};
  };

  void write(uint32_t worker) {
    for (uint32_t i = 0; i < each_; ++i) {
      const uint64_t begin = shared_->groups.link(worker, kBytes);
      auto* const record = reinterpret_cast<uint64_t*>(shared_->groups.memory(worker));
      *record = begin + 1;
      shared_->groups.hand_over(
          worker, [this](uint64_t at, const std::byte* copied, uint32_t) { copy(at, copied); },
          [] {});
      if (shared_->end.load(platform::memory_order_relaxed) < begin + kBytes) {
        wrong_ = "a worker came back before its record was copied";
      }
    }
  }
  void copy(uint64_t begin, const std::byte* record) {
    if (shared_->leaders.fetch_add(1, platform::memory_order_relaxed) != 0) {
      wrong_ = "two leaders copy";
    }
    if (shared_->end.load(platform::memory_order_relaxed) != begin) wrong_ = "out of order";
    if (*reinterpret_cast<const uint64_t*>(record) != begin + 1) wrong_ = "not filled";
    shared_->end.store(begin + kBytes, platform::memory_order_relaxed);
    shared_->leaders.fetch_sub(1, platform::memory_order_relaxed);
  }

  const uint32_t workers_, each_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = nullptr;
};

TEST(WriteGroupsSteps, ALeaderCopiesTheRecordsOfItsGroup) {
  search_all<WritersInGroups>(2, 2u, 1u);
}

TEST(WriteGroupsSteps, TheLeadPassesToTheWriterAfterTheGroup) {
  search_all<WritersInGroups>(2, 2u, 2u);
  search_all<WritersInGroups>(1, 3u, 1u);
}

}  // namespace
}  // namespace logjam::sim
