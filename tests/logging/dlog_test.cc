// The distributed log: sequence numbers, tails, and the cut. Most tests run on one thread, without
// flushers, and call flush(), so the test decides the interleaving.
#include <set>

#include "logging/schemes/aether/dependency_scheme.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 4;

// With `sockets` logs, each of which has an equal share of the workers.
class DlogTest : public ScriptedLog {
 protected:
  void open(std::string_view scheme, uint32_t sockets) {
    options_ = log_options_of_many(*find_scheme(scheme), directory_, "sync", kWorkers, sockets);
    ScriptedLog::open();
  }
};

// The tails in the sync records of one of `streams` streams.
std::vector<uint64_t> tails_in(const StreamTail& tail, size_t streams) {
  std::vector<uint64_t> all;
  for (const auto& batch : tail.watermarks) {
    for (size_t i = 0; i < batch->size(); ++i) {
      if (i % (1 + streams) != 0) all.push_back(WatermarkWord::position((*batch)[i]));
    }
  }
  return all;
}

constexpr uint32_t kSyncOfTwo = 32 + 2 * 8, kSyncOfFour = 32 + 4 * 8;

TEST_F(DlogTest, NumbersExceedReadsOverwritesAndTheLogsLastNumber) {
  open("dlog-s", 2);
  const auto draw = [&](uint32_t worker, const Dependencies& deps) {
    const LogReservation reservation = scheme().reserve(worker, deps, 64);
    fill_record(reservation, log_->run(), ++txn_);
    scheme().publish(worker, reservation, deps.commits ? RecordRole::kCommit : RecordRole::kPart);
    return reservation.sequence;
  };
  EXPECT_EQ(draw(0, {.commits = false}), 1u);
  EXPECT_EQ(draw(1, {.commits = false}), 2u) << "one more than the log's last number";
  EXPECT_EQ(draw(2, {.commits = false}), 1u) << "another log has its own last number";
  EXPECT_EQ(draw(2, {.max_read = 10, .reads = true, .commits = false}), 11u);
  EXPECT_EQ(draw(3, {.max_overwritten = 20, .commits = false}), 21u);
  EXPECT_EQ(draw(2, {.commits = false}), 22u)
      << "one more than the number that the log was raised to";
  EXPECT_EQ(draw(0, {.commits = false}), 3u);
  EXPECT_EQ(draw(2, {}), 23u);
  EXPECT_EQ(draw(0, {}), 24u) << "a commit raises all logs";
}

TEST_F(DlogTest, ASyncRecordHasTheTailsOfAllLogs) {
  open("dlog-s", 4);
  const uint64_t each = 64 + kSyncOfFour;
  publish(0);
  publish(2);
  publish(2);
  publish(3);
  for (uint32_t s = 0; s < 4; ++s) flush(s);
  const std::vector<StreamTail> found = tails();
  EXPECT_EQ(tails_in(found[0], 4), (std::vector<uint64_t>{each, 0, 0, 0}));
  EXPECT_EQ(tails_in(found[1], 4), (std::vector<uint64_t>{}));
  EXPECT_EQ(tails_in(found[2], 4), (std::vector<uint64_t>{each, 0, each, 0, each, 0, 2 * each, 0}));
  EXPECT_EQ(tails_in(found[3], 4), (std::vector<uint64_t>{each, 0, 2 * each, each}));
}

TEST_F(DlogTest, OneLogNeedsNoSyncRecords) {
  open("dlog-s", 1);
  const Published one = publish(3);
  flush(0);
  EXPECT_TRUE(durable(one));
  EXPECT_TRUE(survives(one));
  EXPECT_EQ(tails()[0].bytes, 64u);
}

TEST_F(DlogTest, ACommitIsDurableWhenEveryLogIsDurableUpToItsTails) {
  for (const uint32_t sockets : {2, 4}) {
    open("dlog-s", sockets);
    for (uint32_t home = 0; home < kWorkers; ++home) {
      for (uint32_t away = 0; away < kWorkers; ++away) {
        const Published other = publish(away);
        const Published reader = publish(home, {.max_read = other.sequence, .reads = true});
        if (reader.stream == other.stream) {
          flush(reader.stream);
          continue;
        }
        const CommitPoint observed =
            scheme().commit_read_only(home, {.max_read = other.sequence, .reads = true});
        const Published later = publish(away);
        flush(reader.stream);
        EXPECT_FALSE(durable(reader)) << home << " has read from " << away;
        EXPECT_FALSE(scheme().is_durable(observed));
        EXPECT_FALSE(survives(reader));
        flush(other.stream);
        EXPECT_TRUE(durable(other));
        EXPECT_TRUE(durable(reader));
        EXPECT_TRUE(scheme().is_durable(observed));
        for (const Published& one : {other, reader, later}) EXPECT_TRUE(survives(one));
      }
    }
  }
}

// Worker 2 is descheduled between reserve and publish.
TEST_F(DlogTest, AHoleHoldsUpLaterReservations) {
  open("dlog-s", 2);
  const Published earliest = publish(0);
  const Published before = publish(0);
  flush(0);
  EXPECT_TRUE(durable(before));
  const Published not_yet_flushed = publish(0);
  const LogReservation open = scheme().reserve(2, {}, 64);
  const Published later = publish(1);
  flush(0);
  flush(1);
  EXPECT_TRUE(durable(not_yet_flushed));
  EXPECT_FALSE(durable(later));
  EXPECT_TRUE(scheme().is_durable(scheme().commit_read_only(0, {.max_read = earliest.sequence})))
      << "known to be durable before the hole was reserved";
  EXPECT_FALSE(scheme().is_durable(scheme().commit_read_only(0, {.max_read = later.sequence})));
  fill_record(open, log_->run(), 99);
  const CommitPoint point = scheme().publish(2, open, RecordRole::kCommit);
  EXPECT_FALSE(durable(later));
  flush(1);
  EXPECT_TRUE(durable(later));
  EXPECT_TRUE(scheme().is_durable(point));
}

TEST_F(DlogTest, RecoveryEndsEachLogAtTheLastSyncRecordThatHolds) {
  open("dlog-s", 4);
  const Published early = publish(1);
  const Published independent = publish(0);
  const Published lost = publish(1, {.max_overwritten = early.sequence});
  const Published reader = publish(2, {.max_read = lost.sequence, .reads = true});
  const Published unrelated = publish(0);
  const Published on_the_fourth = publish(3, {.max_read = reader.sequence, .reads = true});
  for (const uint32_t s : {0, 2, 3}) flush(s);
  // When log 1 is flushed too, all survive. Then its file is cut in the middle of `lost`.
  flush(1);
  for (const Published& one : {early, independent, lost, reader, unrelated, on_the_fourth}) {
    EXPECT_TRUE(survives(one));
  }
  std::filesystem::resize_file(stream_file(options_, 1),
                               kLogHeaderBytes + lost.position + lost.bytes / 2);
  EXPECT_TRUE(survives(early));
  EXPECT_TRUE(survives(independent));
  for (const Published& one : {lost, reader, unrelated, on_the_fourth}) EXPECT_FALSE(survives(one));
}

// A record whose own sync record is torn was never acknowledged.
TEST_F(DlogTest, ARecordWithoutItsSyncRecordIsNotUsed) {
  open("dlog-s", 2);
  const Published kept = publish(0), torn = publish(0);
  flush(0);
  std::filesystem::resize_file(stream_file(options_, 0),
                               kLogHeaderBytes + torn.position + torn.bytes + kSyncOfTwo - 8);
  EXPECT_EQ(tails()[0].bytes, torn.position + torn.bytes);
  EXPECT_TRUE(survives(kept));
  EXPECT_FALSE(survives(torn));
}

TEST_F(DlogTest, EachTransactionWritesAllItsRecordsToOneRandomLog) {
  open("dlog-r", 4);
  std::set<uint32_t> used;
  for (uint64_t i = 0; i < 40; ++i) {
    std::set<uint32_t> logs;
    for (const bool commits : {false, false, true}) {
      const LogReservation reservation = scheme().reserve(0, {.commits = commits}, 64);
      fill_record(reservation, log_->run(), i);
      const bool ok = !commits || i % 2 == 0;
      scheme().publish(
          0, reservation,
          ok ? (commits ? RecordRole::kCommit : RecordRole::kPart) : RecordRole::kVoid);
      logs.insert(reservation.stream);
    }
    EXPECT_EQ(logs.size(), 1u);
    used.insert(logs.begin(), logs.end());
  }
  EXPECT_EQ(used.size(), 4u);
}

// Each log loses any part of its end. The records that recovery uses depend on no record that is
// missing, and recovery uses all that were acknowledged. Threads write the logs, through
// consolidated groups.
class DlogCut : public DlogTest, public testing::WithParamInterface<const char*> {};

struct Committed {
  Published published;
  uint64_t read;  // the transaction it read from
};

TEST_P(DlogCut, IsClosedWhereverEachLogEnds) {
  constexpr uint32_t kSockets = 3;
  constexpr uint64_t kEach = 400;
  options_ = log_options_of_many(*find_scheme(GetParam()), directory_, "sync", kWorkers, kSockets);
  flags_.set("test", "aether_force:3");
  log_ = std::make_unique<Log>(options_);
  log_->start();
  // The last committed transaction: txn << 32 | sequence number.
  std::atomic<uint64_t> last{0};
  std::vector<std::vector<Committed>> committed(kWorkers);
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t seen = last.load();
        const Dependencies deps{.max_read = seen & 0xffffffff, .reads = true};
        const uint64_t txn = worker * kEach + i + 1;
        const Published one = publish_record(*log_, worker, txn, 64, deps);
        committed[worker].push_back({one, seen >> 32});
        EXPECT_GT(one.sequence, deps.max_read);
        last.store(txn << 32 | one.sequence);
        scheme().poll(worker);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  log_->drain();
  std::vector<const Committed*> by_txn(kWorkers * kEach + 1);
  for (const auto& one : committed) {
    for (const Committed& each : one) by_txn[each.published.txn] = &each;
  }

  std::vector<std::vector<uint64_t>> whole;  // the tails in each sync record
  for (const StreamTail& tail : tails()) whole.push_back(tails_in(tail, kSockets));
  constexpr uint64_t kBoth = 64 + 32 + kSockets * 8;
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<StreamTail> cut_off(kSockets);
    for (uint32_t s = 0; s < kSockets; ++s) {
      const uint64_t syncs = random() % (whole[s].size() / kSockets + 1);
      std::vector<uint64_t> records;
      for (uint64_t i = 0; i < syncs * kSockets; ++i) {
        if (i % kSockets == 0) records.push_back(0);  // the number of the sync record
        records.push_back(whole[s][i]);
      }
      cut_off[s].bytes = syncs * kBoth + (random() % 2 == 0 ? 64 : 0);
      cut_off[s].watermarks = {std::make_shared<const std::vector<uint64_t>>(std::move(records))};
    }
    const Cut cut = options_.scheme->recovery.cut(cut_off);
    const auto used = [&](const Published& one) {
      return one.position + one.bytes <= cut.bytes[one.stream];
    };
    for (uint64_t txn = 1; txn < by_txn.size(); ++txn) {
      const auto& [one, read] = *by_txn[txn];
      if (read != 0 && used(one)) {
        ASSERT_TRUE(used(by_txn[read]->published))
            << txn << " is used, and " << read << " that it read from is not: " << cut.why;
      }
      const uint64_t* own = &whole[one.stream][one.position / kBoth * kSockets];
      bool safe = true;
      for (uint32_t s = 0; s < kSockets; ++s) safe = safe && own[s] <= cut_off[s].bytes;
      ASSERT_TRUE(used(one) || !safe) << txn << " was acknowledged: " << cut.why;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DlogCut, testing::Values("dlog-s", "dlog-r"), [](const auto& info) {
  return info.param[5] == 's' ? "dlog_s" : "dlog_r";
});

TEST(DependencyQueue, EntriesPushedToAFullQueueAreMet) {
  DependencyQueue queue(2);
  std::vector<uint64_t> numbers;
  for (uint64_t i = 1; i <= 10'000; ++i) {
    numbers.push_back(queue.push(std::vector<uint64_t>{i, 2 * i}, i));
  }
  uint64_t durable = 0;
  const auto both = [&](uint32_t log) { return log == 0 ? durable : 2 * durable; };
  EXPECT_FALSE(queue.met(numbers[0], both));
  std::vector<uint64_t> tails(2);
  queue.tails_of(numbers[99], tails);
  EXPECT_EQ(tails, (std::vector<uint64_t>{100, 200}));
  durable = 100;
  EXPECT_TRUE(queue.met(numbers[99], both));
  EXPECT_EQ(queue.bound(), 100u);
  EXPECT_FALSE(queue.met(numbers[100], both));
  durable = 9'999;
  EXPECT_FALSE(queue.met(numbers[9'998], both))
      << "the last entry of a full queue replaces the entry before it";
  durable = 10'000;
  for (const uint64_t number : numbers) EXPECT_TRUE(queue.met(number, both));
  EXPECT_EQ(queue.bound(), 10'000u);
}

}  // namespace
}  // namespace logjam
