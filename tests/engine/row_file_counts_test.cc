// A file of rows tells of its contents: its largest sequence number is that of any tuple in it.
#include <gtest/gtest.h>

#include "engine/checkpoint/row_writer.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

struct Sizes {
  uint64_t rows, tombstones, sequence;
};

// Writes a table with a row and a tombstone of these numbers. A number of 0 is that of the load, or
// of a tuple that no transaction has written.
Sizes write(uint64_t row, uint64_t tombstone) {
  const TemporaryDirectory directory;
  Database database;
  Arena arena;
  Table& table = database.create_table({.name = "t", .row_bytes = 8});
  const uint64_t value = 7;
  table.restore(1, Version(row, false), reinterpret_cast<const std::byte*>(&value), arena);
  table.restore(2, Version(tombstone, true), nullptr, arena);
  RowWriter writer({.path = directory.path_of("rows"), .id = 3});
  EXPECT_EQ(writer.write(database, TableParts(database, 1)), "");
  return {writer.file().rows, writer.file().tombstones, writer.sequence()};
}

TEST(RowWriter, TheLargestNumberIsThatOfARowOrOfATombstone) {
  EXPECT_EQ(write(900, 300).sequence, 900u);
  EXPECT_EQ(write(300, 900).sequence, 900u);
  EXPECT_EQ(write(0, 900).sequence, 900u);
}

TEST(RowWriter, ATupleThatNoTransactionHasWrittenIsNoTombstone) {
  const Sizes with = write(900, 5), without = write(900, 0);
  EXPECT_EQ(with.rows, 1u);
  EXPECT_EQ(with.tombstones, 1u);
  EXPECT_EQ(without.rows, 1u);
  EXPECT_EQ(without.tombstones, 0u);
}

}  // namespace
}  // namespace logjam
