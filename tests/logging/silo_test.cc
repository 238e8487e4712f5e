// What is Silo's own: epochs. Interleavings as scripts on one thread, without flushers.
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

class SiloTest : public testing::Test {
 protected:
  static constexpr uint32_t kStreams = 2;

  SiloTest() {
    options_ = log_options_of_many(*find_scheme("silo"), directory_, "sync", 4, kStreams);
    options_.config.epoch_us = 1;
    log_ = std::make_unique<Log>(options_);
  }

  LogScheme& scheme() { return log_->scheme(); }
  Published publish(uint32_t worker, const Dependencies& deps = {}) {
    return publish_record(*log_, worker, ++txn_, 64, deps);
  }
  static uint64_t epoch_of(uint64_t tid) { return tid >> 32; }
  // The epoch thread's step; the first only looks at the clock.
  void end_epoch() {
    const uint64_t before = epoch_of(publish(3).sequence);
    while (epoch_of(publish(3).sequence) == before) scheme().flush(kStreams, false);
  }
  void flush(uint32_t stream) {
    for (int i = 0; i < 3; ++i) scheme().flush(stream, true);
  }
  Cut cut() {
    std::vector<StreamTail> tails;
    for (uint32_t s = 0; s < kStreams; ++s) {
      tails.push_back(read_log(stream_file(options_, s)).tail);
    }
    return scheme().cut(tails);
  }
  bool survives(const Published& one) {
    RecordHeader header{};
    header.sequence = one.sequence;
    const Cut now = cut();
    return one.position + one.bytes <= now.bytes[one.stream] &&
           scheme().survives(header, one.stream, now);
  }

  LogDirectory directory_;
  LogOptions options_;
  std::unique_ptr<Log> log_;
  uint64_t txn_ = 0;
};

TEST_F(SiloTest, ATransactionIsSafeWhenItsEpochIsInEveryStream) {
  const Published one = publish(0), other = publish(1);
  flush(0);
  flush(1);
  EXPECT_FALSE(scheme().is_durable(one.point)) << "its epoch has not ended";
  EXPECT_FALSE(survives(one));
  end_epoch();
  flush(0);
  EXPECT_FALSE(scheme().is_durable(one.point)) << "the other logger has not written it";
  EXPECT_FALSE(survives(one));
  flush(1);
  EXPECT_TRUE(scheme().is_durable(one.point));
  EXPECT_TRUE(scheme().is_durable(other.point));
  EXPECT_TRUE(survives(one));
  EXPECT_TRUE(survives(other));
}

TEST_F(SiloTest, AnOpenTicketHoldsUpItsEpoch) {
  const Published before = publish(2);
  const Ticket open = scheme().reserve(0, {}, 64);
  end_epoch();
  end_epoch();
  flush(0);
  flush(1);
  EXPECT_FALSE(scheme().is_durable(before.point));
  EXPECT_FALSE(survives(before));
  fill_record(open, log_->run(), 1000);
  const Point point = scheme().publish(0, open, true, true);
  flush(0);
  flush(1);
  EXPECT_TRUE(scheme().is_durable(before.point));
  EXPECT_TRUE(scheme().is_durable(point));
  EXPECT_TRUE(survives(before));
}

TEST_F(SiloTest, NumbersAreOfTheEpochAndFollowDependencies) {
  const Published first = publish(0);
  end_epoch();
  const Published second = publish(0);
  EXPECT_GT(epoch_of(second.sequence), epoch_of(first.sequence));
  const Published reader = publish(1, {.max_read = second.sequence + 5, .reads = true});
  EXPECT_EQ(reader.sequence, second.sequence + 6);
  EXPECT_EQ(publish(1).sequence, reader.sequence + 1);
}

// What an idle worker left in its buffer goes with the epoch.
TEST_F(SiloTest, IdleWorkersBuffersAreTaken) {
  const Published left = publish(2);
  for (int i = 0; i < 3; ++i) {
    end_epoch();
    flush(0);
    flush(1);
  }
  EXPECT_TRUE(scheme().is_durable(left.point));
  const Published later = publish(2);  // it gets another
  EXPECT_GT(later.position, left.position + left.bytes);
}

}  // namespace
}  // namespace logjam
