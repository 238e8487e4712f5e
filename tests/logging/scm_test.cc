// The log that is filled and persisted in place. Its watermark is exact: it stops at the first
// hole, and passes no byte that was not persisted.
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "logging/schemes/nvm/open_holes.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

TEST(OpenHoles, AnUnfilledHoleStaysWhenItsWorkerReservesAgain) {
  OpenHoles log(2);
  log.reserve(0, 64);
  log.reserve(0, 64);
  log.reserve(1, 64);
  log.filled(1);
  EXPECT_EQ(log.look(), 0u);
}

// A device in memory that notes which bytes were persisted.
class RememberingDevice final : public Device, public PersistentMemory {
 public:
  static constexpr uint64_t kBytes = uint64_t{4} << 20;

  RememberingDevice() : bytes_(kBytes), persisted_(kBytes) {}

  uint32_t block_bytes() const override { return 8; }
  void start(uint64_t, std::span<const std::byte>, Sync, uint32_t = 0) override {}
  bool finished(uint32_t = 0) override { return true; }
  void wait(uint64_t) override {}
  bool start_blocks() const override { return false; }
  PersistentMemory* memory() override { return this; }

  std::byte* mapped(uint64_t offset, uint64_t bytes) override {
    EXPECT_LE(offset + bytes, kBytes);
    return bytes_.data() + offset;
  }
  bool persist(std::span<const std::byte> bytes) override {
    const auto begin = static_cast<uint64_t>(bytes.data() - bytes_.data());
    std::this_thread::yield();  // other threads run before the bytes are persisted
    // Bytes that are filled only after the call do not count as persisted.
    for (uint64_t i = begin; i < begin + bytes.size(); ++i) {
      if (bytes_[i] == kFilled) persisted_[i].store(true, std::memory_order_relaxed);
    }
    return true;
  }
  // Returns the number of bytes before stream position `end` that are not persisted.
  uint64_t missing_before(uint64_t end) const {
    uint64_t missing = 0;
    for (uint64_t i = kLogHeaderBytes; i < kLogHeaderBytes + end; ++i) {
      missing += !persisted_[i].load(std::memory_order_relaxed);
    }
    return missing;
  }

  static constexpr std::byte kFilled{0x5a};

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::atomic<bool>> persisted_;
};

TEST(Scm, TheWatermarkPassesOnlyPersistedBytes) {
  constexpr uint32_t kWorkers = 5;
  constexpr uint64_t kEach = 300;
  RememberingDevice device;
  LogConfig config;
  config.workers = kWorkers;
  config.devices = {&device};
  const auto scheme = find_scheme("scm")->make(config);
  std::atomic<uint64_t> missing{0};
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      std::mt19937_64 random(worker);
      for (uint64_t i = 0; i < kEach; ++i) {
        const auto bytes = static_cast<uint32_t>(48 + random() % 50 * 8);
        const LogReservation reservation = scheme->reserve(worker, {}, bytes);
        if (random() % 4 == 0) std::this_thread::yield();
        std::memset(reservation.hole, static_cast<int>(RememberingDevice::kFilled), bytes);
        const CommitPoint point = scheme->publish(worker, reservation, RecordRole::kCommit);
        scheme->wait_durable(worker, point);
        if (i % 16 == 0) missing += device.missing_before(point.sequence);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missing.load(), 0u) << "acknowledged bytes were not persistent";
  EXPECT_TRUE(scheme->idle());
}

// Each worker keeps its hole open until all earlier records are durable, so no worker may wait for
// a later record. A worker that has stored a stale bound must wake the workers that wait for this
// bound. The safety time-out of an hour does not hide a lost wake-up.
TEST(Scm, ARecordNeverWaitsForALaterRecord) {
  const Watchdog watchdog("a record waits for a later record");
  constexpr uint32_t kWorkers = 6;
  LogDirectory directory;
  LogOptions options = log_options(*find_scheme("scm"), directory, "nvm", kWorkers);
  options.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
  ScopedFlags flags;
  flags.set("test", "scm_stale_bounds:1");
  Log log(options);
  log.start();
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      for (uint64_t i = 0; i < 3000; ++i) {
        const LogReservation reservation = log.scheme().reserve(worker, {}, 64);
        fill_record(reservation, log.run(), i);
        log.scheme().wait_durable(worker, CommitPoint::in_stream(0, reservation.position));
        log.scheme().publish(worker, reservation, RecordRole::kCommit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(log.scheme().idle());
}

// A crash leaves a hole, which has bytes of an earlier run. Recovery must ignore these bytes, use
// all records before the hole, and report the records after it.
TEST(Scm, RecoveryStopsAtTheFirstHole) {
  LogDirectory directory;
  const LogOptions options = log_options(*find_scheme("scm"), directory, "nvm", 3);
  {
    Log earlier(options);
    for (uint64_t i = 0; i < 300; ++i) publish_record(earlier, 0, i, 64);
  }
  Log log(options);
  const Published before = publish_record(log, 0, 1, 8192);  // a new log begins with zeros
  const LogReservation open = log.scheme().reserve(1, {}, 64);
  const Published later = publish_record(log, 2, 2, 64);
  EXPECT_TRUE(log.scheme().is_durable(before.point));
  EXPECT_FALSE(log.scheme().is_durable(later.point));
  const ReadLog found = read_log(directory.file());
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.records.size(), 1u);
  EXPECT_EQ(found.tail.bytes, before.position + before.bytes);
  EXPECT_NE(found.tail.why.find("corrupt record at byte 8192; 1 valid record(s) of 64 bytes after"),
            std::string::npos)
      << found.tail.why;
  EXPECT_EQ(options.scheme->recovery.cut({found.tail}).bytes, std::vector<uint64_t>{8192});

  fill_record(open, log.run(), 3);
  log.scheme().publish(1, open, RecordRole::kCommit);
  EXPECT_TRUE(log.scheme().is_durable(later.point));
  log.stop();
  EXPECT_EQ(read_log(directory.file()).tail.why, "end of log");
  EXPECT_EQ(read_log(directory.file()).records.size(), 3u);
}

// Fang et al.: no record waits for another record. Recovery still stops at the first hole.
TEST(Scm, WithUnsafeAcknowledgementsNoRecordWaitsForAHole) {
  LogDirectory directory;
  ScopedFlags flags;
  flags.set("ack", "unsafe");
  const LogOptions options = log_options(*find_scheme("scm"), directory, "nvm", 2);
  EXPECT_EQ(options.scheme->unsafe(), "--ack=unsafe");
  Log log(options);
  log.start();
  const LogReservation open = log.scheme().reserve(0, {}, 64);
  const Published later = publish_record(log, 1, 1, 64);
  EXPECT_TRUE(log.scheme().is_durable(later.point));
  EXPECT_TRUE(log.scheme().is_durable(log.scheme().commit_read_only(0, {.max_read = 128})));
  EXPECT_EQ(read_log(directory.file()).tail.bytes, 0u);
  fill_record(open, log.run(), 2);
  log.scheme().publish(0, open, RecordRole::kCommit);
  log.stop();
  EXPECT_TRUE(log.scheme().idle());
  EXPECT_EQ(read_log(directory.file()).records.size(), 2u);
}

TEST(ScmDeathTest, DevicesThatAreNotMemoryAreRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  for (const char* device : {"file", "sync", "sim:10", "null", "faulty:sync"}) {
    LogOptions options = log_options(*find_scheme("scm"), directory, "nvm", 1);
    options.device = device;
    EXPECT_REFUSED(
        const Log log(options),
        "--log=scm persists its records in place and needs --device=nvm.:NS., not --device=");
  }
}

}  // namespace
}  // namespace logjam
