// What is Silo's own: epochs. Interleavings as scripts on one thread, without flushers.
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

class SiloTest : public ScriptedLog {
 protected:
  static constexpr uint32_t kStreams = 2;

  SiloTest() {
    options_ = log_options_of_many(*find_scheme("silo"), directory_, "sync", 4, kStreams);
    options_.config.epoch_us = 1;
    open();
  }

  static uint64_t epoch_of(uint64_t tid) { return tid >> 32; }
  // The epoch thread's step; the first only looks at the clock.
  void end_epoch() {
    const uint64_t before = epoch_of(publish(3).sequence);
    while (epoch_of(publish(3).sequence) == before) scheme().flush(kStreams, false);
  }
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
