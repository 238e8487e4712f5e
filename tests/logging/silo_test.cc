// Silo's epochs. Each test runs on one thread, without flushers, and decides the interleaving.
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

class SiloTest : public ScriptedLog {
 protected:
  static constexpr uint32_t kStreams = 2;

  SiloTest() {
    options_ = log_options_of_many(*find_scheme("silo"), directory_, "sync", 4, kStreams);
    flags_.set("epoch_ms", "0.001");
    open();
  }

  static uint64_t epoch_of(uint64_t tid) { return tid >> 32; }
  // Does the epoch thread's work until the epoch ends. Its first step only reads the clock.
  void end_epoch() {
    const uint64_t before = epoch_of(publish(3).sequence);
    while (epoch_of(publish(3).sequence) == before) scheme().flush(kStreams, false);
  }
};

TEST_F(SiloTest, ATransactionIsDurableWhenItsEpochIsInEveryStream) {
  const Published one = publish(0), other = publish(1);
  flush(0);
  flush(1);
  EXPECT_FALSE(scheme().is_durable(one.point)) << "its epoch has not ended";
  EXPECT_FALSE(survives(one));
  end_epoch();
  flush(0);
  EXPECT_FALSE(scheme().is_durable(one.point)) << "the other logger has not written the epoch";
  EXPECT_FALSE(survives(one));
  flush(1);
  EXPECT_TRUE(scheme().is_durable(one.point));
  EXPECT_TRUE(scheme().is_durable(other.point));
  EXPECT_TRUE(survives(one));
  EXPECT_TRUE(survives(other));
}

TEST_F(SiloTest, AnOpenReservationHoldsUpItsEpoch) {
  const Published before = publish(2);
  const LogReservation open = scheme().reserve(0, {}, 64);
  end_epoch();
  end_epoch();
  flush(0);
  flush(1);
  EXPECT_FALSE(scheme().is_durable(before.point));
  EXPECT_FALSE(survives(before));
  fill_record(open, log_->run(), 1000);
  const CommitPoint point = scheme().publish(0, open, true, true);
  flush(0);
  flush(1);
  EXPECT_TRUE(scheme().is_durable(before.point));
  EXPECT_TRUE(scheme().is_durable(point));
  EXPECT_TRUE(survives(before));
}

TEST_F(SiloTest, NumbersContainTheEpochAndExceedDependencies) {
  const Published first = publish(0);
  end_epoch();
  const Published second = publish(0);
  EXPECT_GT(epoch_of(second.sequence), epoch_of(first.sequence));
  const Published reader = publish(1, {.max_read = second.sequence + 5, .reads = true});
  EXPECT_EQ(reader.sequence, second.sequence + 6);
  EXPECT_EQ(publish(1).sequence, reader.sequence + 1);
}

// A record that an idle worker left in its buffer is flushed with its epoch.
TEST_F(SiloTest, BuffersOfIdleWorkersAreFlushed) {
  const Published left = publish(2);
  for (int i = 0; i < 3; ++i) {
    end_epoch();
    flush(0);
    flush(1);
  }
  EXPECT_TRUE(scheme().is_durable(left.point));
  const Published later = publish(2);  // in another buffer
  EXPECT_GT(later.position, left.position + left.bytes);
}

}  // namespace
}  // namespace logjam
