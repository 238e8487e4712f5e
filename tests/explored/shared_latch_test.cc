// MariaDB's log latch in all schedules with few preemptions.
#include "logging/schemes/mariadb/shared_latch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

constexpr uint32_t kMostRecords = 4;

// Each sharer takes the next record and fills it, by one store. A writer takes the latch alone,
// twice if it is the only one. Checked: a writer finds all records filled that were taken, two
// writers never have the latch, and all threads come through.
class SharersAndWriters {
 public:
  SharersAndWriters(uint32_t sharers, uint32_t writers)
      : sharers_(sharers), writers_(writers), shared_(std::make_unique<Shared>()) {}
  std::vector<Body> threads() {
    std::vector<Body> all;
    for (uint32_t i = 0; i < sharers_; ++i) {
      all.emplace_back([this] { fill(); });
    }
    for (uint32_t i = 0; i < writers_; ++i) {
      all.emplace_back([this] { look(); });
    }
    return all;
  }
  std::string wrong() {
    const uint32_t taken = shared_->taken.load(platform::memory_order_relaxed);
    if (taken != sharers_) return "a record is lost";
    return wrong_ == nullptr ? "" : wrong_;
  }

 private:
  struct Shared {
    SharedLatch latch;
    platform::atomic<uint32_t> taken{0}, inside{0};
    std::array<platform::atomic<uint32_t>, kMostRecords> filled{};
  };

  void fill() {
    shared_->latch.lock_shared();
    const uint32_t record = shared_->taken.fetch_add(1, platform::memory_order_relaxed);
    shared_->filled[record].store(1, platform::memory_order_relaxed);
    shared_->latch.unlock_shared();
  }
  void look() {
    for (uint32_t i = writers_; i < 3; ++i) {  // twice, if no other thread looks
      while (!shared_->latch.lock(2)) platform::pause();
      if (shared_->inside.fetch_add(1, platform::memory_order_relaxed) != 0) {
        wrong_ = "two writers have the latch";
      }
      const uint32_t taken = shared_->taken.load(platform::memory_order_relaxed);
      for (uint32_t record = 0; record < taken; ++record) {
        if (shared_->filled[record].load(platform::memory_order_relaxed) == 0) {
          wrong_ = "a writer has the latch while a record is not filled";
        }
      }
      shared_->inside.fetch_sub(1, platform::memory_order_relaxed);
      shared_->latch.unlock();
    }
  }

  const uint32_t sharers_, writers_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = nullptr;
};

TEST(SharedLatchSteps, AWriterFindsAllRecordsFilled) {
  search_all<SharersAndWriters>(2, 2u, 1u);
  search_all<SharersAndWriters>(1, 3u, 1u);
  search_all<SharersAndWriters>(3, 1u, 1u);
}

TEST(SharedLatchSteps, OneWriterHasIt) { search_all<SharersAndWriters>(2, 0u, 2u); }

}  // namespace
}  // namespace logjam::sim
