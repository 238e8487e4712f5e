// Checkpoints without transactions: a load reads back every tuple, and refuses damage.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/checkpoint/checkpointer.h"
#include "engine/checkpoint/load_checkpoint.h"
#include "engine/checkpoint/row_writer.h"
#include "engine/storage/tuple.h"
#include "logging/format/manifest_file.h"
#include "platform/files.h"
#include "platform/mutex.h"
#include "proof/disk/memory_files.h"
#include "tests/allowed_now.h"
#include "tests/temporary_directory.h"
#include "tests/with_placement.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

struct Row {
  uint64_t first, second;
  uint32_t third;
};

constexpr uint64_t kRows = 5000;

void create_tables(Database& database) {
  const auto second = [](Key, const std::byte* row) {
    return reinterpret_cast<const Row*>(row)->second;
  };
  database.create_table({.name = "hashed", .row_bytes = sizeof(Row), .expected_rows = kRows});
  database.create_table({.name = "ordered",
                         .row_bytes = 20,
                         .kind = IndexKind::kOrdered,
                         .secondaries = {{.name = "by_second", .key_of = second}}});
  database.create_table({.name = "empty", .row_bytes = 8, .kind = IndexKind::kOrdered});
}

// Fills the tables. Every seventh row is erased. Every eleventh row has sequence number 0, like a
// loaded row.
void fill(Database& database, Arena& arena) {
  for (const auto& table : database.tables()) {
    if (table->schema().name == "empty") continue;
    for (Key key = 0; key < kRows; ++key) {
      const Row row{key, key % 13, static_cast<uint32_t>(key)};
      const bool erased = key % 7 == 3;
      const Version version(key % 11 == 0 ? 0 : 1000 + key, erased);
      table->restore(key, version, erased ? nullptr : reinterpret_cast<const std::byte*>(&row),
                     arena);
    }
  }
}

// The table, key, version and row of each committed tuple.
using Contents = std::set<std::tuple<uint16_t, Key, uint64_t, std::string>>;
Contents contents_of(Database& database) {
  Contents contents;
  for (const auto& table : database.tables()) {
    table->primary().for_each([&](Keyed* entry) {
      const Tuple& tuple = *Table::tuple_of(entry);
      const Version version = tuple.load_version();
      if (version == Version(0, true)) return;
      std::string row;
      if (!version.absent()) {
        row.assign(reinterpret_cast<const char*>(tuple.row()), table->row_bytes());
      }
      contents.emplace(table->id(), tuple.key, version.word(), row);
    });
  }
  return contents;
}

// A file system that calls a function at each sync of a file.
class WatchedSyncs : public WrappedFiles {
 public:
  explicit WatchedSyncs(std::function<void(int file)> on_sync) : on_sync_(std::move(on_sync)) {}
  int sync(int file) override {
    on_sync_(file);
    return WrappedFiles::sync(file);
  }

 private:
  const std::function<void(int file)> on_sync_;
};

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    use({directory_.path_of("a"), directory_.path_of("b")});
    options_.files = 3;
    options_.about.ordinal = 2;
    options_.about.flags = {{"workload", "a%b"}};
    create_tables(database_);
    fill(database_, arena_);
  }

  void use(const std::vector<std::string>& directories) {
    for (const std::string& one : directories) fs::create_directory(one);
    Manifest begun;
    begun.log = 7;
    manifest_.emplace(directories, std::move(begun));
    options_.manifest = &*manifest_;
    ASSERT_EQ(manifest_->prepare([&](Manifest& manifest) {
      manifest.directories = static_cast<uint32_t>(directories.size());
    }),
              0);
    manifest_->commit();
  }
  const std::vector<std::string>& directories() const { return manifest_->directories(); }

  Checkpoint take() {
    std::string wrong;
    checkpoint_at_end(database_, options_, &wrong);
    EXPECT_EQ(wrong, "");
    return manifest_->current().checkpoints.back();
  }
  // Returns the numbers of the checkpoints that have a directory.
  std::vector<uint64_t> there() const {
    std::vector<uint64_t> numbers;
    for (uint64_t number = 1; number < 20; ++number) {
      if (fs::exists(checkpoint_directory(directories()[0], number))) numbers.push_back(number);
    }
    return numbers;
  }
  std::string path_of(const Checkpoint& checkpoint, size_t file) {
    std::string error;
    return paths_of(directories(), checkpoint, &error)[file];
  }

  // Loads the checkpoint into another database. Returns the error.
  std::string load(const Checkpoint& checkpoint, Contents* contents = nullptr) {
    Database other;
    create_tables(other);
    const LoadResult result = load_checkpoint(other, directories(), checkpoint);
    if (contents != nullptr) *contents = contents_of(other);
    return result.error;
  }

  TemporaryDirectory directory_;
  std::optional<LogManifest> manifest_;
  CheckpointOptions options_;
  Database database_;
  Arena arena_;
};

TEST_F(CheckpointTest, WhatIsWrittenComesBackWithVersionsAndTombstones) {
  const Checkpoint taken = take();
  EXPECT_EQ(taken.files.size(), 6u);
  const FoundManifest manifest = find_manifest({directories()[1], directories()[0]});
  ASSERT_EQ(manifest.error, "");
  ASSERT_EQ(manifest.directories, directories());
  const Checkpoint found = manifest.manifest.checkpoints.at(0);
  EXPECT_EQ(found.lines(), taken.lines());
  EXPECT_TRUE(found.complete);
  Contents contents;
  ASSERT_EQ(load(found, &contents), "");
  const Contents wanted = contents_of(database_);
  EXPECT_EQ(contents, wanted);
  const auto absent = std::ranges::count_if(
      contents, [](const auto& one) { return Version(std::get<2>(one)).absent(); });
  EXPECT_GT(absent, 1000) << "erased rows are absent tuples with the number of their erase";
  EXPECT_EQ(found.sequence, 1000 + kRows - 1);

  Database other;
  create_tables(other);
  ASSERT_EQ(load_checkpoint(other, directories(), taken).error, "");
  uint64_t postings = 0, rows = other.table("ordered").count_rows();
  other.table("ordered").secondary(0).for_each([&](Keyed* entry) {
    const auto& posting = *static_cast<Posting*>(entry);
    EXPECT_EQ(posting.tuple->key, posting.primary);
    EXPECT_EQ(posting.key, posting.primary % 13);
    ++postings;
  });
  EXPECT_EQ(postings, rows);
}

TEST_F(CheckpointTest, PartsHaveEveryTupleOnceWhateverTheirNumber) {
  for (const uint32_t parts : {1u, 2u, 3u, 7u, 64u}) {
    const TableParts divided(database_, parts);
    for (const auto& table : database_.tables()) {
      std::map<Key, int> seen;
      for (uint32_t part = 0; part < parts; ++part) {
        divided.walk(*table, part, [&](const Tuple& tuple) { ++seen[tuple.key]; });
      }
      EXPECT_EQ(seen.size(), table->schema().name == "empty" ? 0 : kRows);
      for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
    }
  }
}

TEST_F(CheckpointTest, PartsOfAnOrderedTableAreEvenHoweverItWasFilled) {
  Database database;
  Table& table = database.create_table({.name = "t", .row_bytes = 8, .kind = IndexKind::kOrdered});
  // The first 20,000 keys are inserted in ascending order, which leaves their leaf nodes half full.
  // The other keys come in another order, and their leaf nodes are fuller. The parts must still
  // have equally many tuples.
  constexpr uint64_t kHalf = 20'000, kPrime = 19'997;
  for (Key key = 0; key < kHalf; ++key) table.restore(key, Version(1, true), nullptr, arena_);
  for (Key i = 1; i < kPrime; ++i) {
    table.restore(kHalf + i * 7919 % kPrime, Version(1, true), nullptr, arena_);
  }
  constexpr uint32_t kParts = 4;
  const TableParts divided(database, kParts);
  for (uint32_t part = 0; part < kParts; ++part) {
    uint64_t tuples = 0;
    divided.walk(table, part, [&](const Tuple&) { ++tuples; });
    EXPECT_NEAR(static_cast<double>(tuples), 2.0 * kHalf / kParts, 200.0) << part;
  }
}

TEST_F(CheckpointTest, AFileThatIsShortMissingOrOfAnotherCheckpointIsRefused) {
  const Checkpoint first = take(), second = take();
  const std::string path = path_of(second, 0);
  fs::copy_file(path_of(first, 0), path, fs::copy_options::overwrite_existing);
  EXPECT_NE(load(second).find("is corrupt at byte 0"), std::string::npos);
  fs::resize_file(path, second.files[0].bytes - 8);
  EXPECT_NE(load(second).find("too short"), std::string::npos);
  fs::remove(path);
  EXPECT_NE(load(second).find("lacks its file rows-0"), std::string::npos);
}

TEST_F(CheckpointTest, OtherTablesAreRefused) {
  const Checkpoint taken = take();
  Database other;
  other.create_table({.name = "hashed", .row_bytes = 8});
  EXPECT_NE(load_checkpoint(other, directories(), taken).error.find("has the tables"),
            std::string::npos);
}

// Another program may have made a directory with a checkpoint's name. Checkpoints must not remove
// this directory.
TEST_F(CheckpointTest, ADirectoryOfSomethingElseIsLeftAlone) {
  const std::string foreign = checkpoint_directory(directories()[1], 2);
  fs::create_directory(foreign);
  std::ofstream(foreign + "/rows-0") << "weights";
  for (int i = 0; i < 5; ++i) take();
  EXPECT_EQ(fs::file_size(foreign + "/rows-0"), 7u);
  EXPECT_EQ(there(), (std::vector<uint64_t>{5, 6})) << "the last two stay";
  EXPECT_EQ(manifest_->current().checkpoints.size(), 2u);
}

// In the simulated placement, core 0 is on socket 0 and core 1 is on socket 1.
TEST_F(CheckpointTest, AWriterKeepsToTheSocketOfItsDirectory) {
  auto allowed = platform::allowed_cores();
  std::ranges::sort(allowed);
  if (!std::ranges::includes(allowed, std::vector{0, 1})) GTEST_SKIP() << "needs cores 0 and 1";
  const WithPlacement compact("pack:2 numa:1 core:1 pu:1", platform::PlacementPolicy::kCompact, 2);
  platform::mutex mutex;
  std::map<std::string, std::set<int>> cores;  // the cores of threads that sync rows
  WatchedSyncs watched([&](int fd) {
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    if (!path.filename().native().starts_with("rows-")) return;
    const platform::lock_guard<platform::mutex> hold(mutex);
    cores[path.parent_path().parent_path().filename()].merge(allowed_now());
  });
  const platform::ReplaceFiles replace(watched);
  options_.sockets = {1, 0};
  take();
  using Cores = std::map<std::string, std::set<int>>;
  EXPECT_EQ(cores, (Cores{{"a", {1}}, {"b", {0}}}));
}

TEST(CommittedRow, ALockedTupleIsWaitedForUnderEitherProtocol) {
  Database database;
  create_tables(database);
  Arena arena;
  const Row row{1, 2, 3};
  Table& table = database.table("hashed");
  table.restore(5, Version(8, false), reinterpret_cast<const std::byte*>(&row), arena);
  Tuple& tuple = *table.find_or_create(5, arena);
  alignas(8) std::byte copy[sizeof(Row) + 8];
  Version version;
  EXPECT_TRUE(try_copy_committed(tuple, table.row_bytes(), copy, &version));
  EXPECT_EQ(version, Version(8, false));
  EXPECT_EQ(reinterpret_cast<const Row*>(copy)->second, 2u);
  tuple.version.store(Version(8, false).word() | Version::kLocked);
  EXPECT_FALSE(try_copy_committed(tuple, table.row_bytes(), copy, &version));
  tuple.version.store(Version(8, false).word());
  tuple.lock.store(kLockedForever | 77);
  EXPECT_FALSE(try_copy_committed(tuple, table.row_bytes(), copy, &version));
  tuple.lock.store(uint64_t{1} << 46);  // a shared lock
  EXPECT_TRUE(try_copy_committed(tuple, table.row_bytes(), copy, &version));
}

// --- row files, on a disk that fills up or fails ---

constexpr uint64_t kWritten = 200, kId = 77;

class RowWriterTest : public testing::Test {
 protected:
  RowWriterTest() {
    Table& table =
        database_.create_table({.name = "t", .row_bytes = 40, .kind = IndexKind::kOrdered});
    for (Key key = 0; key < kWritten; ++key) {
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
  // Reads the file "rows". Returns an error, or an empty string.
  std::string read() const {
    uint64_t tuples = 0;
    const std::string wrong = read_blocks({.path = "rows", .id = kId, .bytes = bytes_}, nullptr,
                                          [&](const BlockHeader& block) {
                                            tuples += block.tuples;
                                            return "";
                                          });
    return wrong.empty() && tuples != kWritten ? "rows are missing" : wrong;
  }

  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
  Database database_;
  Arena arena_;
  uint64_t bytes_ = 0;
};

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

// File systems without direct I/O refuse O_DIRECT. The writer must then write without it.
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

// The initial load has number 0, and so has a tuple that no transaction has written.
TEST(RowWriter, TheLargestNumberIsThatOfARowOrOfATombstone) {
  for (const auto& [row, tombstone] :
       std::vector<std::pair<uint64_t, uint64_t>>{{900, 300}, {300, 900}, {0, 900}, {900, 0}}) {
    const TemporaryDirectory directory;
    Database database;
    Arena arena;
    Table& table = database.create_table({.name = "t", .row_bytes = 8});
    const uint64_t value = 7;
    table.restore(1, Version(row, false), reinterpret_cast<const std::byte*>(&value), arena);
    table.restore(2, Version(tombstone, true), nullptr, arena);
    RowWriter writer({.path = directory.path_of("rows"), .id = 3});
    EXPECT_EQ(writer.write(database, TableParts(database, 1)), "");
    EXPECT_EQ(writer.sequence(), 900u);
    EXPECT_EQ(writer.file().rows, 1u);
    EXPECT_EQ(writer.file().tombstones, tombstone == 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace logjam
