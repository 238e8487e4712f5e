// Decoding returns what was encoded, for writes of every form and order, and refuses a body that
// contradicts its header.
#include "logging/format/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace logjam {
namespace {

constexpr uint32_t kRowBytes = 28;  // not a multiple of 8, and more than a write's header
const std::vector<std::byte> kAfter(kRowBytes, std::byte{0xaa});
const std::vector<std::byte> kBefore(kRowBytes, std::byte{0xbb});

LoggedWrite write_of(WriteOp op, WriteImage image, uint64_t key) {
  return {.header = {.table = 3, .op = op, .image = image, .row_bytes = kRowBytes, .key = key},
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
    return all;
  }();
  return forms;
}

class Encoded {
 public:
  explicit Encoded(const std::vector<LoggedWrite>& writes) {
    uint32_t bytes = sizeof(RecordHeader);
    for (const LoggedWrite& write : writes) bytes += encoded_bytes(write.header);
    memory_.resize(bytes / sizeof(uint64_t));
    RecordWriter writer(data(), bytes, RecordKind::kTransaction, 7, 1);
    for (const LoggedWrite& write : writes) writer.add(write);
    writer.seal(5, 0);
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  const RecordHeader& header() { return *reinterpret_cast<const RecordHeader*>(data()); }

 private:
  std::vector<uint64_t> memory_;
};

void expect_equal(const LoggedWrite& got, const LoggedWrite& wanted) {
  EXPECT_EQ(std::memcmp(&got.header, &wanted.header, sizeof(WriteHeader)), 0);
  ASSERT_EQ(got.after != nullptr, wanted.after != nullptr);
  ASSERT_EQ(got.before != nullptr, wanted.before != nullptr);
  if (got.after != nullptr) {
    EXPECT_EQ(std::memcmp(got.after, wanted.after, kRowBytes), 0);
  }
  if (got.before != nullptr) {
    EXPECT_EQ(std::memcmp(got.before, wanted.before, kRowBytes), 0);
  }
}

// The header of an erase states the row's size, but no after image follows it. That matters when
// the erase is the last write.
TEST(RecordBody, EveryPairOfWritesIsDecodedInOrder) {
  for (const LoggedWrite& first : all_forms()) {
    for (const LoggedWrite& second : all_forms()) {
      Encoded encoded({first, second});
      EXPECT_EQ(encoded.header().checksum, record_checksum(encoded.header(), 5, 0));
      RecordBody body(encoded.header());
      LoggedWrite got;
      ASSERT_TRUE(body.next(&got));
      expect_equal(got, first);
      ASSERT_TRUE(body.next(&got))
          << "after key " << first.header.key << ", key " << second.header.key;
      expect_equal(got, second);
      EXPECT_FALSE(body.next(&got));
      EXPECT_TRUE(body.well_formed());
    }
  }
}

TEST(RecordBody, ARowLargerThanTheRecordIsRefused) {
  for (const LoggedWrite& form : all_forms()) {
    const bool has_image = form.after != nullptr || form.before != nullptr;
    if (!has_image) continue;
    for (uint32_t row_bytes : {33u, 1u << 20, ~uint32_t{0}, ~uint32_t{0} - 7, uint32_t{1} << 31}) {
      Encoded encoded({form});
      auto* write = reinterpret_cast<WriteHeader*>(encoded.data() + sizeof(RecordHeader));
      write->row_bytes = row_bytes;
      RecordBody body(encoded.header());
      LoggedWrite got;
      EXPECT_FALSE(body.next(&got)) << row_bytes;
      EXPECT_FALSE(body.well_formed()) << row_bytes;
    }
  }
}

TEST(RecordBody, AWrongNumberOfWritesIsRefused) {
  for (uint16_t writes : {0, 1, 3}) {
    Encoded encoded({all_forms()[0], all_forms()[4]});
    reinterpret_cast<RecordHeader*>(encoded.data())->writes = writes;
    RecordBody body(encoded.header());
    LoggedWrite got;
    while (body.next(&got)) {
    }
    EXPECT_FALSE(body.well_formed()) << writes;
  }
}

TEST(Command, AnyLengthIsDecodedAndAWrongLengthIsRefused) {
  for (size_t length = 0; length < 20; ++length) {
    const std::vector<std::byte> input(length, std::byte{0xcc});
    const LoggedCommand command{3, 5, input};
    const auto bytes = static_cast<uint32_t>(sizeof(RecordHeader) + encoded_bytes(command));
    std::vector<uint64_t> memory(bytes / sizeof(uint64_t));
    auto* hole = reinterpret_cast<std::byte*>(memory.data());
    RecordWriter writer(hole, bytes, RecordKind::kCommand, 7, 1);
    writer.add(command);
    writer.seal(5, 0);
    auto& header = *reinterpret_cast<RecordHeader*>(hole);
    EXPECT_EQ(header.checksum, record_checksum(header, 5, 0));
    LoggedCommand got;
    ASSERT_TRUE(read_command(header, &got));
    EXPECT_EQ(got.type, 3);
    EXPECT_EQ(got.rows, 5);
    EXPECT_TRUE(std::ranges::equal(got.input, input));

    auto& own = *reinterpret_cast<CommandHeader*>(hole + sizeof(RecordHeader));
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
