// Every scheme that logs must pass these tests, which run for all schemes of the registry.

#include "tests/draw.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 8;
constexpr uint32_t kDirectories = 3;

class SchemeTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LogOptions options(const std::string& device, uint32_t workers = kWorkers) {
    return log_options_of_many(*GetParam(), directory_, device, workers, kDirectories);
  }

  // Chooses at random three pairs of a device and a way to flush. Few parts of a scheme depend on
  // the pair, so three pairs are enough for one run of the tests. The choice changes with each
  // commit of the project, so in time each scheme is tested with all pairs.
  static std::vector<std::pair<std::string, FlushWay>> ways_on(
      const std::vector<std::string>& devices) {
    std::vector<std::pair<std::string, FlushWay>> all;
    for (const std::string& device : devices) {
      for (const FlushWay& way : kFlushWays) all.emplace_back(device, way);
    }
    return drawn(all, 3);
  }

  LogDirectory directory_;
};

TEST_P(SchemeTest, EveryByteArrivesThroughATinyBuffer) {
  for (const auto& [device, way] :
       ways_on({"file", "sync", "sim:50", "nvm", "faulty:sync", "faulty:file"})) {
    SCOPED_TRACE(device + ", " + way.name);
    LogOptions tiny = options(device);
    tiny.config.buffer_bytes = 16384;
    way.apply(&tiny);
    tiny.preallocate_bytes = uint64_t{1} << 20;
    Log log(tiny);
    log.start();
    const auto published = publish_from_threads(log, kWorkers, {.each = 30, .max_bytes = 3000});
    log.drain();
    for (const Published& one : published) EXPECT_TRUE(log.scheme().is_durable(one.point));
    log.stop();
    expect_on_device(published, tiny);
    const auto durable = log.scheme().durable_positions();
    ASSERT_EQ(durable.size(), log.streams());
    for (uint32_t s = 0; s < durable.size(); ++s) {
      EXPECT_EQ(durable[s], read_log(stream_file(tiny, s)).tail.bytes) << "stream " << s;
    }
  }
}

TEST_P(SchemeTest, RecordsLargerThanHalfTheBufferArrive) {
  LogOptions tiny = options("file", 2);
  tiny.config.buffer_bytes = 32768;
  Log log(tiny);
  log.start();
  std::vector<Published> published;
  const auto largest = static_cast<uint32_t>(log.scheme().max_record_bytes());
  EXPECT_GT(largest, 32768u / 2);
  for (uint32_t i = 0; i < 20; ++i) {
    published.push_back(publish_record(log, i % 2, i, i % 3 == 2 ? 48 : largest - 8 * (i % 5)));
  }
  log.drain();
  log.stop();
  expect_on_device(published, tiny);
}

TEST_P(SchemeTest, AFullBufferIsFlushedUnderAnyFlushPolicy) {
  LogOptions tiny = options("sync", 2);
  tiny.config.buffer_bytes = 8192;
  tiny.config.flush_txns = 1'000'000;
  tiny.config.flush_bytes = 1'000'000;
  tiny.config.flush_us = 60'000'000;
  Log log(tiny);
  log.start();
  std::vector<Published> published;
  for (uint32_t i = 0; i < 100; ++i) published.push_back(publish_record(log, i % 2, i, 800));
  log.drain();
  log.stop();
  expect_on_device(published, tiny);
}

TEST_P(SchemeTest, FlushUsHoldsWhenNothingMoreIsPublished) {
  const Watchdog watchdog("a flush that was due by --flush=us:N was never made");
  LogOptions timed = options("sync", 1);
  timed.config.flush_txns = 1000;
  timed.config.flush_us = 3000;
  for (const bool help : {true, false}) {
    timed.config.flush_help = help;
    Log log(timed);
    log.start();
    for (uint64_t i = 0; i < 5; ++i) {
      const Published last = publish_record(log, 0, i, 64);
      log.scheme().wait_durable(0, last.point);
    }
  }
}

// With LogParts::unlock, a worker may wait for the number of a record that is not published.
TEST_P(SchemeTest, NoWatermarkPassesAReservationThatIsNotPublished) {
  const Watchdog watchdog("a worker that waits for an open record sleeps on after its publish");
  LogOptions endless = options("sim:20", 3);
  endless.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
  Log log(endless);
  log.start();
  LogScheme& scheme = log.scheme();
  const Published before = publish_record(log, 0, 1, 64);
  scheme.wait_durable(0, before.point);

  const LogReservation open = scheme.reserve(0, {}, 64);
  std::atomic<bool> done{false};
  Published later{};
  std::thread other([&] {  // blocks at the mutex, or waits for the hole to be filled
    later = publish_record(log, 1, 2, 64, {.max_read = before.sequence, .reads = true});
    scheme.wait_durable(1, later.point);
    done.store(true);
  });
  const CommitPoint reader = scheme.commit_read_only(2, reads(scheme, 2, open.sequence));
  std::thread waits([&] { scheme.wait_durable(2, reader); });
  for (int i = 0; i < 50; ++i) {
    scheme.poll(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(scheme.is_durable(reader));
    if (log.streams() == 1) {
      EXPECT_FALSE(done.load());
    }
  }
  fill_record(open, log.run(), 3);
  const CommitPoint point = scheme.publish(0, open, RecordRole::kCommit);
  scheme.wait_durable(0, point);
  other.join();
  waits.join();
  EXPECT_TRUE(scheme.is_durable(later.point));
}

TEST_P(SchemeTest, SequenceNumbersExceedWhatATransactionDependsOn) {
  Log log(options("null", 4));
  log.start();
  uint64_t last = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Dependencies deps{.max_read = i % 3 == 0 ? last : 0,
                            .max_overwritten = i % 3 == 0 ? 0 : last,
                            .reads = i % 3 == 0};
    const Published one = publish_record(log, i % 4, i, 64, deps);
    EXPECT_GT(one.sequence, last);
    last = one.sequence;
  }
  const CommitPoint observed = log.scheme().commit_read_only(0, {.max_read = last, .reads = true});
  log.scheme().wait_durable(0, observed);
  EXPECT_TRUE(log.scheme().is_durable(log.scheme().commit_read_only(0, {})));
}

// Many threads commit synchronously through a small buffer. So workers lead, follow, hand over the
// lead, and wait for space. The safety time-out is an hour, so it does not hide a lost wake-up.
TEST_P(SchemeTest, SynchronousCommitsFromManyThreadsLoseNoWakeUp) {
  constexpr uint32_t kClients = 16;
  for (const auto& [device, way] : ways_on({"sim:30", "sync", "file", "nvm:500", "null"})) {
    SCOPED_TRACE(device + ", " + way.name);
    const Watchdog watchdog("a worker sleeps though it has been due: a wake-up was lost");
    LogOptions endless = options(device, kClients);
    endless.config.buffer_bytes = 8192;
    way.apply(&endless);
    endless.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;
    Log log(endless);
    log.start();
    std::vector<std::thread> threads;
    std::atomic<uint64_t> not_durable{0};
    for (uint32_t worker = 0; worker < kClients; ++worker) {
      threads.emplace_back([&, worker] {
        for (uint64_t i = 0; i < 30; ++i) {
          const Published one = publish_record(log, worker, i, i % 8 == 0 ? 2048 : 64);
          if (i % 16 == worker) continue;  // no worker waits for this commit
          log.scheme().wait_durable(worker, one.point);
          if (!log.scheme().is_durable(one.point)) ++not_durable;
          if (i % 2 == 0) log.scheme().poll(worker);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(not_durable.load(), 0u);
  }
}

// Two schemes never wait: `scm` has no buffer, and in `centr-lockflush` a worker flushes a full
// buffer itself. With the other schemes, the test repeats reservations until one has to wait.
TEST_P(SchemeTest, AReservationSaysHowLongItWaitedForRoom) {
  const Watchdog watchdog("no reservation says that it waited for room");
  constexpr uint64_t kWriteUs = 2000;
  LogOptions small = options("sim:" + std::to_string(kWriteUs), 4);
  small.config.buffer_bytes = 8192;
  Log log(small);
  log.start();
  const bool waits = !GetParam()->traits.in_place && GetParam()->name != "centr-lockflush";
  bool waited_long = false;  // longer than half of the reservation and half of a write
  for (uint64_t i = 0; i < 20 || (waits && !waited_long); ++i) {
    const uint64_t begin = platform::ticks();
    const LogReservation reservation = log.scheme().reserve(0, {}, 2048);
    const uint64_t took = platform::ticks() - begin;
    if (waits) {
      EXPECT_LE(reservation.waited_ticks, took);
      waited_long |=
          reservation.waited_ticks > std::max(took / 2, platform::ns_to_ticks(kWriteUs * 1e3 / 2));
    } else {
      EXPECT_EQ(reservation.waited_ticks, 0u);
    }
    fill_record(reservation, log.run(), i);
    log.scheme().publish(0, reservation, RecordRole::kCommit);
  }
}

// These schemes are compared with papers, so each says how it differs from its paper.
TEST(SchemesAndTheirPapers, TheseSayHowTheyDiffer) {
  std::istringstream names(
      "aether-cd aether-cd-socket aether-cde aether-d autonomous border-collie border-collie-d "
      "centr-faa centr-lockflush dlog-r dlog-s eleda eleda-bitmap eleda-crawl ermia fasterlog "
      "innodb mariadb nvlog nvmd poplar postgres pwal rfa rocksdb scm silo taurus wiredtiger");
  for (std::string name; names >> name;) {
    EXPECT_NE(find_scheme(name)->differs, "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SchemeTest, testing::ValuesIn(logging_schemes()), scheme_test_name);

}  // namespace
}  // namespace logjam
