// A stream without a scheme or a flusher thread. The test sets the position up to which the ring is
// filled. The safety time-out is an hour, so a lost wake-up hangs the test.
#include "logging/stream/stream.h"

#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "platform/clock.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint64_t kHourNs = uint64_t{3600} * 1'000'000'000;
constexpr uint32_t kWorkers = 6;

class StreamTest : public testing::Test, public StreamOwner, public Durability {
 public:
  StreamTest() {
    config_.workers = kWorkers;
    config_.buffer_bytes = 65536;
    config_.safety_timeout_ns = kHourNs;
  }

  uint64_t filled(uint32_t) override {
    const uint64_t seen = filled_.load();
    ++looks_;
    if (on_look_) on_look_();
    return seen;
  }
  uint64_t filled_to_write(uint32_t, uint64_t filled) override {
    return hole_.load() ? durable() : filled;
  }
  bool is_durable(const CommitPoint& point) const override {
    if (on_question_) on_question_();
    const bool is_durable = point.sequence <= durable();
    ++questions_;
    return is_durable;
  }

 protected:
  void open(const std::string& device, uint64_t io_bytes = 4 << 20) {
    stream_.reset();
    device_.reset();  // close the device before its file is opened again
    device_ = open_device(device, {directory_.file(), 0, 1});
    config_.devices = {device_.get()};
    config_.io_bytes = io_bytes;
    filled_.store(0);
    stream_ = std::make_unique<Stream>(config_, 0, waiters_, *this);
  }

  // Sets the position up to which records are filled without a hole, and tells the stream.
  void publish(uint64_t end, bool commits = true) {
    filled_.store(end);
    stream_->on_publish(commits);
  }
  uint64_t durable() const { return stream_->durable(); }
  static CommitPoint point(uint64_t end) { return CommitPoint::in_stream(0, end); }
  double handed_over() const { return stream_->counters().value("lead_handovers"); }

  // Returns a thread that never leads, and sleeps until the stream is durable up to `end`. The
  // thread has seen that the stream is not durable, so only a wake-up can end its sleep.
  std::thread sleeper(uint64_t end) {
    const uint64_t before = questions_.load();
    std::thread thread([this, end] { waiters_.park(1, point(end), kHourNs); });
    while (questions_.load() == before) std::this_thread::yield();
    return thread;
  }

  LogDirectory directory_;
  LogConfig config_;
  std::unique_ptr<Device> device_;
  std::atomic<uint64_t> filled_{0};
  std::atomic<bool> hole_{false};               // an open record holds the next write up
  std::atomic<uint64_t> looks_{0};              // number of calls of filled()
  std::function<void()> on_look_;               // called in each call of filled()
  mutable std::atomic<uint64_t> questions_{0};  // number of calls of is_durable()
  std::function<void()> on_question_;           // called in each call of is_durable()
  DurabilityWaiters waiters_{kWorkers, *this};
  std::unique_ptr<Stream> stream_;
};

TEST_F(StreamTest, WorkersThatWaitForAHoleSleepUntilItsPublisherWakesOneToLead) {
  for (const char* device : {"sync", "sim:20", "null"}) {
    SCOPED_TRACE(device);
    const Watchdog watchdog("no worker that waited for a hole was woken when the hole was filled");
    open(device);
    std::vector<std::thread> asleep;
    for (uint32_t worker = 1; worker < kWorkers; ++worker) {
      asleep.emplace_back([&, worker] {
        stream_->on_publish(true);
        stream_->wait(worker, point(64 * (worker + 1)));
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(handed_over(), 0);
    publish(64 * kWorkers);
    for (std::thread& thread : asleep) thread.join();
    EXPECT_LE(handed_over(), 2);
    EXPECT_EQ(durable(), 64 * kWorkers);
  }
}

// Workers fill their holes in any order. Some workers do not wait for their commits.
TEST_F(StreamTest, SynchronousCommitsLoseNoWakeUpWithoutADaemon) {
  config_.buffer_bytes = uint64_t{1} << 20;
  for (const char* device : {"sync", "sim:20", "null"}) {
    SCOPED_TRACE(device);
    const Watchdog watchdog("a worker sleeps though it has been due: a wake-up was lost");
    open(device);
    std::mutex mutex;
    uint64_t end = 0;
    std::set<uint64_t> holes;
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&, worker] {
        for (uint32_t i = 0; i < 150; ++i) {
          mutex.lock();
          const uint64_t begin = end;
          end += 64;
          holes.insert(begin);
          mutex.unlock();
          if (i % 3 == 0) std::this_thread::yield();
          mutex.lock();
          holes.erase(begin);
          filled_.store(holes.empty() ? end : *holes.begin());
          mutex.unlock();
          stream_->on_publish(true);
          if (i % 4 != worker % 4) stream_->wait(worker, point(begin + 64));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// In each round, the hole is filled at another of the worker's calls of is_durable().
TEST_F(StreamTest, AHoleThatIsFilledWhileAWorkerGoesToSleepDoesNotLeaveItAsleep) {
  for (const char* device : {"sync", "null"}) {
    for (uint32_t moment = 1; moment <= 8; ++moment) {
      SCOPED_TRACE(std::string(device) + ", question " + std::to_string(moment));
      const Watchdog watchdog("a worker sleeps though the lead is free and work is pending");
      open(device);
      uint32_t question = 0;
      on_question_ = [&, worker = std::this_thread::get_id()] {
        if (std::this_thread::get_id() == worker && ++question == moment) publish(64);
      };
      std::thread late([&] {  // in case the worker sleeps before this call
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        publish(64);
      });
      stream_->wait(0, point(64));
      late.join();
      on_question_ = nullptr;
      EXPECT_EQ(durable(), 64u);
    }
  }
}

// A look, which is a call of filled(), loads shared cache lines. If several workers write to a
// stream, a poll looks only after it has taken the latch, so only one worker looks. If at most one
// worker writes to the stream, a poll looks first, and takes the latch only if there is work.
TEST_F(StreamTest, WhileOneWorkerPollsTheOthersDoNotLook) {
  for (const uint32_t workers : {kWorkers, 1U, 0U}) {
    SCOPED_TRACE(workers);
    config_.workers = workers;
    open("null");
    publish(64);
    const uint64_t alone = workers > 1 ? 0 : 1;  // looks of a poll before it takes the latch
    const uint64_t before = looks_;
    on_look_ = [&] {
      if (looks_ == before + alone + 1) stream_->poll();  // as another worker would
    };
    stream_->poll();
    on_look_ = nullptr;
    EXPECT_EQ(looks_ - before, alone + 1 + alone);
  }
}

// Under ELEDA, a look crawls over all filled records, and no write can begin during the crawl. So
// threads must not look again while the known records fill the next write.
TEST_F(StreamTest, NoThreadLooksAgainWhileTheNextWriteIsAsLargeAsItMayBe) {
  open("null", 4096);
  publish(3 * 4096);
  const uint64_t before = looks_;
  while (durable() < 3 * 4096) stream_->poll();
  EXPECT_EQ(looks_ - before, 1) << "before the first write";
}

// A worker is woken to lead, but its commit is already durable, because a third worker has polled.
// The commit of the other waiter is not durable yet.
TEST_F(StreamTest, AWorkerThatIsWokenToLeadAndHasNoNeedPassesTheLeadOn) {
  const Watchdog watchdog("a waiter sleeps though the lead is free and work is pending");
  open("null", 64);
  std::atomic<std::thread::id> held{};
  on_question_ = [&] {
    while (held.load() == std::this_thread::get_id()) std::this_thread::yield();
  };
  std::thread first([this] { stream_->wait(0, point(64)); });
  std::thread second([this] { stream_->wait(1, point(128)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // usually, both sleep now
  held.store(first.get_id());
  publish(128);  // usually wakes the first one
  while (durable() < 64) stream_->poll();
  held.store({});
  first.join();
  second.join();
  EXPECT_EQ(durable(), 128u);
}

// Whichever step makes a position durable, that step wakes the worker that waits for the position.
TEST_F(StreamTest, AdvancingWakesASleeper) {
  const auto poll = [this] {
    while (durable() < 64) stream_->poll();
  };
  const auto flush = [this] {
    while (durable() < 64) stream_->flush(Flush::kByPolicy);
  };
  const auto lead = [this] { stream_->wait(0, point(64)); };
  const auto wait_for_space = [this] {
    stream_->poll();  // starts the write
    stream_->wait_for_space(stream_->ring().capacity() + 64);
  };
  const std::pair<const char*, std::function<void()>> ways[] = {
      {"poll", poll}, {"daemon", flush}, {"leader", lead}, {"publisher", wait_for_space}};
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    const Watchdog watchdog("the stream advanced, and a worker that waits for it still sleeps");
    open("null");
    std::thread asleep = sleeper(64);
    publish(name == std::string("publisher") ? stream_->ring().capacity() : 64);
    way();
    asleep.join();
    EXPECT_GE(durable(), 64u);
  }
}

TEST_F(StreamTest, TheDaemonDoesNotNapWhileAWorkerReliesOnIt) {
  for (const char* device : {"sync", "sim:20"}) {
    SCOPED_TRACE(device);
    open(device);
    publish(64);
    stream_->wait(0, point(64));  // the worker leads
    publish(128);
    stream_->flush(Flush::kByPolicy);
    EXPECT_EQ(durable(), 64u) << "it took a turn at once";
    publish(192);
    stream_->wait(0, point(192));
    publish(256);
    stream_->rely_on_daemon(true);
    stream_->flush(Flush::kByPolicy);
    if (device != std::string("sync"))
      stream_->flush(Flush::kByPolicy);  // the first call has only started the write
    EXPECT_EQ(durable(), 256u);
    stream_->rely_on_daemon(false);
  }
}

// Because a worker has recently led, the daemon naps, here for an hour.
class Napping : public StreamTest {
 protected:
  Napping() { config_.nap_ns = kHourNs; }

  void nap_on(const std::string& device) {
    open(device);
    publish(64);
    stream_->wait(0, point(64));  // the worker leads
    daemon_ = std::thread([this] {
      while (!stop_.load()) stream_->flush(Flush::kByPolicy);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // usually, the daemon naps now
  }
  void end_daemon() {
    stop_.store(true);
    stream_->rely_on_daemon(true);
    publish(filled_.load());  // wakes the daemon if it is idle and not napping
    daemon_.join();
    stream_->rely_on_daemon(false);
    stop_.store(false);
  }

  std::atomic<bool> stop_{false};
  std::thread daemon_;
};

TEST_F(Napping, AWorkerThatReliesOnTheDaemonEndsItsNap) {
  for (const char* device : {"sync", "sim:20", "null"}) {
    SCOPED_TRACE(device);
    const Watchdog watchdog("the daemon still naps though a worker relies on it");
    nap_on(device);
    publish(128);
    EXPECT_EQ(durable(), 64u) << "a publish does not end a nap";
    stream_->rely_on_daemon(true);
    waiters_.park(1, point(128), kHourNs);
    EXPECT_EQ(durable(), 128u);
    stream_->rely_on_daemon(false);
    end_daemon();
  }
}

TEST_F(Napping, APublisherThatWaitsForSpaceEndsTheDaemonsNap) {
  const Watchdog watchdog("the daemon still naps though a publisher waits for space");
  nap_on("sync");  // a device on which a publisher takes no steps itself
  const uint64_t capacity = stream_->ring().capacity();
  publish(capacity);
  stream_->wait_for_space(2 * capacity);
  EXPECT_EQ(durable(), capacity);
  end_daemon();
}

// Until the hole is filled, nothing can be flushed. The hole's worker may need the daemon's core.
TEST_F(StreamTest, TheDaemonSleepsWhileAHoleKeepsAPublisherFromSpace) {
  for (const char* device : {"sync", "sim:20", "null"}) {
    for (const bool help : {true, false}) {
      SCOPED_TRACE(std::string(device) + (help ? ", helped" : ", daemon alone"));
      const Watchdog watchdog(
          "the filled hole did not wake the daemon, or the room did not wake its waiter");
      config_.flush_help = help;
      open(device);
      std::atomic<uint64_t> steps{0};
      std::atomic<bool> stop{false};
      std::thread daemon([&] {
        for (; !stop.load(); ++steps) stream_->flush(Flush::kByPolicy);
      });
      const uint64_t capacity = stream_->ring().capacity();
      std::atomic<uint64_t> waited{0};
      std::thread publisher([&] { waited.store(stream_->wait_for_space(capacity + 64)); });
      while (!stream_->ring().waited_for()) std::this_thread::yield();
      // At most three of these steps sleep for less than 20 ms. One step may have begun before the
      // first reading of the clock, the publisher may wake the daemon in another step, and one step
      // may find the latch taken.
      constexpr uint64_t kSteps = 4;
      const uint64_t begin = platform::ticks();
      const uint64_t before = steps.load();
      while (steps.load() < before + kSteps) std::this_thread::yield();
      const uint64_t end = platform::ticks();
      EXPECT_GE(platform::ticks_to_ns(end - begin), (kSteps - 3) * 20e6) << "it spins";
      publish(capacity);
      publisher.join();
      EXPECT_GE(waited.load(), end - begin) << "its wait is counted";
      stop.store(true);
      publish(capacity);  // wakes the daemon if it sleeps
      daemon.join();
    }
  }
}

// With private chunks, bytes may be filled after an open record, so a write seems due. The open
// record's worker may need the core that the daemon took from it.
TEST_F(StreamTest, ADaemonThatPreemptsWorkersSleepsWhileAnOpenRecordHoldsTheWriteUp) {
  const Watchdog watchdog("the daemon does not write after the record was filled");
  config_.preemptible_workers = true;
  open("sync");
  hole_.store(true);
  publish(128);
  constexpr long kTurns = 50;
  rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  for (long i = 0; i < kTurns; ++i) stream_->flush(Flush::kByPolicy);
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_GE(after.ru_nvcsw - before.ru_nvcsw, kTurns) << "it spins";
  EXPECT_EQ(durable(), 0);
  hole_.store(false);
  while (durable() < 128) stream_->flush(Flush::kByPolicy);
}

TEST_F(StreamTest, TheLeadIsNotHandedToAWorkerThatDoesNotLead) {
  const Watchdog watchdog("a worker sleeps though the stream is durable");
  open("sync");
  std::thread asleep = sleeper(128);
  stream_->wait(0, point(0));
  publish(64);
  stream_->wait(0, point(64));  // the worker leads, and then gives up the lead
  publish(128);
  EXPECT_EQ(handed_over(), 0);
  stream_->wait(0, point(128));
  asleep.join();
}

// The flush policy, as each kind of flushing thread follows it. T is 42 days, longer than the test
// machine runs, so T never passes.
class ByPolicy : public StreamTest {
 protected:
  ByPolicy() { config_.flush_us = kHourNs; }

  // Lets the daemon, or with `by_poll` a worker that polls, do its work. Returns the position up to
  // which the stream is then durable.
  uint64_t flushed(bool by_poll = false) {
    const auto flushes = [this] { return stream_->counters().value("flushes"); };
    const double before = flushes();
    if (by_poll) {
      stream_->poll();
      while (flushes() != before && durable() < filled_.load()) stream_->poll();
    } else {
      for (int i = 0; i < 2; ++i) stream_->flush(Flush::kByPolicy);
    }
    return durable();
  }
};

// Runs on each kind of device, with and without workers that flush.
TEST_F(ByPolicy, AFlushIsMadeWhenXCommitsOrLBytesWait) {
  config_.flush_txns = 3;
  config_.flush_bytes = 1000;
  for (const char* device : {"sync", "null"}) {
    for (const bool help : {true, false}) {
      SCOPED_TRACE(std::string(device) + (help ? ", helped" : ", daemon alone"));
      config_.flush_help = help;
      open(device);
      const bool by_poll = help && device == std::string("null");
      publish(64);
      publish(128);
      publish(192, false);  // a record without a commit
      EXPECT_EQ(flushed(by_poll), 0u);
      publish(256);
      EXPECT_EQ(flushed(by_poll), 256u);
      publish(320);
      publish(1248);
      EXPECT_EQ(flushed(by_poll), 256u);
      publish(1256, false);
      EXPECT_EQ(flushed(by_poll), 1256u) << "1000 bytes";
      publish(1320);
      publish(1384);
      EXPECT_EQ(flushed(by_poll), 1256u);
      publish(1448);
      EXPECT_EQ(flushed(by_poll), 1448u);
    }
  }
}

// If another stream's commits need this stream and have waited for T, this stream is flushed. A
// commit of this stream still waits for its own T.
TEST_F(ByPolicy, OnlyWhatOthersWaitForDoesNotWaitForT) {
  open("sync");
  stream_->on_wanted(Flush::kByPolicy);
  filled_.store(100);  // the end of a watermark record
  EXPECT_EQ(flushed(), 100u);
  publish(200);
  stream_->on_wanted(Flush::kByPolicy);
  EXPECT_EQ(flushed(), 100u) << "a commit of this stream waits for T";
  stream_->on_wanted(Flush::kNow);
  EXPECT_EQ(flushed(), 200u);
  publish(300);
  EXPECT_EQ(flushed(), 200u);

  open("sync");
  stream_->on_wanted(Flush::kByPolicy);
  EXPECT_EQ(flushed(), 0u);  // this stream has no record that the other streams need
  publish(100);
  EXPECT_EQ(flushed(), 0u);
}

// If a commit is filled after a flush has loaded the filled position, the next flush counts it.
TEST_F(ByPolicy, CommitsThatAFlushDoesNotCoverCountForTheNextOne) {
  config_.flush_txns = 2;
  config_.flush_help = false;
  open("sync");
  publish(64);
  publish(128);
  on_look_ = [this, first = true]() mutable {
    if (std::exchange(first, false)) publish(192);
  };
  EXPECT_EQ(flushed(), 128u);
  publish(256);
  EXPECT_EQ(flushed(), 256u);
}

}  // namespace
}  // namespace logjam
