// The distributed log: sequence numbers, tails, and the cut.
#include <set>

#include "logging/schemes/aether/dependency_scheme.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 4;

// open() makes `sockets` logs. Each log has an equal share of the workers.
class DlogTest : public ScriptedLog {
 protected:
  void open(std::string_view scheme, uint32_t sockets) {
    options_ = log_options_of_many(*find_scheme(scheme), directory_, "sync", kWorkers, sockets);
    ScriptedLog::open();
  }
};

// Returns the tails in the sync records of a stream. The log has `streams` streams.
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

// Worker 2 does not run between its reserve and its publish.
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
  // All records survive a flush of log 1. Then the test cuts the file of log 1 in the middle of the
  // record `lost`.
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

// If a record's own sync record is torn, the record was never acknowledged.
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
