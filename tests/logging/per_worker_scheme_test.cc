// NV-Logging, NVM-D and Border-Collie's decentralized variant: sequence numbers, waits between
// transactions, and the cut. Only the last test uses several threads.
#include "logging/schemes/nvm/per_worker_scheme.h"

#include <cstring>
#include <fstream>

#include "tests/logging/scripted_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kWatermarks = kWorkers;  // number of the stream of watermarks
constexpr Dependencies kReads{.max_read = 0, .max_overwritten = 0, .reads = true};

class PerWorkerSchemeTest : public ScriptedLog {
 protected:
  void open(const std::string& name, const std::string& device) {
    options_ = log_options(*find_scheme(name), directory_, device, kWorkers);
    ScriptedLog::open();
  }
};

TEST_F(PerWorkerSchemeTest, NvlogAcknowledgesInSequenceOrder) {
  open("nvlog", "sync");
  const Published first = publish(0, {});
  const Published second = publish(1, {});
  const Published third = publish(0, {});
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_EQ(second.sequence, 2u);
  EXPECT_EQ(third.sequence, 3u);
  flush(kWatermarks);
  flush(0);
  flush(kWatermarks);
  EXPECT_FALSE(durable(third)) << "the record with the preceding number is not flushed";
  EXPECT_EQ(cut().sequence, 0u);
  flush(1);
  EXPECT_FALSE(durable(second)) << "no watermark on the device covers the record";
  flush(kWatermarks);
  EXPECT_TRUE(durable(first) && durable(second) && durable(third));
  EXPECT_EQ(cut().sequence, 3u);
}

// An NVM needs no buffer in DRAM. Stored bytes are in the device's file at once.
TEST_F(PerWorkerSchemeTest, RecordsAreFilledInTheNvm) {
  for (const char* name : {"nvlog", "nvmd"}) {
    open(name, "nvm");
    const LogReservation open_record = scheme().reserve(1, {}, 64);
    std::memset(open_record.hole, 0x5a, 64);
    std::ifstream file(stream_file(options_, 1), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(kLogHeaderBytes + open_record.position));
    std::string bytes(64, 0);
    file.read(bytes.data(), 64);
    EXPECT_EQ(bytes, std::string(64, 0x5a)) << name;
    fill_record(open_record, log_->run(), 1);
    scheme().publish(1, open_record, RecordRole::kCommit);
  }
}

TEST_F(PerWorkerSchemeTest, NvmdNumbersExceedDependenciesAndTheWorkersLastNumber) {
  open("nvmd", "sync");
  for (int i = 0; i < 5; ++i) publish(0, {});
  EXPECT_EQ(publish(1, {}).sequence, 1u);
  EXPECT_EQ(publish(1, {.max_read = 5, .reads = true}).sequence, 6u);
  EXPECT_EQ(publish(1, {.max_overwritten = 4}).sequence, 7u);
  EXPECT_EQ(publish(2, {.max_war = 7}).sequence, 8u);
}

// The clocks of two sockets differ. So a transaction may have read a number that is ahead of the
// worker's clock.
TEST_F(PerWorkerSchemeTest, BorderCollieStampsExceedWhatIsAheadOfTheClock) {
  open("border-collie-d", "sync");
  const uint64_t ahead = platform::ticks() + (uint64_t{1} << 50);
  EXPECT_EQ(publish(0, {.max_read = ahead, .reads = true}).sequence, ahead + 1);
  EXPECT_EQ(publish(0, {}).sequence, ahead + 2) << "the worker's last number";
  EXPECT_EQ(publish(1, {.max_overwritten = ahead + 2}).sequence, ahead + 3);
}

// Idle workers write nothing. If they draw numbers later, the numbers exceed the watermark.
TEST_F(PerWorkerSchemeTest, NvmdIdleWorkersContinueAboveTheWatermark) {
  open("nvmd", "nvm");
  Published last{};
  for (int i = 0; i < 10; ++i) last = publish(0, kReads);
  flush(0);
  flush(kWatermarks);
  EXPECT_TRUE(durable(last));
  EXPECT_EQ(cut().sequence, last.sequence);
  EXPECT_EQ(counter("watermark_records"), 1);
  EXPECT_EQ(publish(1, {}).sequence, last.sequence + 1);
}

TEST_F(PerWorkerSchemeTest, NvmdAnOpenReservationHoldsUpLargerNumbersOnly) {
  open("nvmd", "nvm");
  const Published small = publish(0, {});
  const LogReservation hole = scheme().reserve(1, {.max_read = 1, .reads = true}, 64);
  const Published large = publish(0, {.max_read = hole.sequence, .reads = true});
  flush(0);
  flush(kWatermarks);
  EXPECT_TRUE(durable(small));
  EXPECT_FALSE(durable(large));
  EXPECT_EQ(cut().sequence, hole.sequence - 1);
  fill(1, hole);
  flush(1);
  flush(kWatermarks);
  EXPECT_TRUE(durable(large));
}

// Worker 1 announces that its record has number 10 or a larger one. Worker 0, which waits for
// number 12, sees this bound and waits for worker 1. Then worker 1 draws 13.
class StaleBound final : public PerWorkerScheme {
 public:
  using PerWorkerScheme::PerWorkerScheme;

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    if (worker == 0) return open(worker, bytes, 12, [] { return 12; });
    return open(worker, bytes, 10, [this] {
      announced.test_and_set();
      announced.notify_one();
      platform::sleep_ns(100'000'000);  // time for worker 0 to go to sleep
      return 13;
    });
  }

  std::atomic_flag announced;
};

TEST(StaleBoundTest, WhoWaitsForASmallerNumberThanIsDrawnIsWoken) {
  const Watchdog watchdog("worker 0 waits for a record whose number is larger than its own");
  SchemeInfo info = *find_scheme("nvlog");
  info.construct = construct<StaleBound>;
  const LogDirectory directory;
  LogOptions options = log_options(info, directory, "sync", 2);
  options.config.safety_timeout_ns = 600'000'000'000;
  Log log(options);  // without flushers, because a flusher would find the number after 20 ms
  auto& scheme = dynamic_cast<StaleBound&>(log.scheme());
  LogReservation hole;
  std::thread other([&] { hole = scheme.reserve(1, {}, 64); });
  scheme.announced.wait(false);
  const Published mine = publish_record(log, 0, 1, 64);
  scheme.wait_durable(0, mine.point);
  other.join();
  fill_record(hole, log.run(), 2);
  scheme.publish(1, hole, RecordRole::kCommit);
  log.start();
  log.drain();
  log.stop();
}

}  // namespace
}  // namespace logjam
