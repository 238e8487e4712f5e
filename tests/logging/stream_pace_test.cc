// The gap between writes that a pace asks for (Stream::set_pace).
#include "logging/stream/stream.h"
#include "platform/clock.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr double kCostUs = 30;  // of a write, to the thread that makes it

class StreamPaceTest : public testing::Test, public StreamOwner, public Durability {
 protected:
  uint64_t filled(uint32_t) override { return filled_; }
  uint64_t filled_to_write(uint32_t, uint64_t filled) override {
    const uint64_t end = platform::ticks() + platform::ns_to_ticks(kCostUs * 1e3);
    while (platform::ticks() < end) {
    }
    return filled;
  }
  bool is_durable(const CommitPoint&) const override { return true; }

  uint64_t filled_ = 0;
};

TEST_F(StreamPaceTest, TheTimeOfTheDeviceCounts) {
  const LogDirectory directory;
  const auto device = open_device("sim:20000", {directory.file(), 0, 1});
  LogConfig config;
  config.workers = 1;
  config.devices = {device.get()};
  DurabilityWaiters waiters(1, *this);
  Stream stream(config, 0, waiters, *this);
  stream.set_pace(1);
  const auto gaps_us = [&](uint64_t writes) {
    while (filled_ < 64 * writes) {
      filled_ += 64;
      stream.published(true);
      while (stream.durable() < filled_) stream.flush(Flush::kNow);
    }
    return stream.counters().value("gap_us_mean") * static_cast<double>(writes);
  };
  const double first = gaps_us(1);
  EXPECT_GE(first, kCostUs);
  EXPECT_NEAR(gaps_us(3), first, 0.1) << "a write of 20 ms leaves no gap of 30 us";
}

}  // namespace
}  // namespace logjam
