// Files of rows on a disk that is cut at any step, fills up, or fails.
#include "engine/checkpoint/row_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "platform/files.h"
#include "proof/disk/memory_files.h"
#include "tests/temporary_directory.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

constexpr uint64_t kRows = 200;
constexpr uint64_t kId = 77;

class RowWriterTest : public testing::Test {
 protected:
  RowWriterTest() {
    Table& table =
        database_.create_table({.name = "t", .row_bytes = 40, .kind = IndexKind::kOrdered});
    for (Key key = 0; key < kRows; ++key) {
      const std::vector<std::byte> row(40, std::byte(key));
      table.restore(key, Version(key + 1, false), row.data(), arena_);
    }
  }

  // Writes all rows to the file "rows".
  std::string write() {
    const TableParts parts(database_, 1);
    RowWriter writer({.path = "rows", .id = kId});
    const std::string wrong = writer.write(database_, parts);
    bytes_ = writer.file().bytes;
    return wrong;
  }
  // Reads the file "rows". Returns an empty string, or what is wrong with it.
  std::string read() const {
    uint64_t tuples = 0;
    const std::string wrong = read_blocks({.path = "rows", .id = kId, .bytes = bytes_}, nullptr,
                                          [&](const BlockHeader& block) {
                                            tuples += block.tuples;
                                            return "";
                                          });
    return wrong.empty() && tuples != kRows ? "rows are missing" : wrong;
  }

  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
  Database database_;
  Arena arena_;
  uint64_t bytes_ = 0;
};

TEST_F(RowWriterTest, WhatItHasWrittenIsDurableAndItsNameIsNot) {
  ASSERT_EQ(write(), "");
  EXPECT_EQ(read(), "");
  size_t absent = 0, whole = 0;
  for (const CrashState& state : disk_.states_after(disk_.steps(), 64, 1)) {
    MemoryFiles after(state);
    const platform::ReplaceFiles replace(after);
    (state.files.contains("rows") ? whole : absent) += 1;
    EXPECT_EQ(read(),
              state.files.contains("rows") ? "" : "cannot read rows: No such file or directory");
  }
  EXPECT_EQ(absent, 1u);
  EXPECT_EQ(whole, 1u);
}

// The blocks of a file have checksums, which torn blocks do not pass.
TEST_F(RowWriterTest, AFileThatIsCutBeforeItsSyncFailsItsChecks) {
  ASSERT_EQ(write(), "");
  size_t step = 0;
  while (!disk_.step(step).starts_with("sync")) ++step;
  size_t good = 0, wrong = 0;
  for (const CrashState& state : disk_.states_after(step, 64, 1)) {
    MemoryFiles after(state);
    const platform::ReplaceFiles replace(after);
    (read().empty() ? good : wrong) += 1;
  }
  EXPECT_GT(wrong, 30u);
  EXPECT_GT(good, 0u);
}

TEST_F(RowWriterTest, AFailureIsNamed) {
  disk_.limit(4096);
  EXPECT_EQ(write(), "cannot write rows: No space left on device");
  disk_.limit(1 << 30);
  disk_.fail("rows", FileCall::kSync, EIO);
  EXPECT_EQ(write(), "cannot sync rows: Input/output error");
  disk_.fail("rows", FileCall::kOpen, EACCES);
  EXPECT_EQ(write(), "cannot create rows: Permission denied");
  EXPECT_EQ(read(), "cannot read rows: Permission denied");
  disk_.mend();
  ASSERT_EQ(write(), "");
  disk_.fail("rows", FileCall::kRead, EIO);
  EXPECT_EQ(read(), "cannot read rows: Input/output error");
}

// File systems without direct I/O refuse O_DIRECT.
TEST_F(RowWriterTest, AFileSystemWithoutDirectWritesIsGoodEnough) {
  class Indirect : public WrappedFiles {
   public:
    using WrappedFiles::WrappedFiles;
    int open(const std::string& path, int flags, int mode) override {
      return (flags & O_DIRECT) != 0 ? -EINVAL : WrappedFiles::open(path, flags, mode);
    }
  };
  Indirect indirect(disk_);
  const platform::ReplaceFiles replace(indirect);
  EXPECT_EQ(write(), "");
  EXPECT_EQ(read(), "");
}

struct Sizes {
  uint64_t rows, tombstones, sequence;
};

// Writes a table with a row and a tombstone of these numbers. A number of 0 is that of the load, or
// of a tuple that no transaction has written.
Sizes sizes_of(uint64_t row, uint64_t tombstone) {
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
  EXPECT_EQ(sizes_of(900, 300).sequence, 900u);
  EXPECT_EQ(sizes_of(300, 900).sequence, 900u);
  EXPECT_EQ(sizes_of(0, 900).sequence, 900u);
}

TEST(RowWriter, ATupleThatNoTransactionHasWrittenIsNoTombstone) {
  const Sizes with = sizes_of(900, 5), without = sizes_of(900, 0);
  EXPECT_EQ(with.rows, 1u);
  EXPECT_EQ(with.tombstones, 1u);
  EXPECT_EQ(without.rows, 1u);
  EXPECT_EQ(without.tombstones, 0u);
}

}  // namespace
}  // namespace logjam
