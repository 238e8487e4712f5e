// Several writes under way on one stream, and the gap between writes. The device is mocked: the
// test decides when a write finishes. No flusher thread runs.

#include "logging/stream/stream.h"
#include "tests/logging/held_device.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint64_t kBlock = 512, kUnit = 4096;
constexpr uint64_t kHourUs = uint64_t{3600} * 1'000'000;

class DepthTest : public testing::Test, public StreamOwner, public Durability {
 public:
  uint64_t filled(uint32_t) override { return filled_.load(); }
  bool is_durable(const CommitPoint& point) const override { return point.sequence <= durable(); }

 protected:
  void open(uint32_t depth) {
    stream_.reset();
    device_ = std::make_unique<HeldDevice>(depth);
    LogConfig config = config_;
    config.workers = 2;
    config.buffer_bytes = uint64_t{1} << 20;
    config.devices = {device_.get()};
    filled_.store(0);
    config.io_bytes = kUnit;
    stream_ = std::make_unique<Stream>(config, 0, waiters_, *this);
  }
  void publish(uint64_t end) {
    filled_.store(end);
    stream_->on_publish(true);
  }
  void step() {
    // poll() asks the device again only if this time has passed since it last asked.
    std::this_thread::sleep_for(std::chrono::microseconds(3));
    stream_->poll();
  }
  uint32_t under_way() const {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < device_->depth(); ++slot) {
      count += device_->under_way(slot) != 0 ? 1 : 0;
    }
    return count;
  }
  uint32_t slot_of(uint64_t position) const {
    for (uint32_t slot = 0; slot < device_->depth(); ++slot) {
      const bool begins_there = device_->offset(slot) == kLogHeaderBytes + position;
      if (begins_there && device_->under_way(slot) != 0) return slot;
    }
    ADD_FAILURE() << "no write begins at " << position;
    return 0;
  }
  void complete(uint64_t position) {
    device_->complete(slot_of(position));
    step();
  }
  void complete_all() {
    device_->complete_all();
    std::this_thread::yield();
  }
  uint64_t durable() const { return stream_->durable(); }

  LogConfig config_;
  std::unique_ptr<HeldDevice> device_;
  std::atomic<uint64_t> filled_{0};
  DurabilityWaiters waiters_{2, *this};
  std::unique_ptr<Stream> stream_;
};

TEST_F(DepthTest, SdlIsTheEndOfTheLongestFinishedPrefix) {
  open(4);
  publish(6 * kUnit);
  step();
  EXPECT_EQ(under_way(), 4u);
  complete(kUnit);
  EXPECT_EQ(durable(), 0u);
  EXPECT_EQ(under_way(), 4u) << "the slot that became free takes the next write";
  complete(3 * kUnit);
  complete(2 * kUnit);
  EXPECT_EQ(durable(), 0u);
  complete(0);
  EXPECT_EQ(durable(), 4 * kUnit);
  complete(5 * kUnit);
  EXPECT_EQ(durable(), 4 * kUnit);
  EXPECT_FALSE(stream_->idle());
  complete(4 * kUnit);
  EXPECT_EQ(durable(), 6 * kUnit);
  EXPECT_TRUE(stream_->idle());
}

// The mock device fails the test if two writes under way overlap.
TEST_F(DepthTest, AWriteThatEndsInsideABlockIsWaitedFor) {
  open(4);
  publish(100);
  step();
  publish(3 * kUnit);
  step();
  EXPECT_EQ(under_way(), 1u);
  complete(0);
  EXPECT_EQ(durable(), 100u);
  EXPECT_EQ(under_way(), 3u);
}

// If a write ends at a block's end, the next write need not wait for it.
TEST_F(DepthTest, AWriteOfMuchEndsAtABlock) {
  for (const uint32_t depth : {1, 8}) {
    open(depth);
    publish(4 * kUnit + 100);
    for (uint64_t at = 0; at < 4 * kUnit; at += kUnit) {
      step();
      complete(at);
    }
    EXPECT_EQ(durable(), 4 * kUnit);
    EXPECT_EQ(device_->under_way(slot_of(4 * kUnit)), kBlock) << "what is left is not much";
  }
  open(8);
  publish(4 * kUnit + 100);
  step();
  EXPECT_EQ(under_way(), 4u);
  step();
  EXPECT_EQ(under_way(), 5u) << "the last block is started by itself";
  publish(5 * kUnit);
  step();
  EXPECT_EQ(under_way(), 5u);
}

// After every step, all bytes before durable() must be on the platter. A step checks only bytes
// that are new since the previous step; the end of the test checks all bytes.
TEST_F(DepthTest, WhatIsDurableIsOnThePlatterInWhateverOrderWritesFinish) {
  for (const uint32_t depth : {2, 4, 64}) {
    open(depth);
    std::mt19937_64 random(depth);
    std::vector<std::byte> written;
    uint64_t most_under_way = 0, seen = 0;
    const auto on_platter = [&](uint64_t from) {
      const uint64_t end = durable();
      return kLogHeaderBytes + end <= std::max(device_->platter.size(), kLogHeaderBytes) &&
             std::equal(written.begin() + static_cast<ptrdiff_t>(from),
                        written.begin() + static_cast<ptrdiff_t>(end),
                        device_->platter.begin() + static_cast<ptrdiff_t>(kLogHeaderBytes + from));
    };
    while (written.size() < (uint64_t{3} << 20)) {
      const uint64_t bytes = 8 * (1 + random() % (random() % 4 == 0 ? 4000 : 20));
      if (stream_->ring().fits(written.size() + bytes)) {
        for (uint64_t i = 0; i < bytes; ++i) {
          const auto byte = static_cast<std::byte>(random());
          *stream_->at(written.size(), 1) = byte;
          written.push_back(byte);
        }
        publish(written.size());
      }
      stream_->poll(Flush::kNow);
      most_under_way = std::max<uint64_t>(most_under_way, under_way());
      for (uint64_t i = random() % 3; i > 0; --i) {
        const auto slot = static_cast<uint32_t>(random() % depth);
        if (device_->under_way(slot) != 0) device_->complete(slot);
      }
      ASSERT_TRUE(on_platter(seen)) << "depth " << depth << ", durable up to " << durable();
      seen = stream_->ring().block_down(durable());
    }
    EXPECT_TRUE(on_platter(0)) << "a later write has changed bytes of an earlier one";
    EXPECT_GE(most_under_way, std::min(depth, 8u));
  }
}

TEST_F(DepthTest, BusyWorkersStartNoWriteBeforeTheGapHasPassed) {
  config_.flush_gap_us = kHourUs;
  open(4);
  publish(kUnit);
  step();
  EXPECT_EQ(under_way(), 1u) << "the first write does not wait";
  publish(2 * kUnit);
  step();
  EXPECT_EQ(under_way(), 1u);
  stream_->rely_on_daemon(true);
  step();
  EXPECT_EQ(under_way(), 2u) << "a worker sleeps until it is durable";
  stream_->rely_on_daemon(false);
  publish(3 * kUnit);
  step();
  EXPECT_EQ(under_way(), 2u);
  complete_all();
  std::thread waiter([this] { stream_->wait(0, CommitPoint::in_stream(0, 3 * kUnit)); });
  const Watchdog watchdog("a worker waits for its commit, and for the gap as well");
  while (durable() < 3 * kUnit) complete_all();
  waiter.join();
}

TEST_F(DepthTest, AFullRingDoesNotWaitForTheGap) {
  config_.flush_gap_us = kHourUs;
  open(4);
  publish(kUnit);
  step();
  complete(0);
  publish(stream_->ring().capacity());
  const Watchdog watchdog("a publisher waits for space, and for the gap as well");
  std::thread publisher(
      [this] { stream_->wait_for_space(stream_->ring().capacity() + 2 * kUnit); });
  while (durable() < 3 * kUnit) {
    complete_all();
    step();
  }
  publisher.join();
}

TEST_F(DepthTest, AWorkerThatReliesOnTheDaemonEndsItsWaitForTheGap) {
  config_.flush_gap_us = kHourUs;
  config_.preemptible_workers = true;
  config_.nap_ns = kHourUs * 1000;
  open(4);
  std::atomic<bool> stop{false};
  std::thread daemon([&] {
    while (!stop.load()) stream_->flush(Flush::kByPolicy);
  });
  const Watchdog watchdog("the daemon waits for the gap though a worker relies on it");
  const auto completed = [&](uint64_t end) {
    while (durable() < end) complete_all();
  };
  publish(kUnit);
  completed(kUnit);
  publish(2 * kUnit);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // usually, the daemon sleeps now
  EXPECT_EQ(under_way(), 0u);
  stream_->rely_on_daemon(true);
  completed(2 * kUnit);
  stop.store(true);
  daemon.join();
  stream_->rely_on_daemon(false);
}

// During the gap, more bytes are filled than one write can hold. Then a worker ends the gap.
TEST_F(DepthTest, AFlushAfterTheGapHasAllThatIsFilledThen) {
  config_.flush_gap_us = kHourUs;
  open(4);
  publish(kUnit);
  step();
  publish(3 * kUnit);
  complete(0);
  EXPECT_EQ(under_way(), 0u) << "the gap is not over";
  publish(4 * kUnit);
  stream_->rely_on_daemon(true);
  step();
  stream_->rely_on_daemon(false);
  complete_all();
  step();
  EXPECT_EQ(durable(), 4 * kUnit);
}

TEST_F(DepthTest, WhereLogThreadsPreemptWorkersOnlyTheDaemonWrites) {
  config_.preemptible_workers = true;
  open(4);
  publish(kUnit);
  step();
  EXPECT_EQ(under_way(), 0u);
  stream_->flush(Flush::kByPolicy);
  EXPECT_EQ(under_way(), 1u);
  device_->complete(0);
  stream_->flush(Flush::kByPolicy);
  EXPECT_EQ(durable(), kUnit);
}

// With preemptible workers, the daemon sleeps during a write if no other write may start before the
// end of this write.
class OneAtATime : public DepthTest {
 protected:
  static constexpr uint64_t kGapUs = 20'000;

  void open_with_gap(uint64_t gap_us) {
    config_.preemptible_workers = true;
    config_.flush_gap_us = gap_us;
    open(4);
    device_->on_wait = [this] {
      std::this_thread::sleep_for(std::chrono::microseconds(write_us_));
      complete_all();
    };
  }
  // Returns whether the daemon sleeps in the next write.
  bool sleeps_in() {
    const uint32_t before = device_->slept_in;
    publish(filled_.load() + kUnit);
    while (durable() < filled_.load()) stream_->flush(Flush::kByPolicy);
    return device_->slept_in != before;
  }

  uint64_t write_us_ = 0;
};

// A short write may take longer than the gap if its thread loses the processor. So the test repeats
// writes until one write ends within the gap and the daemon sleeps in the write that follows.
TEST_F(OneAtATime, TheDaemonSleepsInAWriteThatEndsInTheGap) {
  const Watchdog watchdog("the daemon does not sleep in a write though the one before was short");
  open_with_gap(kGapUs);
  EXPECT_TRUE(sleeps_in()) << "no write was long";
  while (!sleeps_in()) continue;
  open_with_gap(kGapUs);
  write_us_ = kGapUs * 3 / 2;
  EXPECT_TRUE(sleeps_in()) << "only afterwards is it known to be long";
  EXPECT_FALSE(sleeps_in());
  write_us_ = 0;
  EXPECT_FALSE(sleeps_in());
  while (!sleeps_in()) continue;
}

TEST_F(OneAtATime, WithoutAGapTheDaemonIsFreeForTheNextWrite) {
  open_with_gap(0);
  EXPECT_FALSE(sleeps_in());
}

TEST_F(OneAtATime, ADaemonThatAWorkerReliesOnIsFreeForTheNextWrite) {
  const Watchdog watchdog("the daemon does not sleep in a write though no worker relies on it");
  open_with_gap(kGapUs);
  stream_->rely_on_daemon(true);
  EXPECT_FALSE(sleeps_in());
  stream_->rely_on_daemon(false);
  while (!sleeps_in()) continue;
}

}  // namespace
}  // namespace logjam
