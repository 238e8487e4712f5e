// The schemes that reserve with a fetch-and-add, and their trackers of holes. The tests force rare
// paths: hops, units and rings are tiny, many records straddle them, and publishers sleep.

#include "logging/schemes/border_collie/herd_flags.h"
#include "logging/schemes/common/unit_counts.h"
#include "logging/schemes/eleda/bitmap.h"
#include "logging/schemes/eleda/grasshopper.h"
#include "logging/schemes/ermia/dirty_ends.h"
#include "logging/schemes/fasterlog/epoch_slots.h"
#include "logging/schemes/innodb/link_buf.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint64_t kRingBytes = 1 << 20;
constexpr uint32_t kHopBytes = 1024, kWindowBytes = 256;
constexpr uint64_t kBytes = 64;

template <class Tracker>
Tracker make_tracker(uint32_t workers, const Ring& ring) {
  if constexpr (std::is_constructible_v<Tracker, uint32_t, const Ring&>) {
    return {workers, ring};
  } else {
    return {workers, ring, kHopBytes};
  }
}
template <>
LinkBuf make_tracker<LinkBuf>(uint32_t workers, const Ring& ring) {
  // The window is as large as the ring, so that a single worker never waits for the window.
  return {workers, ring, ring.capacity()};
}

// A tracker and its sequencer. Only the test calls them.
template <class Tracker>
struct Harness {
  explicit Harness(uint32_t workers, uint64_t ring_bytes = kRingBytes)
      : ring(ring_bytes, 512), tracker(make_tracker<Tracker>(workers, ring)) {}

  uint64_t reserve(uint32_t worker, uint64_t bytes = kBytes) {
    return draw_hole(tracker, worker, next, bytes);
  }
  void publish(uint32_t worker, uint64_t begin, uint64_t bytes = kBytes) {
    ASSERT_TRUE(tracker.room(worker));
    tracker.publish(worker, begin, begin + bytes);
  }
  void write(uint32_t worker, uint64_t bytes = kBytes) {
    publish(worker, reserve(worker, bytes), bytes);
  }
  uint64_t advance() { return filled = tracker.advance(filled, next); }
  double counter(const std::string& name) const { return tracker.counters().value(name); }

  Ring ring;
  Tracker tracker;
  platform::atomic<uint64_t> next{0};
  uint64_t filled = 0;
};

template <class Tracker>
class TrackerTest : public testing::Test {};
using Trackers =
    testing::Types<Grasshopper<true>, Grasshopper<false>, Bitmap<8, 8>, Bitmap<1, 8>, Bitmap<1, 1>,
                   UnitCounts, HerdFlags, EpochSlots, DirtyEnds, LinkBuf>;
TYPED_TEST_SUITE(TrackerTest, Trackers);

TYPED_TEST(TrackerTest, AHoleStopsTheWatermarkHoweverMuchIsFilledAfterIt) {
  Harness<TypeParam> log(2);
  log.write(0, 5000);
  const uint64_t hole = log.reserve(1, 48);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t bytes = 48 + 8 * (i % 20);
    log.write(0, bytes);
    ASSERT_LE(log.advance(), hole) << "passed an unpublished hole";
  }
  log.publish(1, hole, 48);
  EXPECT_EQ(log.advance(), log.next.load());
}

// Batches of records are published in random order for many laps of the ring. The watermark must
// never pass the first unpublished record. When all records are published, the watermark must be at
// the end of the last record.
TYPED_TEST(TrackerTest, RecordsMayBePublishedInAnyOrder) {
  constexpr uint32_t kWorkers = 8;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Harness<TypeParam> log(kWorkers, 16384);
    struct Open {
      uint64_t begin, bytes;
      uint32_t worker;
    };
    for (int batch = 0; batch < 300; ++batch) {
      std::vector<Open> open;
      const size_t records = 1 + random() % kWorkers;
      for (uint32_t worker = 0; worker < records; ++worker) {
        const uint64_t bytes = random() % 8 == 0 ? 1800 : 48 + random() % 12 * 8;
        open.push_back({log.reserve(worker, bytes), bytes, worker});
      }
      std::shuffle(open.begin(), open.end(), random);
      while (!open.empty()) {
        const Open one = open.back();
        open.pop_back();
        log.publish(one.worker, one.begin, one.bytes);
        uint64_t first_hole = log.next.load();
        for (const Open& other : open) first_hole = std::min(first_hole, other.begin);
        if (random() % 2 == 0 || open.empty()) {
          ASSERT_LE(log.advance(), first_hole) << "passed an unpublished hole";
        }
      }
      ASSERT_EQ(log.filled, log.next.load());
    }
  }
}

TYPED_TEST(TrackerTest, AnIdleWorkerStopsNothing) {
  Harness<TypeParam> log(3);  // the third worker never writes
  log.write(0);
  for (uint64_t records = 2; records < 100; ++records) {
    log.write(1);
    ASSERT_EQ(log.advance(), records * kBytes);
  }
}

// Trackers with one word per worker. tests/explored/holes_test.cc has the schedules.
template <class Tracker>
class WorkerWordsTest : public testing::Test {};
using TrackersOfWords = testing::Types<HerdFlags, EpochSlots, DirtyEnds>;
TYPED_TEST_SUITE(WorkerWordsTest, TrackersOfWords);

// Worker 0 announces a bound, worker 1 fills ten records, and then worker 0 reserves a hole. SBL
// must not pass the announced bound until worker 0 tells the tracker where the hole begins.
TYPED_TEST(WorkerWordsTest, AWorkerThatWaitsForRoomStopsSblAtItsHole) {
  Harness<TypeParam> log(2);
  log.tracker.announce(0, log.next);
  for (int i = 0; i < 10; ++i) log.write(1);
  log.advance();
  const uint64_t hole = log.next.fetch_add(kBytes);
  log.tracker.must_wait(0, hole);
  log.write(1);
  EXPECT_EQ(log.advance(), hole);
  EXPECT_EQ(log.advance(), hole);
  log.publish(0, hole);
  EXPECT_EQ(log.advance(), hole + 2 * kBytes);
}

TEST(HerdFlags, TheBoundaryIsTheLeastBlackFlag) {
  Harness<HerdFlags> log(3);
  log.write(0);
  const uint64_t first = log.reserve(0), second = log.reserve(1);
  log.write(2);
  EXPECT_EQ(log.advance(), first);
  log.publish(0, first);
  EXPECT_EQ(log.advance(), second);
}

TEST(EpochSlots, AnAdvanceWaitsForOlderEpochsOnly) {
  Harness<EpochSlots> log(3);
  const uint64_t old = log.reserve(0);
  EXPECT_EQ(log.advance(), 0u);
  const uint64_t later = log.reserve(1);
  log.write(2);
  EXPECT_EQ(log.advance(), 0u);
  log.publish(0, old);
  EXPECT_EQ(log.advance(), later) << "this hole is of the later epoch";
  log.publish(1, later);
  EXPECT_EQ(log.advance(), log.next.load());
}

TEST(DirtyEnds, ADirtyWorkerStopsSblAtTheEndOfItsLastRecord) {
  Harness<DirtyEnds> log(3);
  log.write(0);
  log.write(1);
  const uint64_t first = log.reserve(0);
  log.write(1);
  EXPECT_EQ(log.advance(), kBytes) << "one record before the hole";
  log.publish(0, first);
  EXPECT_EQ(log.advance(), log.next.load());
}

using Hopper = Harness<Grasshopper<true>>;

TEST(Grasshopper, HopsOverFullRangesAndTheRecordThatStraddlesTheirEnd) {
  Hopper log(2);
  for (int i = 0; i < 20; ++i) log.write(0, 48);  // records from 0 to 960
  log.write(1, 200);                              // the record straddles 1024
  const uint64_t hole = log.reserve(0, 48);
  EXPECT_EQ(log.advance(), 1160u) << "the straddling record belongs to the range that was hopped";
  EXPECT_EQ(log.counter("sbl_hops"), 1);
  EXPECT_EQ(log.counter("sbl_crawls"), 0);
  log.publish(0, hole, 48);
  EXPECT_EQ(log.advance(), 1208u);
  EXPECT_EQ(log.counter("sbl_crawls"), 1);
}

TEST(Grasshopper, HopsOverARangeThatEndsWithARecord) {
  Hopper log(1);
  for (int i = 0; i < 16; ++i) log.write(0, 128);
  log.reserve(1, 8);
  EXPECT_EQ(log.advance(), 2048u);
  EXPECT_EQ(log.counter("sbl_crawls"), 0);
}

constexpr uint64_t kUnit = 4096;

// The sequencer's position. A load calls `meanwhile`, which plays a worker between two loads.
struct Sequencer {
  uint64_t load(auto) const {
    const uint64_t seen = position;
    if (meanwhile) meanwhile();
    return seen;
  }
  uint64_t position = 0;
  std::function<void()> meanwhile;
};

// Worker 0 holds the hole of the first 64 bytes. During advance(), worker 1 reserves and fills the
// next 64 bytes. If advance() loaded the position before the count of filled bytes, it would count
// worker 1's bytes as bytes of the hole.
TEST(UnitCounts, ARecordThatIsFilledMeanwhileDoesNotStandForAHoleBeforeIt) {
  const Ring ring(uint64_t{1} << 16, 512);
  UnitCounts counts(2, ring, kUnit);
  Sequencer allocated{.position = 64, .meanwhile = {}};
  bool filled = false;
  allocated.meanwhile = [&] {
    if (filled) return;
    filled = true;
    allocated.position = 128;
    counts.publish(1, 64, 128);
  };
  EXPECT_EQ(counts.advance(0, allocated), 0u);
  EXPECT_TRUE(filled);
  EXPECT_EQ(counts.advance(0, allocated), 0u);
  counts.publish(0, 0, 64);
  EXPECT_EQ(counts.advance(0, allocated), 128u);
}

struct Record {
  uint64_t begin, end;
};

// Follows all links. Returns the tail.
uint64_t look(LinkBuf& links) { return links.advance(0, 0); }

// Records of many lengths, some longer than a window, fill the log for many laps. Records that
// begin in the same window are published in random order.
TEST(LinkBuf, EntriesAreUsedAgain) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    LinkBuf links(kWindowBytes);
    for (uint64_t end = 0; end < 200 * kWindowBytes;) {
      std::vector<Record> open;
      for (const uint64_t limit = end + kWindowBytes; end < limit;) {
        const uint64_t bytes =
            random() % 8 == 0 ? kWindowBytes * (1 + random() % 3) : 8 * (1 + random() % 64);
        open.push_back({end, end + bytes});
        end += bytes;
      }
      std::shuffle(open.begin(), open.end(), random);
      while (!open.empty()) {
        links.publish(0, open.back().begin, open.back().end);
        open.pop_back();
        uint64_t first_hole = end;
        for (const Record& one : open) first_hole = std::min(first_hole, one.begin);
        ASSERT_EQ(look(links), first_hole);
      }
    }
  }
}

// Whole logs, with more threads than cores.

class FetchAddTest : public testing::TestWithParam<const char*> {
 protected:
  // Publishes from all workers, with and without flush help, and expects every record.
  void run(LogOptions options, const Mix& mix) {
    for (const bool help : {true, false}) {
      SCOPED_TRACE(help ? "helped" : "its threads alone");
      options.config.flush_help = help;
      Log log(options);
      log.start();
      const auto published = publish_from_threads(log, options.config.workers, mix);
      log.drain();
      log.stop();
      expect_on_device(published, options);
    }
  }

  LogOptions options(const char* device, uint64_t buffer_bytes) {
    LogOptions options = log_options(*find_scheme(GetParam()), directory_, device, 8);
    options.config.buffer_bytes = buffer_bytes;
    flags_.set("eleda_hop_bytes", kHopBytes);
    flags_.set("test", "innodb_window:" + std::to_string(kWindowBytes));
    options.config.io_bytes = kHopBytes;
    options.preallocate_bytes = uint64_t{1} << 20;
    return options;
  }

  LogDirectory directory_;
  ScopedFlags flags_;
};

TEST_P(FetchAddTest, SleepingPublishersInATinyRingLoseNothing) {
  run(options("sim:20", 8192), {.each = 200, .max_bytes = 168, .sleep_every = 16});
}

TEST_P(FetchAddTest, LargeRecordsAmongSmallOnesAreInTheLog) {
  run(options("file", 131072),
      {.each = 200, .max_bytes = 168, .large_every = 80, .sleep_every = 16});
}

TEST_P(FetchAddTest, FlushUsHoldsWhenTheLastPublisherFindsSblTaken) {
  LogOptions timed = options("sim:20", 65536);
  timed.config.flush_us = 500;
  run(timed, {.each = 60, .max_bytes = 168, .sleep_every = 16});
}

// Tests ELEDA's pipeline (section 3.1).
class EledaPipeline : public ScriptedLog {
 protected:
  static constexpr uint64_t kAll = 300 << 10;

  void open(bool help, uint64_t io_bytes = 4 << 20) {
    options_ = log_options(*find_scheme("eleda"), directory_, "sync", 1);
    options_.config.flush_help = help;
    options_.config.io_bytes = io_bytes;
    ScriptedLog::open();
    for (uint64_t at = 0; at < kAll; at += 64) publish(0);
  }
};

TEST_F(EledaPipeline, AsPublishedOneThreadAdvancesSblAndAnotherSdl) {
  open(false);
  ASSERT_EQ(scheme().flushers(), 2u);
  EXPECT_EQ(scheme().flusher_name(0), "log-sbl");
  EXPECT_EQ(scheme().flusher_name(1), "log-sdl");
  scheme().poll(0);
  scheme().flush(1, false);
  EXPECT_EQ(counter("sbl_bytes"), 0) << "the flusher has advanced SBL";
  while (counter("sbl_bytes") < kAll) scheme().flush(0, false);
  EXPECT_EQ(counter("sdl_bytes"), 0) << "the grasshopper has flushed";
  flush(1);
  EXPECT_EQ(counter("sdl_bytes"), kAll);
}

TEST_F(EledaPipeline, OnlyAGivenIoUnitLimitsTheWrites) {
  open(true);
  flush(1);
  EXPECT_EQ(counter("flushes"), 1);
  open(true, 64 << 10);
  for (int i = 0; i < 5; ++i) flush(1);
  EXPECT_EQ(counter("flushes"), 5);
  EXPECT_EQ(counter("sdl_bytes"), kAll);
}

INSTANTIATE_TEST_SUITE_P(All, FetchAddTest,
                         testing::Values("eleda", "eleda-crawl", "eleda-bitmap", "centr-faa",
                                         "innodb"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace logjam
