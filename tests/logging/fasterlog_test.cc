// FasterLog's commit records. tests/logging/eleda_test.cc and tests/explored/holes_test.cc have the
// tests of its tracker.
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint64_t kRecord = 64, kCommitRecord = 32;

class FasterLogTest : public ScriptedLog {
 protected:
  FasterLogTest() {
    options_ = log_options(*find_scheme("fasterlog"), directory_, "sync", 2);
    open();
  }
  uint64_t durable_end() { return scheme().durable_positions()[0]; }
};

TEST_F(FasterLogTest, AWriteEndsWithACommitRecord) {
  const Published first = publish(0);
  publish(1);
  flush_all();
  EXPECT_EQ(durable_end(), 2 * kRecord + kCommitRecord);
  EXPECT_TRUE(durable(first));
  EXPECT_EQ(tails()[0].last_watermark, 2 * kRecord + kCommitRecord);
}

// The first write ends before the hole, and so before its commit record.
TEST_F(FasterLogTest, ThereIsOneCommitRecordIfNoRecordCameSinceTheLastOne) {
  publish(0);
  EXPECT_EQ(scheme().published_positions()[0], kRecord);
  const LogReservation open = scheme().reserve(1, {}, kRecord);
  flush_all();
  EXPECT_EQ(durable_end(), kRecord);
  fill(1, open);
  for (int i = 0; i < 2; ++i) {
    flush_all();
    EXPECT_EQ(durable_end(), 2 * kRecord + kCommitRecord);
  }
  EXPECT_TRUE(scheme().idle());
}

}  // namespace
}  // namespace logjam
