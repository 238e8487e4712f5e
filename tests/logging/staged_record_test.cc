// The bytes of the log format stay what they were, and a staged record has the bytes that a
// RecordWriter writes into the hole itself.
#include "logging/format/staged_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace logjam {
namespace {

constexpr uint64_t kRun = 42, kTxn = 5;

std::vector<std::byte> random_bytes(std::mt19937_64& random, size_t bytes) {
  std::vector<std::byte> all(bytes + 1);  // data() is not null: memcpy() takes no null pointer
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  return all;
}

// A hole, and memory behind it that nothing may touch.
class Hole {
 public:
  explicit Hole(uint32_t bytes) : memory_(bytes / 8 + kBehind, kUntouched), bytes_(bytes) {}

  LogReservation reservation() {
    return {.sequence = 77,
            .position = 4096,
            .durable = 1024,
            .hole = reinterpret_cast<std::byte*>(memory_.data()),
            .bytes = bytes_};
  }
  const RecordHeader& header() const {
    return *reinterpret_cast<const RecordHeader*>(memory_.data());
  }
  // Including what lies behind the hole.
  const std::vector<uint64_t>& memory() const { return memory_; }
  bool untouched_behind() const {
    return std::all_of(memory_.end() - kBehind, memory_.end(),
                       [](uint64_t word) { return word == kUntouched; });
  }

 private:
  static constexpr size_t kBehind = 16;
  static constexpr uint64_t kUntouched = 0xeeeeeeeeeeeeeeee;

  std::vector<uint64_t> memory_;
  uint32_t bytes_;
};

struct Writes {
  void add(WriteOp op, WriteImage image, std::vector<std::byte> row) {
    const auto row_bytes = static_cast<uint32_t>(row.size() - 1);
    rows.push_back(std::move(row));
    const std::byte* const data = rows.back().data();
    all.push_back({{3, op, image, row_bytes, all.size()},
                   op == WriteOp::kErase ? nullptr : data,
                   image == WriteImage::kBeforeAndAfter ? data : nullptr});
  }
  uint32_t record_bytes() const {
    uint32_t bytes = sizeof(RecordHeader);
    for (const LoggedWrite& write : all) bytes += encoded_bytes(write.header);
    return bytes;
  }

  std::vector<std::vector<std::byte>> rows;
  std::vector<LoggedWrite> all;
};

Hole written(const Writes& writes) {
  Hole hole(writes.record_bytes());
  RecordWriter record(hole.reservation(), RecordKind::kTransaction, kTxn, kWriteOnly);
  for (const LoggedWrite& write : writes.all) record.add(write);
  record.seal(kRun, hole.reservation().position);
  return hole;
}

Hole staged(StagedRecord& record, const Writes& writes) {
  record.start();
  for (const LoggedWrite& write : writes.all) record.add(write);
  EXPECT_EQ(record.bytes(), writes.record_bytes());
  Hole hole(writes.record_bytes());
  record.fill(hole.reservation(), RecordKind::kTransaction, kTxn, kWriteOnly, kRun);
  return hole;
}

// Rows of every length around the sizes at which the copy and XXH3 go other ways. Each byte is
// compared, and so is what lies behind the hole.
TEST(StagedRecord, HasTheBytesOfARecordWrittenInItsHole) {
  std::mt19937_64 random(1);
  StagedRecord record;
  for (uint32_t row_bytes = 0; row_bytes < 2200; row_bytes += row_bytes < 300 ? 1 : 37) {
    Writes writes;
    writes.add(WriteOp::kUpdate, WriteImage::kAfter, random_bytes(random, row_bytes));
    if (row_bytes % 3 == 0) {
      writes.add(WriteOp::kErase, WriteImage::kBeforeAndAfter, random_bytes(random, row_bytes));
      writes.add(WriteOp::kErase, WriteImage::kAfter, random_bytes(random, row_bytes));
      writes.add(WriteOp::kInsert, WriteImage::kBeforeAndAfter, random_bytes(random, row_bytes));
    }
    const Hole hole = staged(record, writes);
    ASSERT_EQ(hole.memory(), written(writes).memory()) << "rows of " << row_bytes << " bytes";
    ASSERT_TRUE(hole.untouched_behind()) << "rows of " << row_bytes << " bytes";
    RecordBody body(hole.header());
    LoggedWrite got;
    for (const LoggedWrite& write : writes.all) {
      ASSERT_TRUE(body.next(&got));
      if (write.after != nullptr) {
        ASSERT_EQ(std::memcmp(got.after, write.after, row_bytes), 0) << row_bytes;
      }
      if (write.before != nullptr) {
        ASSERT_EQ(std::memcmp(got.before, write.before, row_bytes), 0) << row_bytes;
      }
    }
    ASSERT_FALSE(body.next(&got));
    ASSERT_TRUE(body.well_formed());
  }
}

TEST(StagedRecord, KeepsWhatWasAddedWhenItsMemoryGrows) {
  std::mt19937_64 random(2);
  StagedRecord record;
  Writes writes;
  for (int i = 0; i < 40; ++i) {
    writes.add(WriteOp::kUpdate, WriteImage::kAfter, random_bytes(random, 5000));
  }
  EXPECT_EQ(staged(record, writes).memory(), written(writes).memory());
}

TEST(StagedRecord, ACommandHasTheBytesOfARecordWrittenInItsHole) {
  std::mt19937_64 random(3);
  StagedRecord record;
  for (size_t length = 0; length < 200; ++length) {
    const std::vector<std::byte> input = random_bytes(random, length);
    const LoggedCommand command{3, 5, {input.data(), length}};
    record.start();
    record.add(command);
    Hole one(static_cast<uint32_t>(record.bytes())), other(static_cast<uint32_t>(record.bytes()));
    record.fill(one.reservation(), RecordKind::kCommand, kTxn, 0, kRun);
    RecordWriter writer(other.reservation(), RecordKind::kCommand, kTxn);
    writer.add(command);
    writer.seal(kRun, other.reservation().position);
    ASSERT_EQ(one.memory(), other.memory()) << length;
  }
}

using StagedRecordDeathTest = testing::Test;

TEST(StagedRecordDeathTest, AHoleOfAnotherSizeOrTooManyWritesEndTheProcess) {
  StagedRecord record;
  Hole larger(sizeof(RecordHeader) + 8);
  EXPECT_DEATH(record.fill(larger.reservation(), RecordKind::kTransaction, kTxn, 0, kRun),
               "a log record of 32 bytes was encoded into a hole of 40");
  const LoggedWrite erase{{3, WriteOp::kErase, WriteImage::kAfter, 8, 1}};
  for (uint32_t i = 0; i < kMostWrites; ++i) record.add(erase);
  EXPECT_DEATH(record.add(erase), "more than 65535 rows");
}

// Logs of earlier versions stay readable: these numbers were computed by RecordWriter as it was
// before there were staged records.
TEST(RecordFormat, AFixedRecordHasItsBytesAndItsChecksum) {
  const auto sealed = [](uint32_t row_bytes, int count) {
    Writes writes;
    for (int i = 0; i < count; ++i) {
      std::vector<std::byte> row(row_bytes + 1);
      for (size_t at = 0; at < row.size(); ++at) row[at] = static_cast<std::byte>(at * 7 + i);
      writes.add(WriteOp::kUpdate, WriteImage::kAfter, std::move(row));
    }
    StagedRecord record;
    return staged(record, writes);
  };
  const Hole small = sealed(13, 1);
  const std::vector<uint64_t> words(small.memory().begin(), small.memory().begin() + 8);
  EXPECT_EQ(words,
            (std::vector<uint64_t>{0x040bf3b7d0ddb066, 0x000000000000004d, 0x0000000000000005,
                                   0x0001130200000040, 0x0000000d01010003, 0x0000000000000000,
                                   0x312a231c150e0700, 0x000000544d463f38}));
  EXPECT_EQ(sealed(0, 0).header().checksum, 0x973a22c0bab66be4u)
      << "XXH3's ways for up to 16, 128, 240 bytes, ...";
  EXPECT_EQ(sealed(100, 1).header().checksum, 0x46d0684de297137eu);
  EXPECT_EQ(sealed(150, 1).header().checksum, 0xb6fa2ee4600ac363u);
  EXPECT_EQ(sealed(1000, 1).header().checksum, 0x3565a42c15e372f4u);
  EXPECT_EQ(sealed(300, 10).header().checksum, 0xae041139eea0ac3cu) << "several blocks";
}

}  // namespace
}  // namespace logjam
