// The durable positions that a scheme reports are the ends of the streams that a reader finds.
#include <gtest/gtest.h>

#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

class DurablePositions : public testing::TestWithParam<const SchemeInfo*> {};

TEST_P(DurablePositions, AreTheEndsOfTheStreams) {
  constexpr uint32_t kWorkers = 3;
  const LogDirectory directory;
  const LogOptions options = log_options_of_many(*GetParam(), directory, "sync", kWorkers, 3);
  Log log(options);
  log.start();
  EXPECT_EQ(log.scheme().durable_positions().size(), log.streams());
  CommitPoint last;
  for (uint64_t txn = 1; txn <= 300; ++txn) {
    last = publish_record(log, txn % kWorkers, txn, 64 + 8 * (txn % 9)).point;
    log.scheme().poll(txn % kWorkers);
  }
  log.drain();
  log.stop();
  const auto durable = log.scheme().durable_positions();
  ASSERT_EQ(durable.size(), log.streams());
  uint64_t all = 0;
  for (uint32_t s = 0; s < durable.size(); ++s) {
    EXPECT_EQ(durable[s], read_log(stream_file(options, s)).tail.bytes) << "stream " << s;
    all += durable[s];
  }
  EXPECT_GT(all, 300u * 64);
}

INSTANTIATE_TEST_SUITE_P(All, DurablePositions, testing::ValuesIn(logging_schemes()),
                         scheme_test_name);

}  // namespace
}  // namespace logjam
