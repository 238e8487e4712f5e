// Aether's buffers under what seldom happens: forced consolidation, workers that sleep between
// reserve and publish, a large record among small ones, a ring of a few records.
#include <algorithm>
#include <random>
#include <thread>

#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 8;
constexpr uint32_t kLarge = 64 << 10;

std::vector<const SchemeInfo*> aether_schemes() {
  std::vector<const SchemeInfo*> schemes;
  for (const SchemeInfo* info : logging_schemes()) {
    if (info->name.starts_with("aether-")) schemes.push_back(info);
  }
  return schemes;
}

struct Mix {
  uint32_t each;         // records of each worker
  uint32_t small_bytes;  // at most; at least 48
  uint32_t large_every;  // 0: never
  uint32_t sleep_every;  // between reserve and publish
};

class AetherTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LogOptions options(const std::string& device, uint64_t buffer_bytes) {
    LogOptions tiny = log_options(*GetParam(), directory_, device, kWorkers);
    tiny.config.buffer_bytes = buffer_bytes;
    tiny.config.sockets = 2;
    tiny.config.carray_slots = 2;
    tiny.config.safety_timeout_ns = uint64_t{3600} * 1'000'000'000;  // a lost wake-up hangs
    tiny.preallocate_bytes = uint64_t{1} << 20;
    return tiny;
  }

  // Publishes from all workers, and checks what the device has. Returns the scheme's counters.
  Counters publish_and_check(const LogOptions& tiny, const Mix& mix) {
    Log log(tiny);
    log.start();
    std::vector<std::vector<Published>> published(kWorkers);
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&, worker] { published[worker] = publish(log, worker, mix); });
    }
    for (std::thread& thread : threads) thread.join();
    log.drain();
    const auto counters = log.scheme().counters();
    log.stop();

    std::map<uint64_t, Published> expected;
    for (const auto& one : published) {
      for (const Published& record : one) {
        EXPECT_TRUE(expected.emplace(record.position, record).second)
            << "two records at " << record.position;
      }
    }
    const ReadLog found = read_log(directory_.file());
    EXPECT_EQ(found.tail.why, "end of log");
    EXPECT_TRUE(found.filled_rightly);
    EXPECT_EQ(found.records.size(), expected.size());
    for (const auto& [position, record] : expected) {
      const auto at = found.records.find(position);
      if (at == found.records.end()) {
        ADD_FAILURE() << "no record at " << position;
        break;
      }
      EXPECT_EQ(at->second.sequence, record.sequence);
      EXPECT_EQ(at->second.txn, record.txn);
      EXPECT_EQ(at->second.bytes, record.bytes);
      EXPECT_EQ(at->second.kind, record.ok ? RecordKind::kTransaction : RecordKind::kVoid);
    }
    return counters;
  }

  static std::vector<Published> publish(Log& log, uint32_t worker, const Mix& mix) {
    std::mt19937_64 random(worker);
    std::vector<Published> published;
    LogScheme& scheme = log.scheme();
    for (uint32_t i = 0; i < mix.each; ++i) {
      const bool large = mix.large_every != 0 && random() % mix.large_every == 0;
      const bool ok = random() % 16 != 0;
      const auto bytes =
          large ? kLarge : static_cast<uint32_t>(48 + random() % (mix.small_bytes - 40) / 8 * 8);
      const uint64_t txn = uint64_t{worker} << 48 | i;
      const Ticket ticket = scheme.reserve(worker, {}, bytes);
      if (ok) {
        fill_record(ticket, log.run(), txn);
      } else {
        RecordWriter(ticket.hole, ticket.bytes, RecordKind::kVoid, ticket.sequence, txn)
            .seal(log.run(), ticket.position);
      }
      if (random() % mix.sleep_every == 0) {
        EXPECT_FALSE(scheme.is_durable({ticket.sequence, 0})) << "durable before published";
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        EXPECT_FALSE(scheme.is_durable({ticket.sequence, 0})) << "durable before published";
      }
      const Point point = scheme.publish(worker, ticket, ok, true);
      published.push_back({ticket.sequence, ticket.position, txn, 0, bytes, point, ok});
      scheme.tick(worker);
      if (random() % 32 == 0) scheme.wait_durable(worker, point);
    }
    scheme.wait_durable(worker, published.back().point);
    return published;
  }

  static double counter(Log& log, const std::string& name) {
    return log.scheme().counters().value(name);
  }
  bool consolidates() const { return GetParam()->name != "aether-d"; }
  bool delegates() const { return GetParam()->name == "aether-cde"; }

  LogDirectory directory_;
};

TEST_P(AetherTest, ARingOfAFewRecords) {
  publish_and_check(options("sim:10", 4096),
                    {.each = 150, .small_bytes = 1000, .large_every = 0, .sleep_every = 16});
}

TEST_P(AetherTest, EveryInsertThroughTheArray) {
  constexpr uint32_t kEach = 400;
  for (const uint32_t nth : {1u, 3u}) {
    LogOptions forced = options("sim:300", 8192);
    forced.config.force_consolidation = nth;
    const auto counters = publish_and_check(
        forced, {.each = kEach, .small_bytes = 200, .large_every = 0, .sleep_every = 64});
    EXPECT_EQ(counters.value("inserts"), kWorkers * kEach);
    EXPECT_GE(counters.value("consolidated_inserts"),
              consolidates() ? kWorkers * (kEach / nth) : 0);
  }
}

// The first record almost fills the ring and is not published: of those who come behind it one may
// find space, one sleeps for it with the lock, and the others form groups.
TEST_P(AetherTest, ThoseWhoFindTheLockBusyFormGroups) {
  if (!consolidates()) GTEST_SKIP() << "has no array";
  Log log(options("sim:20", 8192));
  log.start();
  LogScheme& scheme = log.scheme();
  const Ticket first = scheme.reserve(0, {}, static_cast<uint32_t>(scheme.max_record_bytes()));
  std::vector<std::thread> threads;
  for (uint32_t worker = 1; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      scheme.wait_durable(worker, publish_record(log, worker, worker, 264).point);
    });
  }
  while (counter(log, "consolidated_inserts") < kWorkers - 3) std::this_thread::yield();
  EXPECT_FALSE(scheme.is_durable({first.sequence, 0}));
  fill_record(first, log.run(), 0);
  scheme.publish(0, first, true, true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(counter(log, "mean_group_size"), 1) << "no group had a second member";
  log.drain();
  log.stop();
  const ReadLog found = read_log(directory_.file());
  EXPECT_EQ(found.tail.why, "end of log");
  EXPECT_TRUE(found.filled_rightly);
  EXPECT_EQ(found.records.size(), kWorkers);
}

TEST_P(AetherTest, ALargeRecordAmongSmallOnes) {
  LogOptions skewed = options("sim:20", uint64_t{256} << 10);
  skewed.config.force_consolidation = 7;
  publish_and_check(skewed, {.each = 250, .small_bytes = 48, .large_every = 60, .sleep_every = 32});
}

// Two workers fill records behind one that does not: only `aether-cde` lets them go.
TEST_P(AetherTest, WhoMayLeaveBeforeItsPredecessorPublished) {
  if (!delegates()) GTEST_SKIP() << "waits, as it should";
  Log log(options("sim:20", 1 << 20));
  log.start();
  const Ticket first = log.scheme().reserve(0, {}, 48);
  const Ticket second = log.scheme().reserve(1, {}, 48);
  fill_record(second, log.run(), 2);
  const Point behind = log.scheme().publish(1, second, true, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(log.scheme().is_durable(behind));
  fill_record(first, log.run(), 1);
  log.scheme().publish(0, first, true, true);
  log.scheme().wait_durable(1, behind);
  EXPECT_EQ(log.scheme().counters().value("delegated_releases"), 1);
}

INSTANTIATE_TEST_SUITE_P(All, AetherTest, testing::ValuesIn(aether_schemes()), scheme_test_name);

}  // namespace
}  // namespace logjam
