// The threads that write for the device `file` without io_uring, in all schedules with few
// preemptions.
#include <gtest/gtest.h>

#include <cerrno>

#include "logging/device/writer_threads.h"
#include "platform/exploration.h"
#include "tests/explored/searched_program.h"
#include "tests/wrapped_files.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kSegment = 64, kWrite = 32, kPart = 16;  // bytes
constexpr uint32_t kSlots = 2;

// A disk that takes each write and each sync in a step of its own.
class CountingDisk final : public WrappedFiles {
 public:
  explicit CountingDisk(int error) : error_(error) {}

  int open(const std::string& path, int, int) override {
    const auto segment = path.find(".db.");
    return segment == std::string::npos ? 0 : std::stoi(path.substr(segment + 4));
  }
  void close(int) override {}
  int lock(int, bool, bool) override { return 0; }
  int sync(int file) override { return sync_data(file); }
  int sync_data(int file) override {
    const platform::ExploredCall call;
    for (uint64_t at = file * kSegment; at < (file + 1) * kSegment; at += kPart) {
      parts_[at / kPart].durable = parts_[at / kPart].writes != 0;
    }
    return 0;
  }
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool) override {
    const platform::ExploredCall call;
    if (error_ != 0) return -error_;
    for (uint64_t at = 0; at < bytes.size(); at += kPart) {
      ++parts_[(file * kSegment + offset + at) / kPart].writes;
    }
    return static_cast<int64_t>(bytes.size());
  }

  // Returns whether each byte of a write was written once, and synced after that.
  bool is_durable(uint64_t begin, uint64_t end) const {
    return std::all_of(parts_.begin() + begin / kPart, parts_.begin() + end / kPart,
                       [](const Part& part) { return part.durable && part.writes == 1; });
  }

 private:
  struct Part {
    uint32_t writes = 0;
    bool durable = false;
  };

  const int error_;
  std::array<Part, 16> parts_ = {};  // of kPart bytes, by the offset in the log file
};

// The thread with the flush latch starts writes of 32 bytes in both slots, `each` in a slot, and
// looks for their ends until at most `left` writes are under way. Then it destroys the threads.
// Each write crosses the end of a segment file if `crosses`. If `other_waits`, another thread waits
// for the first end, and only then the thread with the latch looks. Checked: an ended write, and
// after the destruction each write, was written once and then synced. All threads end.
class WritesInSlots {
 public:
  WritesInSlots(uint32_t each, uint32_t left, bool crosses, bool other_waits, int error = 0)
      : disk_(error),
        writes_(each * kSlots),
        left_(left),
        crosses_(crosses),
        other_waits_(other_waits),
        shared_(std::make_unique<Shared>()) {}
  std::vector<Body> threads() {
    std::vector<Body> all = {[this] { flush(); }};
    if (other_waits_) all.emplace_back([this] { await_first(); });
    return all;
  }
  std::string wrong() {
    for (uint32_t write = 0; write < writes_; ++write) check(write);
    return wrong_;
  }

 private:
  struct Shared {
    DeviceFile file{{.path = "log.db",
                     .depth = kSlots,
                     .segment_bytes = kSegment,
                     .sync_method = SyncMethod::kFdatasync},
                    0};
    WriterThreads threads{file, kSlots};
    platform::atomic<uint32_t> awaited{0};
  };

  uint64_t begin_of(uint32_t write) const {
    return crosses_ ? (write + 1) * kSegment - kWrite / 2 : write * kWrite;
  }
  void check(uint32_t write) {
    const uint64_t begin = begin_of(write);
    if (!disk_.is_durable(begin, begin + kWrite)) {
      wrong_ = "a write has ended, and is not durable";
    }
  }
  void start(uint32_t write) {
    static constexpr std::array<std::byte, kWrite> kBytes{};
    shared_->threads.start(begin_of(write), kBytes, Sync::kData, write % kSlots);
  }
  void flush() {
    for (uint32_t slot = 0; slot < kSlots; ++slot) start(slot);
    while (other_waits_ && shared_->awaited.load() == 0) platform::pause();
    std::array<uint32_t, kSlots> next = {0, 1};  // the write that is under way
    for (uint32_t ended = 0; ended + left_ < writes_;) {
      bool found = false;
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        if (next[slot] >= writes_ || !shared_->threads.finished(slot)) continue;
        check(next[slot]);
        found = true;
        ++ended;
        next[slot] += kSlots;
        if (next[slot] < writes_) start(next[slot]);
      }
      if (!found) shared_->threads.wait(platform::kForever);
    }
    shared_ = nullptr;
  }
  void await_first() {
    shared_->threads.wait(platform::kForever);
    shared_->awaited.store(1);
  }

  CountingDisk disk_;
  const platform::ReplaceFiles in_place_{disk_};
  const uint32_t writes_, left_;
  const bool crosses_, other_waits_;
  std::unique_ptr<Shared> shared_;
  const char* wrong_ = "";
};

TEST(WriterThreadsSteps, AnEndedWriteIsDurableAndTheDestructorWaitsForTheLast) {
  search_all<WritesInSlots>(2, 1u, 1u, false, false);
  search_all<WritesInSlots>(1, 2u, 1u, false, false);
  search_all<WritesInSlots>(1, 1u, 1u, true, false);
}

TEST(WriterThreadsSteps, NoWakeUpOfASlotIsLost) {
  search_all<WritesInSlots>(1, 2u, 0u, false, false);
}

TEST(WriterThreadsSteps, AThreadWithoutTheLatchLearnsOfAnEnd) {
  search_all<WritesInSlots>(1, 1u, 1u, false, true);
}

TEST(WriterThreadsDeathTest, NoFailedWriteEnds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto fails = [seed] {
      WritesInSlots program(1, 1, false, false, EIO);
      Explored::run(Explored::seeded(seed), program.threads());
    };
    EXPECT_EXIT(fails(), testing::ExitedWithCode(platform::kExitFailed), "cannot write and sync");
  }
}

}  // namespace
}  // namespace logjam::sim
