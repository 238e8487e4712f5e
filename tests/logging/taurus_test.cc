// Taurus: which records a transaction waits for, which part of its vector its record has, and which
// records recovery keeps.
#include "logging/row_vectors.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kAnchorOfTwo = 32 + 2 * 8;

// Returns a row's fixed address, which no code dereferences. No two of these rows share a cell.
const void* row(uint64_t number) { return reinterpret_cast<const void*>(number << 12); }

using Rows = std::vector<uint64_t>;

class TaurusTest : public ScriptedLog {
 protected:
  TaurusTest() { open(2); }
  // Worker w writes to log w % `logs`.
  void open(uint32_t logs) {
    options_ = log_options_of_many(*find_scheme("taurus"), directory_, "sync", 6, logs);
    ScriptedLog::open();
  }

  RowVectors& vectors() { return *scheme().parts().row_vectors; }
  std::vector<uint64_t> gathered(const Rows& rows) {
    std::vector<uint64_t> vector(streams());
    for (const uint64_t one : rows) vectors().gather(row(one), vector);
    return vector;
  }
  // Publishes a transaction's record in the same way as concurrency control.
  Published run(uint32_t worker, const Rows& reads, const Rows& writes) {
    Rows all = reads;
    all.insert(all.end(), writes.begin(), writes.end());
    std::vector<uint64_t> vector = gathered(all);
    const Published one = publish(worker, {.vector = vector.data(), .reads = !reads.empty()});
    for (const uint64_t written : writes) vectors().raise(row(written), vector);
    return one;
  }
  CommitPoint read(uint32_t worker, const Rows& rows) {
    std::vector<uint64_t> vector = gathered(rows);
    return scheme().commit_read_only(worker, {.vector = vector.data(), .reads = true});
  }

  // Calls `look(header)` with the record in the log. Returns whether the log has the record.
  template <class Look>
  bool look_at(const Published& one, const Look& look) {
    LogReader reader({stream_file(options_, one.stream)});
    for (RecordBatch batch; reader.next(&batch);) {
      for (size_t i = 0; i < batch.records.size(); ++i) {
        if (batch.positions[i] != one.position) continue;
        look(*batch.records[i]);
        return true;
      }
    }
    return false;
  }
  // Returns whether a recovery would now use the record.
  bool survives(const Published& one) {
    const Cut now = cut();
    bool used = one.position + one.bytes <= now.bytes[one.stream];
    const bool found = look_at(one, [&](const RecordHeader& header) {
      used = used && options_.scheme->recovery.survives(header, now);
    });
    return found && used;
  }
  // Returns the pairs of stream and position in the record's vector.
  std::vector<std::pair<uint32_t, uint64_t>> vector_in(const Published& one) {
    std::vector<std::pair<uint32_t, uint64_t>> entries;
    EXPECT_TRUE(look_at(one, [&](const RecordHeader& header) {
      EXPECT_TRUE(filled_rightly(header));
      for (const uint64_t word : vector_of(header)) {
        entries.emplace_back(VectorWord::stream(word), VectorWord::position(word));
      }
    }));
    return entries;
  }
  static uint64_t end_of(const Published& one) { return one.position + one.bytes; }
  // Fills both logs until each log has an anchor with a position of the other log.
  void settle() {
    const double before = counter("watermark_records");
    for (int i = 0; i < 100 && counter("watermark_records") < before + 4; ++i) {
      for (uint32_t worker = 0; worker < 6; ++worker) {
        publish(worker);
        publish(worker);
      }
      flush_all();
    }
    EXPECT_GE(counter("watermark_records"), before + 4);
  }
};

TEST_F(TaurusTest, ATransactionThatDependsOnNothingWaitsForItsOwnLogAlone) {
  publish(1);
  const Published one = run(0, {1}, {2});
  EXPECT_FALSE(durable(one));
  flush(0);
  EXPECT_TRUE(durable(one));
  EXPECT_TRUE(survives(one));
  EXPECT_EQ(counter("remote_waits"), 0);
}

// The reader needs neither log 2 nor the later record of log 1. Taurus sees this in the reader's
// vector.
TEST_F(TaurusTest, AReaderWaitsForTheRecordThatItReadFromAndForNothingElse) {
  open(3);
  const Published remote = run(1, {}, {1});
  const Published reader = run(0, {1}, {2});
  publish(2);
  flush(0);
  EXPECT_FALSE(durable(reader));
  EXPECT_FALSE(survives(reader)) << "what it read from is lost";
  flush(1);
  publish(1);
  EXPECT_TRUE(durable(reader));
  EXPECT_TRUE(survives(reader));
  EXPECT_EQ(counter("remote_waits"), 1);
  EXPECT_EQ(vector_in(reader), (std::vector<std::pair<uint32_t, uint64_t>>{{1, end_of(remote)}}));
}

TEST_F(TaurusTest, AWriterWaitsForTheWriterOfTheRowThatItOverwrites) {
  run(1, {}, {1});
  const Published writer = run(0, {}, {1});
  flush(0);
  EXPECT_FALSE(durable(writer));
  flush(1);
  EXPECT_TRUE(durable(writer));
}

// T1 reads from a record of the other log. T2 writes to the log of T1 and reads from T1.
TEST_F(TaurusTest, AVectorHasWhatATransactionDependsOnThroughOthers) {
  run(1, {}, {1});
  const Published t1 = run(0, {1}, {2});
  const Published t2 = run(2, {2}, {3}), t3 = run(0, {3}, {4});
  flush(0);
  for (const Published& one : {t1, t2, t3}) {
    EXPECT_FALSE(durable(one));
    EXPECT_FALSE(survives(one));
  }
  flush(1);
  for (const Published& one : {t1, t2, t3}) {
    EXPECT_TRUE(durable(one));
    EXPECT_TRUE(survives(one));
  }
}

TEST_F(TaurusTest, ATransactionThatWroteNothingWaitsForWhatItRead) {
  run(0, {}, {1});
  run(1, {}, {2});
  const CommitPoint of_own = read(0, {1}), of_remote = read(0, {2}), of_none = read(0, {3});
  EXPECT_TRUE(durable(of_none));
  EXPECT_FALSE(durable(of_own));
  flush(0);
  EXPECT_TRUE(durable(of_own));
  EXPECT_FALSE(durable(of_remote));
  flush(1);
  EXPECT_TRUE(durable(of_remote));
}

TEST_F(TaurusTest, WhoHasGatheredNoVectorWaitsForTheEndsOfAllLogs) {
  const Published own = publish(0), remote = publish(1);
  const CommitPoint reader =
      scheme().commit_read_only(0, {.max_read = own.sequence, .reads = true});
  const Published writer = publish(0, {.max_read = own.sequence, .reads = true});
  publish(1);
  flush(0);
  EXPECT_FALSE(durable(reader));
  EXPECT_FALSE(durable(writer));
  EXPECT_FALSE(survives(writer));
  flush(1);
  EXPECT_TRUE(durable(reader));
  EXPECT_TRUE(durable(writer));
  EXPECT_EQ(vector_in(writer), (std::vector<std::pair<uint32_t, uint64_t>>{{1, end_of(remote)}}));
}

// The later commit depends on fewer logs than the earlier commit. A worker asks only whether its
// oldest commit is durable, so the later commit must not become durable first.
TEST_F(TaurusTest, AWorkersCommitsThatWaitForOtherLogsBecomeDurableInOrder) {
  open(3);
  run(1, {}, {1});
  run(2, {}, {2});
  const Published first = run(0, {1, 2}, {3}), second = run(0, {1}, {4});
  flush(0);
  flush(1);
  EXPECT_FALSE(durable(second));
  EXPECT_FALSE(durable(first));
  flush(2);
  EXPECT_TRUE(durable(second));
  EXPECT_TRUE(durable(first));
}

TEST_F(TaurusTest, AnAnchorLeavesThePositionsUpToItOutOfLaterVectors) {
  const Published early = run(1, {}, {1});
  const Published before = run(0, {1}, {2});
  flush_all();
  EXPECT_EQ(vector_in(before).size(), 1u);
  settle();
  const Published after = run(0, {1}, {3});
  const Published late = run(1, {}, {4}), of_late = run(0, {1, 4}, {5});
  flush_all();
  EXPECT_TRUE(vector_in(after).empty());
  EXPECT_EQ(vector_in(of_late), (std::vector<std::pair<uint32_t, uint64_t>>{{1, end_of(late)}}));
  for (const Published& one : {early, before, after, late, of_late}) EXPECT_TRUE(survives(one));

  // An anchor's positions are ends of records. The log was durable up to these positions.
  const std::vector<StreamTail> found = tails();
  ASSERT_FALSE(found[0].watermarks.empty());
  const uint64_t* anchor = &(*found[0].watermarks[0])[0];
  const uint64_t begins = WatermarkWord::position(anchor[1]);
  EXPECT_LT(begins, after.position);
  EXPECT_GE(WatermarkWord::position(anchor[2]), end_of(early));
  EXPECT_LT(WatermarkWord::position(anchor[2]), late.position);

  // Log 1 is damaged before the anchor's position. So no record after the anchor is used, even one
  // with an empty vector.
  std::filesystem::resize_file(stream_file(options_, 1), kLogHeaderBytes + early.position + 8);
  EXPECT_FALSE(survives(after));
  EXPECT_FALSE(survives(before));
  EXPECT_EQ(cut().bytes[0], begins);
  EXPECT_NE(find_damage(tails()), "");
}

// Only a part of a long record of log 1 is durable, so a crash would tear this record.
TEST_F(TaurusTest, AnAnchorDoesNotPointIntoARecord) {
  options_.config.io_bytes = 4096;
  ScriptedLog::open();
  const Published whole = run(1, {}, {1});
  flush(1);
  publish(0);
  const Published torn = publish_record(*log_, 1, ++txn_, 64 << 10);
  const auto durable = [&] { return scheme().durable_positions()[1]; };
  while (durable() <= torn.position) scheme().flush(1, true);
  ASSERT_LT(durable(), end_of(torn));
  for (int i = 0; i < 60; ++i) publish(0);
  flush(0);
  ASSERT_EQ(tails()[0].watermarks.size(), 1u);
  EXPECT_EQ(WatermarkWord::position((*tails()[0].watermarks[0])[2]), end_of(whole));
}

TEST_F(TaurusTest, TheLargestRecordHasRoomForItsVectorAndAnAnchor) {
  settle();
  run(1, {}, {1});
  std::vector<uint64_t> vector = gathered({1});
  const auto largest = static_cast<uint32_t>(scheme().max_record_bytes()) / 8 * 8;
  const Published one = publish_record(*log_, 0, ++txn_, largest, {.vector = vector.data()});
  EXPECT_EQ(one.bytes, largest + 8);
  flush_all();
  EXPECT_TRUE(survives(one));
  EXPECT_GE(options_.config.buffer_bytes, largest + 8 + kAnchorOfTwo);
}

// With --log_records=op, the commit record has the vector for all records of its transaction.
TEST_F(TaurusTest, TheCommitRecordHasTheVector) {
  run(1, {}, {1});
  std::vector<uint64_t> vector = gathered({1});
  const LogReservation part =
      scheme().reserve(0, {.vector = vector.data(), .reads = true, .commits = false}, 64);
  EXPECT_TRUE(part.vector.empty());
  fill_record(part, log_->run(), ++txn_);
  scheme().publish(0, part, RecordRole::kPart);
  EXPECT_EQ(vector, gathered({1})) << "only the commit record changes it";
  const LogReservation commit = scheme().reserve(0, {.vector = vector.data(), .reads = true}, 64);
  EXPECT_EQ(commit.vector.size(), 1u);
  EXPECT_EQ(vector[0], commit.position + commit.bytes);
  const CommitPoint point = fill(0, commit);
  flush(0);
  EXPECT_FALSE(durable(point));
  flush(1);
  EXPECT_TRUE(durable(point));
}

TEST_F(TaurusTest, OneLogHasNoVectorsInItsRecordsAndNoAnchors) {
  open(1);
  for (uint64_t i = 0; i < 40; ++i) {
    for (uint32_t worker = 0; worker < 6; ++worker) publish(worker);
    const Published one = run(i % 4, {i}, {i + 1});
    flush(0);
    EXPECT_TRUE(durable(one));
    EXPECT_EQ(one.bytes, 64u);
  }
  EXPECT_EQ(counter("remote_waits"), 0);
  EXPECT_EQ(counter("watermark_records"), 0);
}

}  // namespace
}  // namespace logjam
