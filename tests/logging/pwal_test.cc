// What is P-WAL's own: who flushes when, the two rules, the cut of each, whom an idle or a stopped
// worker holds up. Mostly scripts on one thread, without flushers: flush() is called by hand.
#include <atomic>
#include <chrono>
#include <thread>

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
    options_.config.pwal_unsafe = unsafe;
    options_.config.pwal_group = 4;
    options_.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    ScriptedLog::open();
  }
  Published read_from(uint32_t worker, const Published& other) {
    return publish(worker, {.max_read = other.sequence, .reads = true});
  }
};

TEST_F(PwalTest, NumbersAreDrawnFromOneCounter) {
  open(false);
  for (uint64_t i = 1; i <= 9; ++i) EXPECT_EQ(publish(i % 3).sequence, i);
}

TEST_F(PwalTest, AWorkerFlushesItsOwnFileEverySoManyCommits) {
  open(true);
  Published last{};
  for (int i = 0; i < 3; ++i) {
    last = publish(1);
    scheme().tick(1);
  }
  EXPECT_EQ(counter("flushes"), 0);
  EXPECT_FALSE(durable(last));
  publish(0);
  last = publish(1);
  scheme().tick(1);
  EXPECT_EQ(counter("flushes"), 1);
  EXPECT_TRUE(durable(last));
}

TEST_F(PwalTest, SafeMeansThatEveryFileIsPastIt) {
  open(false);
  EXPECT_EQ(scheme().traits().unsafe, "");
  for (uint32_t late = 0; late < kWorkers; ++late) {
    const uint32_t other = (late + 1) % kWorkers;
    const Published first = publish(late);
    const Published reader = read_from(other, first);
    flush(other);
    flush((late + 2) % kWorkers);
    EXPECT_FALSE(durable(reader)) << "what it has read is in no file yet";
    EXPECT_FALSE(survives(reader)) << cut().why;
    flush(late);
    EXPECT_TRUE(durable(reader) && durable(first));
    EXPECT_TRUE(survives(reader) && survives(first)) << cut().why;
  }
}

// Who has read waits likewise, though it wrote nothing.
TEST_F(PwalTest, SafeHoldsForReadersToo) {
  open(false);
  const Published first = publish(0);
  const Point read = scheme().observe(1, {.max_read = first.sequence, .reads = true});
  flush(1);
  flush(2);
  EXPECT_FALSE(scheme().is_durable(read));
  flush(0);
  EXPECT_TRUE(scheme().is_durable(read));
}

TEST_F(PwalTest, ThePapersRuleDoesNotAskAndSaysSo) {
  open(true);
  const Published first = publish(0);
  const Published reader = read_from(1, first);
  flush(1);
  EXPECT_TRUE(durable(reader));
  EXPECT_FALSE(durable(first));
  EXPECT_TRUE(survives(reader));
  EXPECT_FALSE(survives(first));
  EXPECT_EQ(counter("marks"), 0);
  EXPECT_EQ(scheme().traits().unsafe, "--pwal_ack=unsafe");
}

// R5: a mark for each batch in each idle file, and their workers go on above it.
TEST_F(PwalTest, IdleWorkersFilesAreMarked) {
  open(false);
  Published last{};
  for (int i = 0; i < 10; ++i) last = publish(0, kReads);
  flush(0);
  EXPECT_FALSE(durable(last));
  flush_all();
  EXPECT_TRUE(durable(last));
  EXPECT_EQ(counter("marks"), 2);
  EXPECT_EQ(cut().sequence, last.sequence);
  flush_all();
  EXPECT_EQ(counter("marks"), 2) << "nothing is new";
  const Published next = publish(2, kReads);
  EXPECT_EQ(next.sequence, last.sequence + 1);
  flush_all();
  EXPECT_TRUE(durable(next) && survives(next));
}

TEST_F(PwalTest, AnOpenTicketHoldsUpWhatIsNumberedBehindItsFilesLastRecord) {
  open(false);
  const Published before = publish(0, kReads);
  flush_all();
  const Ticket ticket = scheme().reserve(2, {}, 64);
  const Published behind = publish(0, kReads);
  flush_all();
  EXPECT_TRUE(durable(before) && survives(before));
  EXPECT_FALSE(durable(behind));
  EXPECT_LT(cut().sequence, ticket.sequence);
  const Point point = fill(2, ticket);
  flush_all();
  EXPECT_TRUE(durable(behind) && survives(behind));
  EXPECT_TRUE(scheme().is_durable(point));
}

// The same with threads: others reserve, fill and flush, and all that waits goes on afterwards.
TEST_F(PwalTest, AWorkerStoppedWithATicketStallsAcknowledgementsAndNothingElse) {
  const Watchdog watchdog("a wake-up was lost when a stopped worker went on");
  for (const bool help : {true, false}) {
    LogDirectory directory;
    options_ = log_options_of_many(*find_scheme("pwal"), directory, "sync", kWorkers, 2);
    options_.config.flush_help = help;
    options_.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    log_ = std::make_unique<Log>(options_);
    log_->start();
    const Ticket ticket = scheme().reserve(2, {}, 64);
    std::atomic<uint64_t> published{0}, too_early{0};
    std::atomic<bool> released{false};
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < 2; ++worker) {
      threads.emplace_back([&, worker] {
        Published last{};
        for (uint64_t i = 0; i < 200; ++i) {
          last = publish_record(*log_, worker, uint64_t{worker + 1} << 48 | i, 64, kReads);
          scheme().tick(worker);
          ++published;
        }
        if (durable(last) && !released.load()) ++too_early;
        scheme().wait_durable(worker, last.point);
      });
    }
    while (published.load() < 400) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    released.store(true);
    const Point point = fill(2, ticket);
    for (std::thread& thread : threads) thread.join();
    scheme().wait_durable(2, point);
    EXPECT_EQ(too_early.load(), 0u);
    log_.reset();
  }
}

}  // namespace
}  // namespace logjam
