// Silo's epochs: when an epoch ends, and when the epoch's commits are durable.
#include "logging/schemes/silo/epoch_tids.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

class SiloTest : public ScriptedLog {
 protected:
  static constexpr uint32_t kStreams = 2;

  SiloTest() {
    options_ = log_options_of_many(*find_scheme("silo"), directory_, "sync", 4, kStreams);
    flags_.set("silo_epoch_ms", "0.001");
    open();
  }

  static uint64_t epoch_of(uint64_t tid) { return EpochTids::epoch_of(tid); }
  // Takes the epoch thread's steps until the epoch ends. The thread's first step reads the clock.
  void end_epoch() {
    const uint64_t before = epoch_of(publish(3).sequence);
    while (epoch_of(publish(3).sequence) == before) scheme().flush(kStreams, false);
  }
};

TEST_F(SiloTest, ATransactionIsDurableWhenItsEpochIsInEveryStream) {
  const Published one = publish(0), other = publish(1);
  flush(0);
  flush(1);
  EXPECT_FALSE(durable(one)) << "its epoch has not ended";
  EXPECT_FALSE(survives(one));
  end_epoch();
  flush(0);
  EXPECT_FALSE(durable(one)) << "the other logger has not written the epoch";
  EXPECT_FALSE(survives(one));
  flush(1);
  EXPECT_TRUE(durable(one));
  EXPECT_TRUE(durable(other));
  EXPECT_TRUE(survives(one));
  EXPECT_TRUE(survives(other));
}

// OCC draws the number, validates, and only then reserves space.
TEST_F(SiloTest, ADrawnNumberHoldsUpItsEpochUntilItsRecordIsPublished) {
  const Published before = publish(2);
  scheme().parts().early_numbers->draw_number(0, {.max_read = before.sequence, .reads = true});
  for (int i = 0; i < 3; ++i) {
    end_epoch();
    flush_all();
  }
  EXPECT_FALSE(durable(before));
  EXPECT_FALSE(survives(before));
  const Published drawn = publish(0);
  EXPECT_EQ(drawn.sequence, before.sequence + 1);
  flush_all();
  EXPECT_TRUE(durable(before));
  EXPECT_TRUE(durable(drawn));
  EXPECT_TRUE(survives(drawn));
}

TEST_F(SiloTest, AnAbortedTransactionLeavesNoBytesInTheLog) {
  EXPECT_EQ(options_.scheme->traits.number_drawn, NumberDrawn::kBeforeWithoutHole)
      << "or OCC reserves before it validates";
  const Published before = publish(2);
  for (int i = 0; i < 100; ++i) {
    scheme().parts().early_numbers->draw_number(2, {});
    scheme().parts().early_numbers->abandon(2);
  }
  const Published later = publish(2);
  EXPECT_EQ(later.position, before.position + before.bytes);
  end_epoch();
  flush_all();
  EXPECT_TRUE(durable(later)) << "an abandoned number holds up no epoch";
}

TEST_F(SiloTest, TheRecordsOfATransactionThatDrewItsNumberShareIt) {
  scheme().parts().early_numbers->draw_number(0, {});
  uint64_t number = 0;
  for (const bool commits : {false, false, true}) {
    const LogReservation record = scheme().reserve(0, {.commits = commits}, 64);
    if (number == 0) number = record.sequence;
    EXPECT_EQ(record.sequence, number);
    fill_record(record, log_->run(), 1);
    end_epoch();
    flush_all();
    EXPECT_FALSE(durable(CommitPoint::in_every_stream(number)));
    scheme().publish(0, record, commits ? RecordRole::kCommit : RecordRole::kPart);
  }
  flush_all();
  EXPECT_TRUE(durable(CommitPoint::in_every_stream(number)));
  EXPECT_GT(publish(0).sequence, number);
}

// The TID is drawn before its epoch ends, and published later. Before the publish, no stream has
// been told to write the epoch's watermark. The flush timeout is 42 days, so stream 1 writes only
// if worker 0's publish tells stream 1 to write.
TEST_F(SiloTest, TheFirstCommitOfAnEpochThatHasEndedTellsTheOtherStream) {
  options_.config.flush_us = uint64_t{1000} * 3600 * 1'000'000;
  open();
  scheme().parts().early_numbers->draw_number(0, {});
  for (int i = 0; i < 4; ++i) scheme().flush(kStreams, false);  // the first step reads the clock
  EXPECT_EQ(epoch_of(publish(0).sequence), 1u);
  for (int i = 0; i < 3; ++i) scheme().flush(1, false);
  EXPECT_GT(scheme().durable_positions()[1], 0u);
}

}  // namespace
}  // namespace logjam
