// P-WAL's baseline: when a group is flushed, and which workers may not insert during the flush.
// Most tests run on one thread, without the daemon.

#include "platform/spin.h"
#include "tests/logging/scripted_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

class LockFlushTest : public ScriptedLog {
 protected:
  static constexpr uint64_t kGroup = 4;

  void open(const std::string& device = "sync") {
    options_ = log_options(*find_scheme("centr-lockflush"), directory_, device, 4);
    options_.config.flush_us = 1'000'000'000;
    options_.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    flags_.set("pwal_ngroup", kGroup);
    ScriptedLog::open();
  }
  Watchdog watchdog_{"a worker waits for a group that nobody flushes"};
};

TEST_F(LockFlushTest, TheLastCommitOfAGroupFlushesTheBuffer) {
  open();
  for (int group = 0; group < 3; ++group) {
    for (uint32_t i = 0; i + 1 < kGroup; ++i) {
      const Published one = publish(i);
      scheme().poll(i);
      EXPECT_FALSE(durable(one));
      EXPECT_EQ(counter("flushes"), group);
    }
    EXPECT_TRUE(durable(publish(0)));
    EXPECT_EQ(counter("flushes"), group + 1);
  }
}

TEST_F(LockFlushTest, RecordsThatDoNotCommitAreFlushedWhenTheBufferIsFull) {
  open();
  const uint64_t records = 2 * options_.config.buffer_bytes / 64;
  for (uint64_t i = 0; i < records; ++i) {
    const LogReservation record = scheme().reserve(0, {.commits = false}, 64);
    fill_record(record, log_->run(), i);
    scheme().publish(0, record, RecordRole::kPart);
    EXPECT_TRUE(i > 3 * kGroup || counter("flushes") == 0);
  }
  EXPECT_GE(counter("flushes"), 1);
}

TEST_F(LockFlushTest, NoWorkerInsertsWhileAGroupIsFlushed) {
  open("sim:20000");
  for (uint32_t i = 0; i + 1 < kGroup; ++i) publish(0);
  std::thread last([&] { publish(0); });
  for (platform::SpinWait wait; counter("flushes") == 0;) wait.once();
  const LogReservation next = scheme().reserve(1, {}, 64);
  EXPECT_TRUE(durable(CommitPoint::in_stream(0, next.position))) << "the group is not durable";
  fill(1, next);
  last.join();
}

TEST_F(LockFlushTest, AWorkerThatWaitsForItsCommitWaitsForItsGroup) {
  for (const bool help : {true, false}) {
    open();
    options_.config.flush_help = help;
    ScriptedLog::open();
    log_->start();
    std::atomic<uint32_t> published{0};
    std::vector<std::thread> waiting;
    for (uint32_t worker = 0; worker + 1 < kGroup; ++worker) {
      waiting.emplace_back([&, worker] {
        const Published one = publish_record(*log_, worker, worker + 1, 64);
        ++published;
        scheme().wait_durable(worker, one.point);
        EXPECT_TRUE(durable(one));
      });
    }
    for (platform::SpinWait wait; published.load() + 1 < kGroup;) wait.once();
    EXPECT_EQ(counter("flushes"), 0);
    publish_record(*log_, kGroup - 1, kGroup, 64);
    for (std::thread& thread : waiting) thread.join();
    EXPECT_EQ(counter("flushes"), 1);
    log_.reset();
  }
}

}  // namespace
}  // namespace logjam
