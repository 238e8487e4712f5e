// P-WAL: when a worker flushes its file, the safe and the unsafe rule of acknowledgement, the cut
// of each, and which transactions an idle or a stopped worker holds up. Most tests run on one
// thread, without flushers, and call flush(), so the test decides the interleaving.
#include <atomic>
#include <chrono>
#include <thread>

#include "platform/spin.h"
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

// Algorithm 2, line 4: in the log insert; or when the worker polls, after it released its locks.
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

// --commit=sync: a worker that waits has one commit in its file.
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
  wait_ns(1, kNever);  // returns
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

// R5: each idle file gets one watermark record for each batch of commits. Its worker later draws
// numbers above that watermark.
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

TEST_F(PwalTest, AnOpenReservationHoldsUpNumbersAboveItsFilesLastRecord) {
  open(false);
  const Published before = publish(0, kReads);
  flush_all();
  const LogReservation reservation = scheme().reserve(2, {}, 64);
  const Published later = publish(0, kReads);
  flush_all();
  EXPECT_TRUE(durable(before) && survives(before));
  EXPECT_FALSE(durable(later));
  EXPECT_LT(cut().sequence, reservation.sequence);
  const CommitPoint point = fill(2, reservation);
  flush_all();
  EXPECT_TRUE(durable(later) && survives(later));
  EXPECT_TRUE(scheme().is_durable(point));
}

// The same with threads: the other workers go on to reserve, fill and flush, and their commits are
// acknowledged after the stopped worker publishes.
TEST_F(PwalTest, AWorkerStoppedWithAReservationStallsOnlyAcknowledgements) {
  const Watchdog watchdog("a wake-up was lost when a stopped worker went on");
  for (const bool help : {true, false}) {
    LogDirectory directory;
    options_ = log_options_of_many(*find_scheme("pwal"), directory, "sync", kWorkers, 2);
    options_.config.flush_help = help;
    options_.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    log_ = std::make_unique<Log>(options_);
    log_->start();
    const LogReservation reservation = scheme().reserve(2, {}, 64);
    std::atomic<uint64_t> published{0}, too_early{0};
    std::atomic<bool> released{false};
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < 2; ++worker) {
      threads.emplace_back([&, worker] {
        Published last{};
        for (uint64_t i = 0; i < 200; ++i) {
          last = publish_record(*log_, worker, uint64_t{worker + 1} << 48 | i, 64, kReads);
          scheme().poll(worker);
          ++published;
        }
        if (durable(last) && !released.load()) ++too_early;
        scheme().wait_durable(worker, last.point);
      });
    }
    for (platform::SpinWait wait; published.load() < 400;) wait.once();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    released.store(true);
    const CommitPoint point = fill(2, reservation);
    for (std::thread& thread : threads) thread.join();
    scheme().wait_durable(2, point);
    EXPECT_EQ(too_early.load(), 0u);
    log_.reset();
  }
}

}  // namespace
}  // namespace logjam
