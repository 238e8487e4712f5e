// The records of a log state positions up to which its streams were durable. A stream that ends
// before such a position is damaged.
#include <fstream>

#include "logging/format/record.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

TEST(DurableLag, ACodeVouchesForNoMoreThanWasDurable) {
  for (uint64_t lag : {0ull, 1ull, 8ull, 15ull, 16ull, 17ull, 48ull, 49ull, 112ull, 4096ull,
                       (1ull << 33) + 8, (1ull << 34) - 16, 1ull << 34, 1ull << 40}) {
    const uint64_t durable = uint64_t{1} << 41, position = durable + lag;
    const uint64_t code = lag_code(position, durable);
    EXPECT_LE(vouched_position(position, code), durable) << lag;
    if (lag <= (1ull << 34) - 16) {
      EXPECT_GE(vouched_position(position, code) + lag + 32, durable) << lag;
    } else {
      EXPECT_EQ(code, 0u) << lag;
    }
    EXPECT_LE(code, kMostLagCode);
  }
  EXPECT_EQ(vouched_position(800, lag_code(800, 800)), 800u);
  EXPECT_EQ(vouched_position(800, lag_code(800, 0)), 0u);
  EXPECT_EQ(vouched_position(800, 0), 0u) << "nothing is known";
}

TEST(DurableLag, AWatermarkWordHasAPositionAndVouchesForWhatWasDurable) {
  const uint64_t word = WatermarkWord::encode(8000, 7984);
  EXPECT_EQ(WatermarkWord::position(word), 8000u);
  EXPECT_EQ(WatermarkWord::vouched(word), 7984u);
  // A stream may already be durable beyond the word's position. The word then vouches only for its
  // own position.
  EXPECT_EQ(WatermarkWord::vouched(WatermarkWord::encode(8000, 9000)), 8000u);
}

class Damage : public ScriptedLog {
 protected:
  void open(const char* scheme, uint32_t workers) {
    options_ = log_options(*find_scheme(scheme), directory_, "sync", workers);
    ScriptedLog::open();
  }
  void flip(const Published& one) {
    std::fstream file(stream_file(options_, one.stream),
                      std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(kLogHeaderBytes + one.position + 40);
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
  }
  std::string damage() { return find_damage(tails()); }
};

// Each record has 64 bytes.
TEST_F(Damage, ALaterRecordVouchesForWhatWasDurableBeforeIt) {
  open("centr", 1);
  const Published first = publish(0), second = publish(0);
  flush(0);
  const Published third = publish(0), fourth = publish(0);
  flush(0);
  EXPECT_EQ(damage(), "");
  flip(fourth);
  EXPECT_EQ(damage(), "") << "as if the last write was torn";
  flip(third);
  EXPECT_EQ(damage(), "");
  flip(third);
  flip(second);
  EXPECT_EQ(damage(),
            "stream 0 ends at byte 64 and was once durable up to byte 128, says the record at byte "
            "128 of stream 0");
  flip(first);
  EXPECT_EQ(damage(),
            "stream 0 ends at byte 0 and was once durable up to byte 128, says the record at byte "
            "128 of stream 0");
}

TEST_F(Damage, RecordsThatWereNotDurableTogetherMayAllBeTorn) {
  open("centr", 1);
  std::vector<Published> all;
  for (int i = 0; i < 20; ++i) all.push_back(publish(0));
  flush(0);
  for (const Published& one : all) {
    flip(one);
    EXPECT_EQ(damage(), "") << one.position;
    flip(one);
  }
}

// For each registered scheme, checks the durable positions in its records. The tests know up to
// which position each stream was durable.
class Evidence : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  Evidence() : options_(log_options_of_many(*GetParam(), directory_, "sync", 3, 3)) {}

  // Returns the durable position that each transaction record of the stream states, by position.
  std::map<uint64_t, uint64_t> vouched(uint32_t stream) {
    std::map<uint64_t, uint64_t> found;
    LogReader reader(find_log_files(options_.directories).paths[stream]);
    for (RecordBatch batch; reader.next(&batch);) {
      for (size_t i = 0; i < batch.records.size(); ++i) {
        if (batch.records[i]->kind != RecordKind::kTransaction) continue;
        found[batch.positions[i]] = vouched_position(*batch.records[i], batch.positions[i]);
      }
    }
    return found;
  }

  LogDirectory directory_;
  LogOptions options_;
};

TEST_P(Evidence, RecordsVouchForNothingIfNothingWasDurable) {
  if (GetParam()->traits.in_place) GTEST_SKIP() << "its records are durable at once";
  Log log(options_);
  for (uint64_t i = 0; i < 12; ++i) publish_record(log, static_cast<uint32_t>(i % 3), i, 64);
  log.start();
  log.drain();
  log.stop();
  uint64_t records = 0;
  for (uint32_t s = 0; s < log.streams(); ++s) {
    for (const auto& [position, durable] : vouched(s)) {
      EXPECT_EQ(durable, 0u) << position;
      ++records;
    }
  }
  EXPECT_EQ(records, 12u);
}

TEST_P(Evidence, ARecordVouchesForTheRecordsThatWereDurable) {
  Log log(options_);
  log.start();
  std::vector<Published> first, second;
  for (auto* round : {&first, &second}) {
    for (uint32_t worker = 0; worker < 3; ++worker) {
      round->push_back(publish_record(log, worker, worker, 64));
    }
    log.drain();
  }
  log.stop();
  for (const Published& later : second) {
    const ReadLog read = read_log(stream_file(options_, later.stream));
    const uint64_t position = read.find(later)->first;
    const uint64_t durable = vouched(later.stream).at(position);
    EXPECT_LE(durable, position);
    for (const Published& one : first) {
      if (one.stream != later.stream) continue;
      // There may be watermark records between the two records, and a record states its lag rounded
      // up. So the limit allows twice the distance of the records.
      const uint64_t lag = position - (read.find(one)->first + one.bytes);
      EXPECT_GE(durable + 2 * lag + 16, position);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Evidence, testing::ValuesIn(logging_schemes()), scheme_test_name);

TEST_F(Damage, ASyncRecordVouchesForOtherLogs) {
  options_ = log_options_of_many(*find_scheme("dlog-s"), directory_, "sync", 2, 2);
  ScriptedLog::open();
  const Published other = publish(1);
  flush_all();
  publish(0);
  flush_all();
  EXPECT_EQ(damage(), "");
  flip(other);
  EXPECT_NE(damage().find("stream 1 ends at byte 0 and was once durable up to byte 112, says"),
            std::string::npos)
      << damage();
}

// If only watermarks decided which transactions survive, the reader in log 1 would survive although
// log 0 has lost the writer.
TEST_F(Damage, AWatermarkIsNotMetIfALogHasLostRecords) {
  for (const char* scheme : {"nvmd", "nvlog"}) {
    open(scheme, 2);
    const Published kept = publish(1);
    for (int i = 0; i < 2; ++i) flush_all();
    const Published writer = publish(0);
    const Published reader = publish(1, {.max_read = writer.sequence, .reads = true});
    for (int i = 0; i < 2; ++i) flush_all();
    EXPECT_TRUE(durable(reader));
    EXPECT_EQ(damage(), "");
    EXPECT_TRUE(survives(kept) && survives(writer) && survives(reader));
    flip(writer);
    EXPECT_TRUE(survives(kept));
    EXPECT_FALSE(survives(reader)) << scheme << ": it has read from a lost transaction";
    EXPECT_NE(damage().find("stream 0 ends at byte 0 and was once durable up to byte 64, says"),
              std::string::npos)
        << damage();
    // The cut file of log 0 has no record left that states how far the log was durable.
    std::filesystem::resize_file(stream_file(options_, 0), kLogHeaderBytes);
    EXPECT_FALSE(survives(reader));
    EXPECT_NE(damage(), "");
  }
}

}  // namespace
}  // namespace logjam
