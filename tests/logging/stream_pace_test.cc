// The least gap between writes, which a pace sets, and the rounds in which streams write
// (logging/stream/flush_gap.h).
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "logging/stream/stream.h"
#include "platform/clock.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr double kCostUs = 30;       // time that a write costs its thread
constexpr uint32_t kFewWriters = 8;  // fewer workers have a slower pace

class StreamPaceTest : public testing::Test, public StreamOwner, public Durability {
 protected:
  uint64_t filled(uint32_t) override { return filled_; }
  uint64_t filled_to_write(uint32_t, uint64_t filled) override {
    begun_ = platform::ticks();
    const uint64_t end = begun_ + platform::ns_to_ticks(kCostUs * 1e3);
    while (platform::ticks() < end) {
    }
    return filled;
  }
  bool is_durable(const CommitPoint&) const override { return true; }

  // Makes a stream over a simulated device whose writes take `device_us`.
  Stream& make(const std::string& device_us, const std::shared_ptr<FlushPacer>& pacer) {
    devices_.push_back(open_device("sim:" + device_us, {directories_.emplace_back().file(), 0, 1}));
    LogConfig config;
    config.workers = kFewWriters;
    config.pacer = pacer;
    config.devices = {devices_.back().get()};
    return streams_.emplace_back(config, 0, waiters_, *this);
  }
  // Fills 64 bytes, and flushes until they are durable.
  void write_now(Stream& stream) {
    filled_ += 64;
    stream.on_publish(true);
    while (stream.durable() < filled_) stream.flush(Flush::kNow);
  }
  // Fills 64 bytes, and polls until the stream has written them. Returns the time from the begin of
  // the previous write to the begin of this write.
  double us_until_write(Stream& stream) {
    const uint64_t before = begun_;
    filled_ += 64;
    stream.on_publish(true);
    while (stream.durable() < filled_) stream.poll();
    return platform::ticks_to_ns(begun_ - before) / 1e3;
  }

  uint64_t filled_ = 0;
  uint64_t begun_ = 0;  // when the last write began
  const std::shared_ptr<FlushPacer> pacer_ = std::make_shared<FlushPacer>(1, true);
  DurabilityWaiters waiters_{1, *this};
  std::deque<LogDirectory> directories_;
  std::deque<std::unique_ptr<Device>> devices_;
  std::deque<Stream> streams_;
};

TEST_F(StreamPaceTest, TheTimeOfTheDeviceCounts) {
  const Watchdog watchdog("writes of 2 ms leave a gap of 30 us");
  Stream& stream = make("2000", pacer_);
  double writes = 0, gaps_us = 0;
  const auto next_gap_us = [&] {
    write_now(stream);
    const double before =
        std::exchange(gaps_us, stream.counters().value("gap_us_mean") * (writes + 1));
    ++writes;
    return gaps_us - before;
  };
  EXPECT_GE(next_gap_us(), kCostUs);
  // A thread that loses the processor in a write lengthens the next gap. So the test repeats.
  while (next_gap_us() > 0.1) continue;
}

TEST_F(StreamPaceTest, TheStreamThatWritesFirstBeginsARound) {
  Stream& one = make("1", pacer_);
  Stream& other = make("1", pacer_);
  // Writes. Returns whether this write begins a round.
  const auto begins = [&](Stream& stream) {
    const uint64_t round = pacer_->round(), before = platform::ticks();
    write_now(stream);
    EXPECT_TRUE(pacer_->round() == round || pacer_->round() >= before);
    return pacer_->round() != round;
  };
  EXPECT_TRUE(begins(one));
  EXPECT_FALSE(begins(other)) << "it has not written since the round began";
  EXPECT_TRUE(begins(other));
  EXPECT_FALSE(begins(one));
  EXPECT_TRUE(begins(one));
  EXPECT_TRUE(begins(one));
  EXPECT_FALSE(begins(other));
}

// Other programs may lengthen the time between two writes, but never shorten it. So the shortest of
// many times shows the gap. The pace is so slow that its gap is longer than any device's write.
TEST_F(StreamPaceTest, HalfOfTheGapIsEnoughForAStreamThatJoinsARound) {
  const Watchdog watchdog("a stream that joins a round waits for the whole gap");
  constexpr int kWrites = 100;
  constexpr double kMostGapUs = 200;  // FlushGap::at_least()
  const auto slow = std::make_shared<FlushPacer>(10'000'000, true);
  Stream& stream = make("1", slow);
  // Writes kWrites times, and then until a time is less than `below_us`. Returns the shortest time.
  const auto shortest_us = [&](double below_us) {
    write_now(stream);
    double shortest = us_until_write(stream);
    for (int i = 1; i < kWrites || shortest >= below_us; ++i) {
      shortest = std::min(shortest, us_until_write(stream));
    }
    return shortest;
  };
  EXPECT_GE(shortest_us(1e9), kMostGapUs);
  slow->note_write(~uint64_t{0}, slow->round());  // makes every round a new one
  EXPECT_GE(shortest_us(kMostGapUs), kMostGapUs / 2);
}

TEST(FlushPacer, FewWritersHaveASlowerPaceAndWithoutRoundsNoStreamJoins) {
  FlushPacer alone(3, false);
  EXPECT_EQ(alone.least_gap(100, 0, 64), 300);
  EXPECT_EQ(alone.least_gap(100, 250, 8), 50);
  EXPECT_EQ(alone.least_gap(100, 1000, 8), 0) << "the device's time counts";
  EXPECT_EQ(alone.least_gap(100, 0, 2), 1200);
  alone.note_write(7, 0);
  EXPECT_FALSE(alone.joins_round(1));
}

}  // namespace
}  // namespace logjam
