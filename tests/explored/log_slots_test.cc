// WiredTiger's log slots in all schedules with few preemptions.
#include "logging/schemes/wiredtiger/log_slots.h"

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

constexpr uint32_t kBytes = 64, kMostRecords = 6;

// Each worker writes a number of records, each of which it fills by one store. Another thread
// closes the active slot and passes what is complete, twice. A slot takes two records. Checked: no
// two records have the same place; what is passed is filled and grows; at the end all is passed.
class WorkersAndAFlusher {
 public:
  WorkersAndAFlusher(uint32_t workers, uint32_t each)
      : workers_(workers), each_(each), shared_(std::make_unique<Shared>()) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t worker = 0; worker < workers_; ++worker) {
      all.emplace_back([this] { write(); });
    }
    all.emplace_back([this] { flush_twice(); });
    return all;
  }
  std::string wrong() {
    shared_->slots.pass();
    shared_->slots.close_active();
    if (shared_->slots.pass() != workers_ * each_ * kBytes) return "not all is passed at the end";
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    LogSlots slots{4 * 2 * kBytes};
    std::array<platform::atomic<uint32_t>, kMostRecords> filled{};
  };

  void write() {
    for (uint32_t i = 0; i < each_; ++i) {
      const auto [begin, slot] = shared_->slots.join(kBytes);
      auto& filled = shared_->filled[begin / kBytes];
      if (filled.load(platform::memory_order_relaxed) != 0) wrong_ = "two records have one place";
      filled.store(1, platform::memory_order_relaxed);
      shared_->slots.release(slot, kBytes);
    }
  }
  void flush_twice() {
    uint64_t seen = 0;
    for (int i = 0; i < 2; ++i) {
      shared_->slots.close_active();
      const uint64_t end = shared_->slots.pass();
      if (end < seen) wrong_ = "less is passed than before";
      seen = end;
      for (uint64_t record = 0; record < end / kBytes; ++record) {
        if (shared_->filled[record].load(platform::memory_order_relaxed) == 0) {
          wrong_ = "a record is passed that is not filled";
        }
      }
    }
  }

  const uint32_t workers_, each_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = nullptr;
};

TEST(LogSlotsSteps, OnlyFilledRecordsArePassed) {
  search_all<WorkersAndAFlusher>(2, 2u, 1u);
  search_all<WorkersAndAFlusher>(1, 3u, 1u);
}

TEST(LogSlotsSteps, AFullSlotIsClosedByAWorker) { search_all<WorkersAndAFlusher>(1, 2u, 3u); }

}  // namespace
}  // namespace logjam::sim
