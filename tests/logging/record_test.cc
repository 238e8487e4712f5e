// Decoding returns the encoded writes, in every form and order. Decoding refuses a body that
// contradicts the record's header. The checksum covers the whole record, its run and its position.
#include "logging/format/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/logging/sealed_record.h"

namespace logjam {
namespace {

constexpr uint32_t kRowBytes = 28;  // no multiple of 8, and longer than a write's header
const std::vector<std::byte> kAfter(kRowBytes, std::byte{0xaa});
const std::vector<std::byte> kBefore(kRowBytes, std::byte{0xbb});

LoggedWrite write_of(WriteOp op, WriteImage image, uint64_t key) {
  return {.header = {.table = 3, .op = op, .image = image, .image_bytes = kRowBytes, .key = key},
          .after = op == WriteOp::kErase ? nullptr : kAfter.data(),
          .before = image == WriteImage::kBeforeAndAfter ? kBefore.data() : nullptr};
}

const std::vector<LoggedWrite>& all_forms() {
  static const std::vector<LoggedWrite> forms = [] {
    std::vector<LoggedWrite> all;
    for (WriteOp op : {WriteOp::kUpdate, WriteOp::kInsert, WriteOp::kErase}) {
      for (WriteImage image : {WriteImage::kAfter, WriteImage::kBeforeAndAfter}) {
        all.push_back(write_of(op, image, all.size()));
      }
    }
    all.push_back(write_of(WriteOp::kUpdate, WriteImage::kRanges, all.size()));
    return all;
  }();
  return forms;
}

void expect_equal(const LoggedWrite& got, const LoggedWrite& wanted) {
  EXPECT_EQ(std::memcmp(&got.header, &wanted.header, sizeof(WriteHeader)), 0);
  ASSERT_EQ(got.after != nullptr, wanted.after != nullptr);
  ASSERT_EQ(got.before != nullptr, wanted.before != nullptr);
  const uint32_t bytes = wanted.header.image_bytes;
  if (got.after != nullptr) {
    EXPECT_EQ(std::memcmp(got.after, wanted.after, bytes), 0);
  }
  if (got.before != nullptr) {
    EXPECT_EQ(std::memcmp(got.before, wanted.before, bytes), 0);
  }
}

void expect_decoded(const std::vector<LoggedWrite>& writes) {
  SealedRecord record(writes);
  EXPECT_TRUE(record.checksum_is_right());
  RecordBody body(record.header());
  LoggedWrite got;
  for (const LoggedWrite& write : writes) {
    ASSERT_TRUE(body.next(&got)) << "key " << write.header.key;
    expect_equal(got, write);
  }
  EXPECT_FALSE(body.next(&got));
  EXPECT_TRUE(body.well_formed());
}

// The header of an erase gives the row's size, but no after image follows. The decoder must not
// read an after image, even if the erase is the last write.
TEST(RecordBody, EveryPairOfWritesIsDecodedInOrder) {
  for (const LoggedWrite& first : all_forms()) {
    for (const LoggedWrite& second : all_forms()) expect_decoded({first, second});
  }
}

TEST(RecordBody, ARowLargerThanTheRecordIsRefused) {
  for (const LoggedWrite& form : all_forms()) {
    const bool has_image = form.after != nullptr || form.before != nullptr;
    if (!has_image) continue;
    for (uint32_t row_bytes : {33u, 1u << 20, ~uint32_t{0}, ~uint32_t{0} - 7, uint32_t{1} << 31}) {
      SealedRecord record({form});
      auto* write = reinterpret_cast<WriteHeader*>(record.data() + sizeof(RecordHeader));
      write->image_bytes = row_bytes;
      RecordBody body(record.header());
      LoggedWrite got;
      EXPECT_FALSE(body.next(&got)) << row_bytes;
      EXPECT_FALSE(body.well_formed()) << row_bytes;
    }
  }
}

TEST(RecordBody, RangesAreOfAnUpdateAndNameAVersion) {
  LoggedWrite without_version = write_of(WriteOp::kUpdate, WriteImage::kRanges, 1);
  without_version.header.image_bytes = 7;
  for (const LoggedWrite& write :
       {write_of(WriteOp::kInsert, WriteImage::kRanges, 1),
        write_of(WriteOp::kErase, WriteImage::kRanges, 1), without_version}) {
    SealedRecord record({write});
    RecordBody body(record.header());
    LoggedWrite got;
    EXPECT_FALSE(body.next(&got));
    EXPECT_FALSE(body.well_formed());
  }
}

TEST(RecordBody, AWrongNumberOfWritesIsRefused) {
  for (uint16_t writes : {0, 1, 3}) {
    SealedRecord record({all_forms()[0], all_forms()[4]});
    record.header().writes = writes;
    RecordBody body(record.header());
    LoggedWrite got;
    while (body.next(&got)) {
    }
    EXPECT_FALSE(body.well_formed()) << writes;
  }
}

TEST(RecordChecksum, CoversRunPositionAndEveryBit) {
  SealedRecord record({all_forms()[0], all_forms()[5]});
  RecordHeader& header = record.header();
  EXPECT_TRUE(record.checksum_is_right());
  const uint64_t good = header.checksum;
  EXPECT_NE(good, record_checksum(header, SealedRecord::kRun + 1, SealedRecord::kPosition));
  EXPECT_NE(good, record_checksum(header, SealedRecord::kRun, SealedRecord::kPosition + 8));
  const uint32_t bytes = header.bytes;
  for (size_t bit = 8 * sizeof(uint64_t); bit < size_t{8} * bytes; ++bit) {
    const size_t at = bit / 8;
    // The length field decides how many bytes the checksum covers, so this field is left unchanged.
    if (at >= offsetof(RecordHeader, bytes) && at < offsetof(RecordHeader, kind)) continue;
    record.data()[at] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(record.checksum_is_right()) << "bit " << bit;
    record.data()[at] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

TEST(Command, AnyLengthIsDecodedAndAWrongLengthIsRefused) {
  for (size_t length = 0; length < 20; ++length) {
    const std::vector<std::byte> input(length, std::byte{0xcc});
    SealedRecord record(LoggedCommand{3, 5, input});
    EXPECT_TRUE(record.checksum_is_right());
    RecordHeader& header = record.header();
    LoggedCommand got;
    ASSERT_TRUE(read_command(header, &got));
    EXPECT_EQ(got.type, 3);
    EXPECT_EQ(got.rows, 5);
    EXPECT_TRUE(std::ranges::equal(got.input, input));

    auto& own = *reinterpret_cast<CommandHeader*>(record.data() + sizeof(RecordHeader));
    for (const uint32_t wrong : {own.input_bytes + 8, ~uint32_t{0}, ~uint32_t{0} - 8}) {
      own.input_bytes = wrong;
      EXPECT_FALSE(read_command(header, &got)) << wrong;
    }
    own.input_bytes = static_cast<uint32_t>(length);
    header.kind = RecordKind::kTransaction;
    EXPECT_FALSE(read_command(header, &got));
    header.kind = RecordKind::kCommand;
    header.bytes = sizeof(RecordHeader);
    EXPECT_FALSE(read_command(header, &got));
  }
}

}  // namespace
}  // namespace logjam
