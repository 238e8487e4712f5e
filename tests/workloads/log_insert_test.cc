// The records that the log-insert benchmark counts are found in the log, byte for byte.
#include "workloads/log_insert/log_insert.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/logging/log_fixture.h"

namespace logjam::log_insert {
namespace {

TEST(RecordSizes, TwoSizesHaveTheMeanOfThePaper) {
  RecordSizes sizes;
  ASSERT_EQ(sizes.parse("dist:", 0, 7), "");
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

TEST(RecordSizes, EverySixtiethRecordIsAnOutlier) {
  RecordSizes sizes;
  ASSERT_EQ(sizes.parse("48", 65536, 7), "");
  for (size_t i = 0; i < sizes.bytes.size(); ++i) {
    EXPECT_EQ(sizes.bytes[i], i % 60 == 0 ? 65536u : 48u);
  }
}

TEST(RecordSizes, RefusesImpossibleSizes) {
  RecordSizes sizes;
  for (const char* spec : {"", "12", "0", "many", "dist:1", "dist:40,264", "dist:264,40,120",
                           "dist:40,264,300", "48,", "99999999999"}) {
    EXPECT_NE(sizes.parse(spec, 0, 1), "") << spec;
  }
  EXPECT_NE(sizes.parse("48", 7, 1), "");
}

class LogInsert : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  static constexpr uint32_t kThreads = 3;
  static constexpr uint64_t kInserts = 240;

  Options options() const {
    Options options;
    options.threads = kThreads;
    options.seconds = 60;
    options.inserts = kInserts;
    options.seal = true;
    EXPECT_EQ(options.sizes.parse("dist:48,264,120", 4096, 1), "");
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
  for (const auto& [stream, path] : log_files_in(directory_.path())) {
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
    // Transactions in flight at the end are acknowledged after the measured time.
    EXPECT_LE(result.commits, kThreads * kInserts / 4);
    EXPECT_GE(result.commits, kThreads * (kInserts / 4 - three.pipeline_depth));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LogInsert, testing::ValuesIn(logging_schemes()), scheme_test_name);

TEST(LogInsertFloor, CountsInsertsAndBytes) {
  for (const Floor floor : {Floor::kCopy, Floor::kFetchAdd}) {
    Options options;
    options.threads = 2;
    options.seconds = 60;
    options.inserts = 1000;
    ASSERT_EQ(options.sizes.parse("48", 0, 1), "");
    const Result result = insert_into_floor(floor, 1 << 20, options);
    EXPECT_EQ(result.inserts, 2000u);
    EXPECT_EQ(result.bytes, 2000u * 48);
  }
}

}  // namespace
}  // namespace logjam::log_insert
