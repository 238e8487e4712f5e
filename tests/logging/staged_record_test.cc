// A worker's record must have exactly the bytes of the log format, for all lengths of rows.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "logging/format/record_writer.h"
#include "tests/logging/sealed_record.h"

namespace logjam {
namespace {

std::vector<std::byte> random_bytes(std::mt19937_64& random, size_t bytes) {
  std::vector<std::byte> all(bytes + 1);  // data() is not null: memcpy() takes no null pointer
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  return all;
}

void append(std::vector<std::byte>& to, const void* bytes, size_t count) {
  const auto* begin = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), begin, begin + count);
  while (to.size() % 8 != 0) to.push_back(std::byte{0});
}

// Writes with their rows, and the body of a record with these writes.
struct Writes {
  void add(WriteOp op, WriteImage image, std::vector<std::byte> row) {
    const auto row_bytes = static_cast<uint32_t>(row.size() - 1);
    const std::byte* const data = rows.emplace_back(std::move(row)).data();
    const bool after = op != WriteOp::kErase, before = image == WriteImage::kBeforeAndAfter;
    const WriteHeader header{3, op, image, row_bytes, all.size()};
    all.push_back({header, after ? data : nullptr, before ? data : nullptr});
    append(body, &header, sizeof header);
    if (after) append(body, data, row_bytes);
    if (before) append(body, data, row_bytes);
  }

  std::deque<std::vector<std::byte>> rows;
  std::vector<LoggedWrite> all;
  std::vector<std::byte> body;
};

SealedRecord sealed(StagedRecord& record, const Writes& writes) {
  record.start();
  for (const LoggedWrite& write : writes.all) record.add(write);
  return {record, RecordKind::kTransaction, kWriteOnly};
}

void expect_right(SealedRecord& record, const Writes& writes) {
  const RecordHeader& header = record.header();
  EXPECT_EQ(header.bytes, sizeof(RecordHeader) + writes.body.size());
  EXPECT_EQ(header.sequence, SealedRecord::kSequence);
  EXPECT_EQ(header.txn, SealedRecord::kTxn);
  EXPECT_EQ(header.kind, RecordKind::kTransaction);
  EXPECT_EQ(header.writes, writes.all.size());
  EXPECT_EQ(record.body(), writes.body);
  EXPECT_TRUE(record.checksum_is_right());
  EXPECT_TRUE(record.stays_in_its_hole());
}

// The lengths of rows are near the sizes at which memcpy() and XXH3 change their methods.
TEST(StagedRecord, HasTheBytesOfItsWritesForEveryLengthOfRows) {
  std::mt19937_64 random(1);
  StagedRecord record;
  for (uint32_t row_bytes = 0; row_bytes < 2200; row_bytes += row_bytes < 300 ? 1 : 37) {
    SCOPED_TRACE("rows of " + std::to_string(row_bytes) + " bytes");
    Writes writes;
    writes.add(WriteOp::kUpdate, WriteImage::kAfter, random_bytes(random, row_bytes));
    if (row_bytes % 3 == 0) {
      writes.add(WriteOp::kErase, WriteImage::kBeforeAndAfter, random_bytes(random, row_bytes));
      writes.add(WriteOp::kErase, WriteImage::kAfter, random_bytes(random, row_bytes));
      writes.add(WriteOp::kInsert, WriteImage::kBeforeAndAfter, random_bytes(random, row_bytes));
    }
    SealedRecord one = sealed(record, writes);
    expect_right(one, writes);
  }
}

TEST(StagedRecord, KeepsWhatWasAddedWhenItsMemoryGrows) {
  std::mt19937_64 random(2);
  StagedRecord record;
  Writes writes;
  for (int i = 0; i < 40; ++i) {
    writes.add(WriteOp::kUpdate, WriteImage::kAfter, random_bytes(random, 5000));
  }
  SealedRecord one = sealed(record, writes);
  expect_right(one, writes);
}

TEST(StagedRecord, HasTheBytesOfItsCommandForEveryLengthOfInput) {
  std::mt19937_64 random(3);
  for (uint32_t length = 0; length < 200; ++length) {
    const std::vector<std::byte> input = random_bytes(random, length);
    SealedRecord record(LoggedCommand{3, 5, {input.data(), length}});
    const CommandHeader header{3, 5, length};
    std::vector<std::byte> body;
    append(body, &header, sizeof header);
    append(body, input.data(), length);
    EXPECT_EQ(record.body(), body) << length;
    EXPECT_TRUE(record.checksum_is_right()) << length;
    EXPECT_TRUE(record.stays_in_its_hole()) << length;
  }
}

// The vector lies at the record's end and is no part of the writes.
TEST(StagedRecord, EndsWithItsVector) {
  std::mt19937_64 random(4);
  StagedRecord record;
  for (uint32_t count = 0; count < 20; ++count) {
    Writes writes;
    for (uint32_t i = 0; i < count % 4; ++i) {
      writes.add(WriteOp::kUpdate, WriteImage::kAfter, random_bytes(random, 100));
    }
    std::vector<uint64_t> vector;
    for (uint32_t i = 0; i < count; ++i) {
      vector.push_back(VectorWord::encode(65535 - i, (uint64_t{1} << 50) - 8 - 8 * i, i != 0));
    }
    record.start();
    for (const LoggedWrite& write : writes.all) record.add(write);
    SealedRecord one(record, RecordKind::kTransaction, 0, vector);
    EXPECT_EQ(one.header().flags & kVector, count == 0 ? 0 : kVector);
    EXPECT_TRUE(std::ranges::equal(vector_of(one.header()), vector));
    append(writes.body, vector.data(), vector.size() * sizeof(uint64_t));
    EXPECT_EQ(one.body(), writes.body);
    EXPECT_TRUE(one.checksum_is_right());
    EXPECT_TRUE(one.stays_in_its_hole());
    RecordBody body(one.header());
    uint32_t found = 0;
    for (LoggedWrite write; body.next(&write);) ++found;
    EXPECT_EQ(found, writes.all.size());
    EXPECT_TRUE(body.well_formed());
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(VectorWord::stream(vector[i]), 65535 - i);
      EXPECT_EQ(VectorWord::position(vector[i]), (uint64_t{1} << 50) - 8 - 8 * i);
    }
  }
}

using StagedRecordDeathTest = testing::Test;

TEST(StagedRecordDeathTest, AHoleOfAnotherSizeOrTooManyWritesEndTheProcess) {
  StagedRecord record;
  std::vector<uint64_t> memory(5);
  const LogReservation larger{.hole = reinterpret_cast<std::byte*>(memory.data()), .bytes = 40};
  EXPECT_DEATH(record.fill(larger, RecordKind::kTransaction, 1, 0, 1),
               "encoded_bytes == header->bytes");
  const LoggedWrite erase{{3, WriteOp::kErase, WriteImage::kAfter, 8, 1}};
  for (uint32_t i = 0; i < kMostWrites; ++i) record.add(erase);
  EXPECT_DEATH(record.add(erase), "more than 65535 rows");
}

// The first revision with format version 2 computed these checksums. Its logs must stay readable.
TEST(RecordFormat, AFixedRecordHasItsBytesAndItsChecksum) {
  const auto fixed = [](uint32_t row_bytes, int count) {
    Writes writes;
    for (int i = 0; i < count; ++i) {
      std::vector<std::byte> row(row_bytes + 1);
      for (size_t at = 0; at < row.size(); ++at) row[at] = static_cast<std::byte>(at * 7 + i);
      writes.add(WriteOp::kUpdate, WriteImage::kAfter, std::move(row));
    }
    StagedRecord record;
    return sealed(record, writes);
  };
  const SealedRecord small = fixed(13, 1);
  const std::vector<uint64_t> words(small.words().begin(), small.words().begin() + 8);
  EXPECT_EQ(words,
            (std::vector<uint64_t>{0x040bf3b7d0ddb066, 0x000000000000004d, 0x0000000000000005,
                                   0x0001130200000040, 0x0000000d01010003, 0x0000000000000000,
                                   0x312a231c150e0700, 0x000000544d463f38}));
  EXPECT_EQ(fixed(0, 0).header().checksum, 0x973a22c0bab66be4u)
      << "XXH3's ways for up to 16, 128, 240 bytes, ...";
  EXPECT_EQ(fixed(100, 1).header().checksum, 0x46d0684de297137eu);
  EXPECT_EQ(fixed(150, 1).header().checksum, 0xb6fa2ee4600ac363u);
  EXPECT_EQ(fixed(1000, 1).header().checksum, 0x3565a42c15e372f4u);
  EXPECT_EQ(fixed(300, 10).header().checksum, 0xae041139eea0ac3cu) << "several blocks";
}

}  // namespace
}  // namespace logjam
