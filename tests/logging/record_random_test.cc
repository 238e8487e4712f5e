// Random records: decoding, what the checksum covers, and corrupt bodies.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "logging/format/record.h"

namespace logjam {
namespace {

struct OwnedWrite {
  WriteHeader header;
  std::vector<std::byte> after, before;
};

std::vector<std::byte> random_row(std::mt19937_64& random, uint32_t bytes) {
  std::vector<std::byte> row;
  row.reserve(bytes + 1);  // data() is not null: memcpy() takes no null pointer
  row.resize(bytes);
  for (std::byte& b : row) b = static_cast<std::byte>(random());
  return row;
}

// A sealed record of random writes. Its memory is 8-byte aligned and was filled with 0xee before.
struct Record {
  explicit Record(std::mt19937_64& random) {
    uint32_t bytes = sizeof(RecordHeader);
    for (uint64_t n = random() % 5; n > 0; --n) {
      const auto op = static_cast<WriteOp>(1 + random() % 3);
      const auto image = static_cast<WriteImage>(1 + random() % 2);
      const auto row_bytes = static_cast<uint32_t>(random() % 100);
      OwnedWrite write{{static_cast<uint16_t>(random()), op, image, row_bytes, random()}, {}, {}};
      if (op != WriteOp::kErase) write.after = random_row(random, row_bytes);
      if (image == WriteImage::kBeforeAndAfter) write.before = random_row(random, row_bytes);
      bytes += encoded_bytes(write.header);
      writes.push_back(std::move(write));
    }
    memory.assign(bytes / 8, 0xeeeeeeeeeeeeeeee);
    RecordWriter writer(hole(), bytes, RecordKind::kTransaction, 77, 5);
    for (const OwnedWrite& write : writes) {
      writer.add({write.header, write.after.data(), write.before.data()});
    }
    writer.seal(42, 4096);
  }

  std::byte* hole() { return reinterpret_cast<std::byte*>(memory.data()); }
  RecordHeader& header() { return *reinterpret_cast<RecordHeader*>(memory.data()); }

  std::vector<OwnedWrite> writes;
  std::vector<uint64_t> memory;
};

TEST(Record, DecodingReturnsTheEncodedWrites) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    Record record(random);
    EXPECT_EQ(record.header().checksum, record_checksum(record.header(), 42, 4096));
    RecordBody body(record.header());
    LoggedWrite read;
    for (const OwnedWrite& write : record.writes) {
      ASSERT_TRUE(body.next(&read));
      EXPECT_EQ(read.header.table, write.header.table);
      EXPECT_EQ(read.header.op, write.header.op);
      EXPECT_EQ(read.header.key, write.header.key);
      ASSERT_EQ(read.header.row_bytes, write.header.row_bytes);
      ASSERT_EQ(read.after != nullptr, write.header.op != WriteOp::kErase);
      ASSERT_EQ(read.before != nullptr, write.header.image == WriteImage::kBeforeAndAfter);
      if (read.after != nullptr) {
        EXPECT_EQ(std::memcmp(read.after, write.after.data(), write.after.size()), 0);
      }
      if (read.before != nullptr) {
        EXPECT_EQ(std::memcmp(read.before, write.before.data(), write.before.size()), 0);
      }
    }
    EXPECT_FALSE(body.next(&read));
    EXPECT_TRUE(body.well_formed());
  }
}

TEST(Record, TheChecksumCoversRunPositionAndEveryBit) {
  std::mt19937_64 random(2);
  Record record(random);
  while (record.writes.empty()) record = Record(random);
  const uint64_t good = record.header().checksum;
  EXPECT_NE(good, record_checksum(record.header(), 43, 4096));
  EXPECT_NE(good, record_checksum(record.header(), 42, 4104));
  const uint32_t bytes = record.header().bytes;
  for (size_t bit = 8 * sizeof(uint64_t); bit < size_t{8} * bytes; ++bit) {
    if (bit / 8 >= offsetof(RecordHeader, bytes) && bit / 8 < offsetof(RecordHeader, kind))
      continue;
    record.hole()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_NE(good, record_checksum(record.header(), 42, 4096)) << "bit " << bit;
    record.hole()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

// Only a bug in this program makes a body that is wrong under a valid checksum. Reading such a body
// must not crash either.
TEST(Record, ReadingACorruptBodyStaysInsideIt) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    Record record(random);
    const uint32_t bytes = record.header().bytes;
    for (uint64_t n = 1 + random() % 4; n > 0; --n) {
      const size_t at = offsetof(RecordHeader, writes) + random() % (bytes - 30);
      record.hole()[at] = static_cast<std::byte>(random());
    }
    RecordBody body(record.header());
    LoggedWrite write;
    uint64_t sum = 0;
    while (body.next(&write)) {
      for (const std::byte* row : {write.after, write.before}) {
        for (uint32_t i = 0; row != nullptr && i < write.header.row_bytes; ++i) {
          sum += static_cast<uint64_t>(row[i]);  // AddressSanitizer checks
        }
      }
    }
    EXPECT_LT(sum, uint64_t{1} << 20);
  }
}

}  // namespace
}  // namespace logjam
