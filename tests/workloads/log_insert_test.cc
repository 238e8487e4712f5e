// Every record that the log-insert benchmark counts is in the log, byte for byte.
#include "workloads/log_insert/log_insert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>

#include "platform/spin.h"
#include "tests/forwarding_scheme.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam::log_insert {
namespace {

TEST(RecordSizes, TwoSizesHaveTheMeanOfThePaper) {
  RecordSizes sizes;
  ASSERT_EQ(sizes.parse("dist:", 7), "");
  std::map<uint32_t, uint64_t> count;
  uint64_t bytes = 0;
  for (const uint32_t size : sizes.bytes) {
    ++count[size];
    bytes += size;
  }
  EXPECT_EQ(count.size(), 2u);
  EXPECT_EQ(count[40] + count[264], sizes.bytes.size());
  EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>(sizes.bytes.size()), 120, 0.1);
}

TEST(RecordSizes, OneRecordInSixtyIsAnOutlierAtNoFixedPlace) {
  RecordSizes sizes, again, other;
  ASSERT_EQ(sizes.parse("48:65536", 7), "");
  ASSERT_EQ(again.parse("48:65536", 7), "");
  ASSERT_EQ(other.parse("48:65536", 8), "");
  std::set<size_t> places;
  for (size_t begin = 0; begin < sizes.bytes.size(); begin += 60) {
    const auto sixty = std::span(sizes.bytes).subspan(begin, 60);
    EXPECT_EQ(std::ranges::count(sixty, 65536u), 1);
    EXPECT_EQ(std::ranges::count(sixty, 48u), 59);
    places.insert(static_cast<size_t>(std::ranges::find(sixty, 65536u) - sixty.begin()));
  }
  EXPECT_GT(places.size(), 20u);
  EXPECT_EQ(sizes.bytes, again.bytes);
  EXPECT_NE(sizes.bytes, other.bytes);
}

// In Aether's Fig. 10 a thread's small records wait for a large record (outlier) of another thread.
// This shows only if the other threads have small records at that time. So few threads may have
// their outliers in the same step.
TEST(RecordSizes, ThreadsRarelyHaveTheirOutliersTogether) {
  RecordSizes sizes;
  ASSERT_EQ(sizes.parse("48:65536", 1), "");
  const size_t round = sizes.bytes.size();
  for (const uint32_t threads : {2, 3, 4, 8, 16, 64}) {
    uint64_t alone = 0, together = 0;
    for (size_t step = 0; step < round; ++step) {
      uint32_t outliers = 0;
      for (uint32_t thread = 0; thread < threads; ++thread) {
        outliers += sizes.bytes[(sizes.first(thread, threads) + step) % round] == 65536;
      }
      (outliers <= 1 + threads / 8 ? alone : together) += outliers;
    }
    EXPECT_EQ(alone + together, threads * round / 60);
    EXPECT_LT(together, (alone + together) / 4) << threads << " threads";
  }
}

TEST(RecordSizes, RefusesImpossibleSizes) {
  RecordSizes sizes;
  for (const char* spec :
       {"", "12", "0", "many", "dist:1", "dist:40,264", "dist:264,40,120", "dist:40,264,300", "48,",
        "99999999999", "48:7", "48:", "48:0", "48:64:64", "dist:64"}) {
    EXPECT_NE(sizes.parse(spec, 1), "") << spec;
  }
}

class LogInsert : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  static constexpr uint32_t kThreads = 3;
  static constexpr uint64_t kInserts = 240;

  Options options() const {
    Options options;
    options.threads = kThreads;
    options.seconds = 3600;
    options.inserts = kInserts;
    options.seal = true;
    EXPECT_EQ(options.sizes.parse("dist:48,264,120:4096", 1), "");
    return options;
  }
  Result insert(Options options) {
    Log log(log_options(*GetParam(), directory_, "sync", kThreads));
    options.run = log.run();
    log.start();
    const Result result = insert_into(log.scheme(), options);
    log.drain();
    log.stop();
    return result;
  }

  LogDirectory directory_;
};

TEST_P(LogInsert, AllCountedRecordsAreInTheLog) {
  const Result result = insert(options());
  EXPECT_EQ(result.inserts, kThreads * kInserts);
  uint64_t records = 0, bytes = 0;
  for (const auto& [stream, path] : log_files(directory_.path())) {
    const ReadLog log = read_log(path);
    for (const auto& [position, record] : log.records) {
      if (record.kind != RecordKind::kTransaction) continue;
      ++records;
      bytes += record.bytes;
    }
  }
  EXPECT_EQ(records, result.inserts);
  EXPECT_EQ(bytes, result.bytes);
}

TEST_P(LogInsert, EveryCommitIsAcknowledgedOnce) {
  for (const bool wait : {false, true}) {
    Options three = options();
    three.logs_per_commit = 3;
    three.pipeline_depth = 16;
    three.wait = wait;
    const Result result = insert(three);
    EXPECT_EQ(result.inserts, kThreads * kInserts);
    // `commits` lacks the transactions that are acknowledged only after the measured time.
    EXPECT_LE(result.commits, kThreads * kInserts / 4);
    EXPECT_GE(result.commits, kThreads * (kInserts / 4 - three.pipeline_depth));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LogInsert, testing::ValuesIn(logging_schemes()), scheme_test_name);

uint32_t threads_named(const std::string& prefix) {
  uint32_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "comm");  // empty if the thread has just ended
    std::string name;
    std::getline(in, name);
    count += name.starts_with(prefix);
  }
  return count;
}

// A scheme that counts polls, and at the first insert counts the inserting threads that exist.
class WatchingScheme : public ForwardingScheme {
 public:
  explicit WatchingScheme(uint32_t workers) : ForwardingScheme(workers) {}
  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    if (!inserted_.exchange(true)) at_first_insert = threads_named("insert-");
    // No thread may end before the first insert has counted the threads.
    for (platform::SpinWait wait; at_first_insert == 0;) wait.once();
    return ForwardingScheme::reserve(worker, deps, bytes);
  }
  void poll(uint32_t) override { ++polls; }

  std::atomic<uint32_t> at_first_insert{0}, polls{0};

 private:
  std::atomic<bool> inserted_{false};
};

Options options_without_log() {
  Options options;
  options.threads = 12;
  options.seconds = 3600;
  options.inserts = 1000;
  options.local = true;
  options.pin = false;
  EXPECT_EQ(options.sizes.parse("48", 1), "");
  return options;
}

TEST(LogInsertStart, NoThreadInsertsBeforeAllHaveStarted) {
  const Options options = options_without_log();
  WatchingScheme scheme(options.threads);
  EXPECT_EQ(insert_into(scheme, options).inserts, options.threads * options.inserts);
  EXPECT_EQ(scheme.at_first_insert, options.threads);
}

TEST(LogInsertStart, ThreadsPollTheLogOnlyIfToldTo) {
  for (const bool polls : {false, true}) {
    Options options = options_without_log();
    options.polls = polls;
    WatchingScheme scheme(options.threads);
    insert_into(scheme, options);
    EXPECT_EQ(scheme.polls > 0, polls);
  }
}

std::vector<const SchemeInfo*> schemes_that_can_discard() {
  std::vector<const SchemeInfo*> found;
  for (const SchemeInfo* scheme : logging_schemes()) {
    if (check_scheme_on_device(*scheme, "discard").empty()) found.push_back(scheme);
  }
  return found;
}

class Discard : public testing::TestWithParam<const SchemeInfo*> {};

// The inserting threads themselves free space in the ring.
TEST_P(Discard, TheRingAloneTakesManyTimesItsBytes) {
  const LogDirectory directory;
  LogOptions log_of = log_options(*GetParam(), directory, "discard", 4);
  log_of.config.buffer_bytes = 1 << 16;
  log_of.config.safety_timeout_ns = 600'000'000'000;  // so that a lost wake-up hangs the test
  const Watchdog watchdog("a thread waits for room that nothing makes");
  Log log(log_of);
  log.start();
  EXPECT_EQ(threads_named("log-"), 0u);
  Options options;
  options.threads = 4;
  options.seconds = 3600;
  options.inserts = 5000;
  options.polls = false;
  options.pin = false;
  ASSERT_EQ(options.sizes.parse("dist::4096", 1), "");
  const Result result = insert_into(log.scheme(), options);
  EXPECT_EQ(result.inserts, 20'000u);
  EXPECT_GT(result.bytes, 50u << 16);
  log.drain();
  log.stop();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

INSTANTIATE_TEST_SUITE_P(All, Discard, testing::ValuesIn(schemes_that_can_discard()),
                         scheme_test_name);

TEST(LogInsertFloor, CountsInsertsAndBytes) {
  for (const Floor floor : {Floor::kCopy, Floor::kFetchAdd}) {
    Options options;
    options.threads = 2;
    options.seconds = 3600;
    options.inserts = 1000;
    ASSERT_EQ(options.sizes.parse("48", 1), "");
    const Result result = insert_into_floor(floor, 1 << 20, options);
    EXPECT_EQ(result.inserts, 2000u);
    EXPECT_EQ(result.bytes, 2000u * 48);
  }
}

}  // namespace
}  // namespace logjam::log_insert
