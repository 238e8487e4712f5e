// P-WAL: when a worker flushes its file, the safe and the unsafe rule of acknowledgement, the cut
// under each rule, and the files of idle workers.

#include "tests/logging/scripted_log.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr Dependencies kReads{.max_read = 0, .max_overwritten = 0, .reads = true};

class PwalTest : public ScriptedLog {
 protected:
  void open(bool unsafe) {
    options_ = log_options_of_many(*find_scheme("pwal"), directory_, "sync", kWorkers, 2);
    flags_.set("ack", unsafe ? "unsafe" : "safe");
    flags_.set("pwal_ngroup", 4);
    options_.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    ScriptedLog::open();
  }
  Published read_from(uint32_t worker, const Published& other) {
    return publish(worker, {.max_read = other.sequence, .reads = true});
  }
};

// Tests Algorithm 2, line 4: a worker flushes in the log insert or, without locks, in poll().
TEST_F(PwalTest, AWorkerFlushesItsFileAfterEachGroupOfCommits) {
  for (const bool locked : {true, false}) {
    flags_.set("test", locked ? "" : "pwal_unlocked_flush:1");
    open(true);
    Published last{};
    for (int i = 0; i < 3; ++i) {
      last = publish(1);
      scheme().poll(1);
    }
    EXPECT_EQ(counter("flushes"), 0);
    EXPECT_FALSE(durable(last));
    publish(0);
    last = publish(1);
    EXPECT_EQ(durable(last), locked);
    scheme().poll(1);
    EXPECT_EQ(counter("flushes"), 1);
    EXPECT_TRUE(durable(last));
  }
}

// With --commit=sync, a worker that waits has only one commit in its file. So a larger group never
// fills, and the worker must flush after a time.
TEST_F(PwalTest, AGivenGroupIsKeptByAWorkerThatWaits) {
  const Watchdog watchdog("a worker waits for a group that cannot fill");
  constexpr uint64_t kNever = 1'000'000'000, kDelayUs = 50'000;
  const auto wait_ns = [&](uint64_t group, uint64_t flush_us) {
    open(true);
    flags_.set("pwal_ngroup", group);
    options_.config.flush_us = flush_us;
    ScriptedLog::open();
    log_->start();
    const auto begun = std::chrono::steady_clock::now();
    scheme().wait_durable(1, publish(1).point);
    const auto waited = std::chrono::steady_clock::now() - begun;
    log_.reset();
    return static_cast<uint64_t>(waited / std::chrono::nanoseconds(1));
  };
  EXPECT_GE(wait_ns(4, kDelayUs), kDelayUs * 1000) << "the worker flushed alone";
  EXPECT_GE(wait_ns(4, 0), 1'000'000) << "a group that does not fill waits for 1 ms";
  wait_ns(1, kNever);  // must return
  wait_ns(0, kNever);
}

TEST_F(PwalTest, ASafeAcknowledgementWaitsForEveryFile) {
  open(false);
  EXPECT_EQ(options_.scheme->unsafe(), "");
  for (uint32_t late = 0; late < kWorkers; ++late) {
    const uint32_t other = (late + 1) % kWorkers;
    const Published first = publish(late);
    const Published reader = read_from(other, first);
    flush(other);
    flush((late + 2) % kWorkers);
    EXPECT_FALSE(durable(reader)) << "the record that it has read from is not flushed";
    EXPECT_FALSE(survives(reader)) << cut().why;
    flush(late);
    EXPECT_TRUE(durable(reader) && durable(first));
    EXPECT_TRUE(survives(reader) && survives(first)) << cut().why;
  }
}

TEST_F(PwalTest, ThePapersRuleIgnoresDependenciesAndIsLabelledUnsafe) {
  open(true);
  const Published first = publish(0);
  const Published reader = read_from(1, first);
  flush(1);
  EXPECT_TRUE(durable(reader));
  EXPECT_FALSE(durable(first));
  EXPECT_TRUE(survives(reader));
  EXPECT_FALSE(survives(first));
  EXPECT_EQ(counter("watermark_records"), 0);
  EXPECT_EQ(options_.scheme->unsafe(), "--ack=unsafe");
}

// R5: for each batch of commits, each idle file gets one watermark record. Later numbers of the
// file's worker must exceed this watermark.
TEST_F(PwalTest, FilesOfIdleWorkersGetWatermarks) {
  open(false);
  Published last{};
  for (int i = 0; i < 10; ++i) last = publish(0, kReads);
  flush(0);
  EXPECT_FALSE(durable(last));
  flush_all();
  EXPECT_TRUE(durable(last));
  EXPECT_EQ(counter("watermark_records"), 2);
  EXPECT_EQ(cut().sequence, last.sequence);
  flush_all();
  EXPECT_EQ(counter("watermark_records"), 2) << "a watermark was written for no new number";
  const Published next = publish(2, kReads);
  EXPECT_EQ(next.sequence, last.sequence + 1);
  flush_all();
  EXPECT_TRUE(durable(next) && survives(next));
}

}  // namespace
}  // namespace logjam
