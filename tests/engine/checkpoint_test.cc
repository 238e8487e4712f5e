// Checkpoints without transactions: all that was written is read back, damage is refused, and a
// power cut at any step leaves a checkpoint that counts.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "engine/checkpoint/checkpointer.h"
#include "engine/checkpoint/load_checkpoint.h"
#include "engine/checkpoint/row_writer.h"
#include "engine/storage/committed_row.h"
#include "logging/format/run_directories.h"
#include "platform/mutex.h"
#include "platform/thread.h"
#include "tests/temporary_directory.h"
#include "tests/with_placement.h"

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

// Rows of all keys up to kRows; every seventh was erased, and every eleventh was never written.
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

// All tuples except those that an insert without a commit has left: table, key, version and row.
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

// The hook of a power cut: a function of CheckpointOptions::sync has no state of its own.
std::function<void(int fd)> on_sync;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    on_sync = [](int) {};
    for (const char* name : {"a", "b"}) {
      options_.directories.push_back(directory_.path_of(name));
      fs::create_directory(options_.directories.back());
    }
    options_.files = 3;
    options_.about.first_run = 7;
    options_.about.run = 9;
    options_.about.ordinal = 2;
    options_.about.flags = {{"workload", "a\nb"}};
    options_.sync = [](int fd) {
      on_sync(fd);
      return 0;
    };
    create_tables(database_);
    fill(database_, arena_);
  }

  Checkpoint take() { return checkpoint_at_end(database_, options_, {5, 6}); }

  // Loads the checkpoint into another database. Returns the error.
  std::string load(const Checkpoint& checkpoint, Contents* contents = nullptr) {
    Database other;
    create_tables(other);
    const LoadResult result = load_checkpoint(other, options_.directories, checkpoint);
    if (contents != nullptr) *contents = contents_of(other);
    return result.error;
  }

  TemporaryDirectory directory_;
  CheckpointOptions options_;
  Database database_;
  Arena arena_;
};

TEST_F(CheckpointTest, WhatIsWrittenComesBackWithVersionsAndTombstones) {
  const Checkpoint taken = take();
  EXPECT_EQ(taken.files.size(), 6u);
  Checkpoint found;
  std::vector<std::string> reversed(options_.directories.rbegin(), options_.directories.rend());
  ASSERT_EQ(find_checkpoint(reversed, 1, &found), "");
  EXPECT_EQ(found.encode(), taken.encode());
  EXPECT_EQ(found.tails, (std::vector<uint64_t>{5, 6}));
  Contents contents;
  ASSERT_EQ(load(found, &contents), "");
  const Contents wanted = contents_of(database_);
  EXPECT_EQ(contents, wanted);
  const auto absent = std::ranges::count_if(
      contents, [](const auto& one) { return Version(std::get<2>(one)).absent(); });
  EXPECT_GT(absent, 1000) << "erased rows are absent tuples with the number of their erase";
  EXPECT_EQ(found.sequence, 1000 + kRows - 1);
}

TEST_F(CheckpointTest, SecondaryIndexesHaveThePresentRows) {
  const Checkpoint taken = take();
  Database other;
  create_tables(other);
  ASSERT_EQ(load_checkpoint(other, options_.directories, taken).error, "");
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
  // Ascending keys leave half-full leaves behind; the leaves of the others are fuller.
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

TEST_F(CheckpointTest, EveryChangedByteOfAFileIsFound) {
  const Checkpoint taken = take();
  const std::string path = path_of(options_.directories, taken, taken.files[4]);
  for (uint64_t at = 0; at < taken.files[4].bytes; at += 997) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(file.get());
    const auto put = [&](char byte) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte).flush();
    };
    put(static_cast<char>(was ^ 0x10));
    EXPECT_NE(load(taken).find(path + " is corrupt"), std::string::npos) << at;
    put(was);
  }
  EXPECT_EQ(load(taken), "");
}

TEST_F(CheckpointTest, AFileThatIsShortMissingOrOfAnotherCheckpointIsRefused) {
  const Checkpoint first = take(), second = take();
  Checkpoint found;
  const std::string path = path_of(options_.directories, second, second.files[0]);
  fs::copy_file(path_of(options_.directories, first, first.files[0]), path,
                fs::copy_options::overwrite_existing);
  EXPECT_NE(load(second).find("is corrupt at byte 0"), std::string::npos);
  fs::resize_file(path, second.files[0].bytes - 8);
  EXPECT_NE(find_checkpoint(options_.directories, 2, &found).find("too short"), std::string::npos);
  fs::remove(path);
  EXPECT_NE(find_checkpoint(options_.directories, 2, &found).find("lacks its file rows-0"),
            std::string::npos);
  fs::resize_file(metadata_path(options_.directories[0], 1), 40);
  EXPECT_NE(find_checkpoint(options_.directories, 1, &found).find("has no end"), std::string::npos);
  EXPECT_NE(find_checkpoint(options_.directories, 9, &found).find("incomplete"), std::string::npos);
}

TEST_F(CheckpointTest, OtherTablesAreRefused) {
  const Checkpoint taken = take();
  Database other;
  other.create_table({.name = "hashed", .row_bytes = 8});
  EXPECT_NE(load_checkpoint(other, options_.directories, taken).error.find("has the tables"),
            std::string::npos);
}

TEST_F(CheckpointTest, TheLastTwoStay) {
  for (int i = 0; i < 4; ++i) take();
  EXPECT_EQ(checkpoint_numbers_in(options_.directories), (std::vector<uint64_t>{3, 4}));
}

// Contexts 0 and 1 play the two sockets.
TEST_F(CheckpointTest, AWriterKeepsToTheSocketOfItsDirectory) {
  auto allowed = platform::allowed_cores();
  std::ranges::sort(allowed);
  if (!std::ranges::includes(allowed, std::vector{0, 1})) GTEST_SKIP() << "needs cores 0 and 1";
  const WithPlacement compact("pack:2 numa:1 core:1 pu:1", platform::PlacementPolicy::kCompact, 2);
  platform::mutex mutex;
  std::map<std::string, std::set<int>> cores;  // of the threads that sync rows
  on_sync = [&](int fd) {
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    if (!path.filename().native().starts_with("rows-")) return;
    const platform::lock_guard<platform::mutex> hold(mutex);
    cpu_set_t allowed_here;
    CPU_ZERO(&allowed_here);
    sched_getaffinity(0, sizeof allowed_here, &allowed_here);
    for (const int core : allowed) {
      if (CPU_ISSET(static_cast<size_t>(core), &allowed_here)) {
        cores[path.parent_path().parent_path().filename()].insert(core);
      }
    }
  };
  options_.sockets = {1, 0};
  take();
  using Cores = std::map<std::string, std::set<int>>;
  EXPECT_EQ(cores, (Cores{{"a", {1}}, {"b", {0}}}));
}

// A disk after a power cut. Files have the bytes of their last sync, directories the names of
// theirs. A file whose name was synced, and whose bytes were not, has garbage.
class Disk {
 public:
  explicit Disk(std::string root) : root_(std::move(root)) {}

  void synced(int fd) {
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    std::vector<std::string> names;
    if (!fs::is_directory(path)) {
      std::ifstream in(path, std::ios::binary);
      bytes_[path] = {std::istreambuf_iterator<char>(in), {}};
      return;
    }
    for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
    names_[path] = names;
  }
  // A rename keeps the synced bytes of the old name.
  void renamed(const std::string& from, const std::string& to) {
    if (bytes_.contains(from)) bytes_[to] = bytes_[from];
  }
  // Copies what survives of the directory `from` to `to`.
  void cut_power(const fs::path& from, const fs::path& to) const {
    fs::create_directories(to);
    const auto names = names_.find(from);
    if (names == names_.end()) return;
    for (const std::string& name : names->second) {
      const fs::path path = from / name;
      if (!fs::exists(path)) continue;  // a removal may take effect before it is synced
      if (fs::is_directory(path)) {
        cut_power(path, to / name);
      } else {
        const auto bytes = bytes_.find(path);
        std::ofstream out(to / name, std::ios::binary);
        out << (bytes == bytes_.end() ? std::string(fs::file_size(path), '?') : bytes->second);
      }
    }
  }

 private:
  const std::string root_;
  std::map<fs::path, std::string> bytes_;
  std::map<fs::path, std::vector<std::string>> names_;
};

TEST_F(CheckpointTest, AfterAPowerCutAtAnyStepTheLatestThatCountsHasAllItsRows) {
  Disk disk(directory_.path());
  int cuts = 0, complete = 0;
  bool metadata_synced = false;
  const auto cut = [&] {
    const TemporaryDirectory after;
    std::vector<std::string> directories;
    for (const std::string& directory : options_.directories) {
      directories.push_back(after.path_of(fs::path(directory).filename().native()));
      disk.cut_power(directory, directories.back());
    }
    ++cuts;
    for (const uint64_t number : checkpoint_numbers_in(directories)) {
      Checkpoint found;
      if (!fs::exists(metadata_path(directories[0], number))) continue;
      ASSERT_EQ(find_checkpoint(directories, number, &found), "");
      Database other;
      create_tables(other);
      ASSERT_EQ(load_checkpoint(other, directories, found).error, "");
      ++complete;
    }
    if (metadata_synced) {
      EXPECT_FALSE(checkpoint_numbers_in(directories).empty());
    }
  };
  on_sync = [&](int fd) {
    cut();  // just before the sync
    const std::string path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
    disk.synced(fd);
    if (path.ends_with("metadata.new")) {
      disk.renamed(path, path.substr(0, path.size() - 4));
    }
    cut();
  };
  options_.files = 1;  // the writers are threads: one directory, one at a time
  options_.directories.resize(1);
  options_.after_step = [&](const char* step) {
    metadata_synced = metadata_synced || std::string(step) == "the metadata written";
    cut();
  };
  take();
  take();
  take();
  EXPECT_GT(cuts, 30);
  EXPECT_GT(complete, 10);
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
  tuple.lock.store(uint64_t{1} << 46);  // shared
  EXPECT_TRUE(try_copy_committed(tuple, table.row_bytes(), copy, &version));
}

}  // namespace
}  // namespace logjam
