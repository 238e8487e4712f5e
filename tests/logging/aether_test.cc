// Aether's buffers in rare situations, which the tests force: consolidation, workers that sleep
// between reserve and publish, a large record among small ones, a ring of few records.
#include "platform/spin.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 8;

std::vector<const SchemeInfo*> aether_schemes() {
  std::vector<const SchemeInfo*> schemes;
  for (const SchemeInfo* info : logging_schemes()) {
    if (info->name.starts_with("aether-")) schemes.push_back(info);
  }
  return schemes;
}

class AetherTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LogOptions options(const std::string& device, uint64_t buffer_bytes) {
    LogOptions tiny = log_options(*GetParam(), directory_, device, kWorkers);
    tiny.config.buffer_bytes = buffer_bytes;
    tiny.config.sockets = 2;
    flags_.set("aether_slots", 2);
    tiny.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;  // a lost wake-up would hang
    tiny.preallocate_bytes = uint64_t{1} << 20;
    return tiny;
  }

  // Publishes from all workers, and checks the records in the file. Returns the scheme's counters.
  Counters publish_and_check(const LogOptions& tiny, const Mix& mix) {
    Log log(tiny);
    log.start();
    const auto published = publish_from_threads(log, kWorkers, mix);
    log.drain();
    log.stop();
    expect_on_device(published, tiny);
    return log.scheme().counters();
  }

  static double counter(Log& log, const std::string& name) {
    return log.scheme().counters().value(name);
  }
  bool consolidates() const { return GetParam()->name != "aether-d"; }
  bool delegates() const { return GetParam()->name == "aether-cde"; }

  LogDirectory directory_;
  ScopedFlags flags_;
};

TEST_P(AetherTest, ARingOfAFewRecordsLosesNone) {
  publish_and_check(options("sim:10", 4096), {.each = 150, .max_bytes = 1000, .sleep_every = 16});
}

TEST_P(AetherTest, InsertsForcedThroughTheArrayAreInTheLog) {
  constexpr uint32_t kEach = 400;
  for (const uint32_t nth : {1u, 3u}) {
    const LogOptions forced = options("sim:300", 8192);
    flags_.set("test", "aether_force:" + std::to_string(nth));
    const auto counters =
        publish_and_check(forced, {.each = kEach, .max_bytes = 200, .sleep_every = 64});
    EXPECT_EQ(counters.value("inserts"), kWorkers * kEach);
    EXPECT_GE(counters.value("consolidated_inserts"),
              consolidates() ? kWorkers * (kEach / nth) : 0);
  }
}

// The first record almost fills the ring and is not published. Then one worker may still find
// space, and another worker holds the lock while it sleeps until there is space. The other workers
// must form groups.
TEST_P(AetherTest, WorkersThatFindTheLockHeldFormGroups) {
  if (!consolidates()) GTEST_SKIP() << "the scheme has no consolidation array";
  Log log(options("sim:20", 8192));
  log.start();
  LogScheme& scheme = log.scheme();
  const LogReservation first =
      scheme.reserve(0, {}, static_cast<uint32_t>(scheme.max_record_bytes()));
  std::vector<std::thread> threads;
  for (uint32_t worker = 1; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      scheme.wait_durable(worker, publish_record(log, worker, worker, 264).point);
    });
  }
  for (platform::SpinWait wait; counter(log, "consolidated_inserts") < kWorkers - 3;) wait.once();
  EXPECT_FALSE(scheme.is_durable(CommitPoint::in_stream(0, first.sequence)));
  fill_record(first, log.run(), 0);
  scheme.publish(0, first, RecordRole::kCommit);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(counter(log, "mean_group_size"), 1) << "no group had a second member";
  log.drain();
  log.stop();
  const ReadLog found = read_log(directory_.file());
  EXPECT_EQ(found.tail.why, "end of log");
  EXPECT_TRUE(found.filled_rightly);
  EXPECT_EQ(found.records.size(), kWorkers);
}

TEST_P(AetherTest, LargeRecordsAmongSmallOnesAreInTheLog) {
  const LogOptions skewed = options("sim:20", uint64_t{256} << 10);
  flags_.set("test", "aether_force:7");
  publish_and_check(skewed, {.each = 250, .max_bytes = 48, .large_every = 60, .sleep_every = 32});
}

// Worker 0 has not filled its record when worker 1 publishes the next record. Worker 1 then waits
// for worker 0 in all schemes except `aether-cde`.
TEST_P(AetherTest, ReleaseIsDelegatedWhenAnEarlierRegionIsOpen) {
  if (!delegates()) GTEST_SKIP() << "the scheme does not delegate releases";
  Log log(options("sim:20", 1 << 20));
  log.start();
  const LogReservation first = log.scheme().reserve(0, {}, 48);
  const LogReservation second = log.scheme().reserve(1, {}, 48);
  fill_record(second, log.run(), 2);
  const CommitPoint later = log.scheme().publish(1, second, RecordRole::kCommit);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(log.scheme().is_durable(later));
  fill_record(first, log.run(), 1);
  log.scheme().publish(0, first, RecordRole::kCommit);
  log.scheme().wait_durable(1, later);
  EXPECT_EQ(log.scheme().counters().value("delegated_releases"), 1);
}

INSTANTIATE_TEST_SUITE_P(All, AetherTest, testing::ValuesIn(aether_schemes()), scheme_test_name);

}  // namespace
}  // namespace logjam
