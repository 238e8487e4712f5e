// The classes that store rows, tested without transactions: arenas, free lists, tables, CSV files.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "engine/recovery/recover_chain.h"
#include "engine/storage/csv_export.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/memory.h"
#include "platform/spin.h"
#include "platform/thread.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// --- arenas ---

constexpr size_t kPiece = size_t{8} << 20, kHugePage = size_t{2} << 20;
constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

TEST(Arena, AllocationsAreAlignedZeroedAndDisjoint) {
  Arena arena;
  for (int i = 0; i < 3000; ++i) {
    const size_t align = size_t{1} << (i % 7);
    const size_t bytes = 1 + static_cast<size_t>(i) % 97;
    auto* p = static_cast<std::byte*>(arena.allocate(bytes, align));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0u);
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(p[b], std::byte{0}) << "fresh memory is zero";
    std::memset(p, 0xAB, bytes);
  }
  EXPECT_GE(arena.allocated_bytes(), 3000u * 49);
}

TEST(Arena, FreesOnlyTheLatestAllocation) {
  Arena arena;
  void* a = arena.allocate(64);
  void* b = arena.allocate(64);
  arena.free(a, 64);
  EXPECT_NE(arena.allocate(8), a);
  void* c = arena.allocate(64);
  arena.free(c, 64);
  EXPECT_EQ(arena.allocate(64), c);
  EXPECT_NE(b, c);
}

size_t pages_in_memory(void* start, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(start, bytes, pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

TEST(Arena, AllocatesWhatItPrefaultedFirst) {
  Arena arena;
  arena.prefault(2 * kPiece, kForever);
  EXPECT_EQ(arena.allocated_bytes(), 0u);
  std::set<void*> pieces;
  for (int i = 0; i < 2; ++i) {
    void* piece = arena.allocate(kPiece, 64);
    EXPECT_TRUE(pieces.insert(piece).second);
    EXPECT_EQ(pages_in_memory(piece, kPiece), kPiece / 4096) << "before it is touched";
  }
  EXPECT_EQ(pages_in_memory(arena.allocate(kPiece, 64), kPiece), 0u) << "no more was asked for";
}

TEST(Arena, KeepsWhatItPrefaultedForAllocationsThatFit) {
  Arena arena;
  arena.prefault(1, kForever);
  EXPECT_EQ(pages_in_memory(arena.allocate(5 * kHugePage, 64), 5 * kHugePage), 0u)
      << "it fits in no chunk";
  void* small = arena.allocate(4096, 64);
  EXPECT_EQ(pages_in_memory(small, 4096), 1u);
}

TEST(Arena, PrefaultsWholeHugePagesAndNoMore) {
  Arena arena;
  arena.prefault(kHugePage + 1, kForever);
  EXPECT_EQ(pages_in_memory(arena.allocate(4 * kHugePage, 64), 4 * kHugePage),
            2 * kHugePage / 4096);
}

TEST(Arena, StopsPrefaultingInTime) {
  Arena arena;
  arena.prefault(size_t{1} << 40, platform::now_ns());
  EXPECT_EQ(pages_in_memory(arena.allocate(1 << 20, 64), 1 << 20), 0u);
  // The time limit may also pass in the middle of a chunk, so map_prefaulted() must check it, too.
  void* piece = platform::map_prefaulted(kPiece, kPiece, platform::kFirstTouch, platform::now_ns());
  EXPECT_EQ(pages_in_memory(piece, kPiece), 0u);
  platform::unmap_huge(piece, kPiece);
}

// --- free lists ---

constexpr size_t kBlockBytes = 64;
// 65,536 calls are enough to look at each arena's part of the list several times.
constexpr int kCalls = 1 << 16;

void* new_block(Arena& arena) { return arena.allocate(kBlockBytes, alignof(uint64_t)); }

TEST(FreeListTest, TheBlockThatAThreadFreedIsTheNextThatItGets) {
  FreeList list(kBlockBytes);
  Arena arena;
  EXPECT_EQ(list.allocate(arena), nullptr);
  void* const a = new_block(arena);
  void* const b = new_block(arena);
  list.free(a, arena);
  list.free(b, arena);
  EXPECT_EQ(list.count(), 2u);
  EXPECT_EQ(list.allocate(arena), b);
  EXPECT_EQ(list.allocate(arena), a);
  EXPECT_EQ(list.allocate(arena), nullptr);
  EXPECT_EQ(list.count(), 0u);
}

TEST(FreeListTest, AFewBlocksAreLeftToTheirThread) {
  FreeList list(kBlockBytes);
  std::deque<Arena> arenas(32);
  for (Arena& arena : arenas) {
    for (uint64_t i = 1; i < FreeList::kMany; ++i) list.free(new_block(arena), arena);
  }
  Arena other;
  for (int call = 0; call < kCalls; ++call) ASSERT_EQ(list.allocate(other), nullptr);
  EXPECT_EQ(list.count(), 32 * (FreeList::kMany - 1));
}

// The worst case: one arena frees all blocks that the other arenas have allocated. The list may
// then hold only a few more blocks than are in use. One thread calls for all arenas, so that the
// result does not depend on the schedule of threads.
TEST(FreeListTest, BlocksThatOtherArenasFreeAreUsedAgain) {
  constexpr int kArenas = 3, kRounds = 300;
  constexpr uint64_t kInUse = 200;
  const std::deque<Arena> others(300);  // each of the list's parts belongs to one of these arenas
  FreeList list(kBlockBytes);
  std::deque<Arena> arenas(kArenas);
  Arena frees;
  uint64_t made = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Arena& arena : arenas) {
      std::vector<void*> blocks;
      for (uint64_t i = 0; i < kInUse; ++i) {
        blocks.push_back(list.allocate(arena));
        if (blocks.back() != nullptr) continue;
        blocks.back() = new_block(arena);
        ++made;
      }
      for (void* block : blocks) list.free(block, frees);
    }
  }
  EXPECT_EQ(list.count(), made);
  EXPECT_LT(made, kArenas * kRounds * kInUse / 10) << "nine of ten blocks are used again";
}

TEST(FreeListTest, ThreadsThatUseWhatAnotherFreesAtTheSameTimeShareNoBlock) {
  constexpr int kThreads = 3, kRounds = 200;
  constexpr uint64_t kInUse = 200;
  FreeList list(kBlockBytes);
  std::vector<std::vector<uint64_t*>> handed(kThreads);
  std::vector<platform::Padded<platform::atomic<int>>> turns(kThreads);
  platform::atomic<uint64_t> made{0}, wrong{0};
  std::vector<platform::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto mine = static_cast<uint64_t>(t + 1);
      Arena arena;
      for (int round = 0; round < kRounds; ++round) {
        platform::SpinWait wait;
        while (turns[t]->load() != 2 * round) wait.once();
        for (uint64_t i = 0; i < kInUse; ++i) {
          void* block = list.allocate(arena);
          if (block == nullptr) {
            block = new_block(arena);
            made.fetch_add(1);
          }
          handed[t].push_back(new (block) uint64_t(mine));
        }
        for (const uint64_t* block : handed[t]) wrong.fetch_add(*block != mine);
        turns[t]->store(2 * round + 1);
      }
    });
  }
  Arena arena;
  for (int round = 0; round < kRounds; ++round) {
    for (int t = 0; t < kThreads; ++t) {
      platform::SpinWait wait;
      while (turns[t]->load() != 2 * round + 1) wait.once();
      for (uint64_t* block : handed[t]) list.free(block, arena);
      handed[t].clear();
      turns[t]->store(2 * round + 2);
    }
  }
  for (platform::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(list.count(), made.load());
}

// --- tables ---

struct Person {
  uint64_t name;
  uint32_t age;
};

Key name_of(Key, const std::byte* row) { return reinterpret_cast<const Person*>(row)->name; }

TableSchema people(IndexKind kind) {
  return {.name = "people",
          .row_bytes = sizeof(Person),
          .kind = kind,
          .expected_rows = 1000,
          .secondaries = {{.name = "by_name", .key_of = name_of},
                          {.name = "by_name_hash", .kind = IndexKind::kHash, .key_of = name_of}}};
}

class DatabaseTest : public testing::TestWithParam<IndexKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, DatabaseTest,
                         testing::Values(IndexKind::kHash, IndexKind::kOrdered));

TEST_P(DatabaseTest, RecoveringThreadsAgreeOnOneTuplePerKey) {
  constexpr Key kKeys = 3000;
  constexpr int kThreads = 8;
  Database database;
  Table& table = database.create_table(people(GetParam()));
  std::vector<std::vector<Tuple*>> obtained(kThreads);
  std::vector<platform::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Arena arena;
      for (Key key = 0; key < kKeys; ++key) {
        Tuple* tuple = table.find_or_create(key, arena);
        obtained[static_cast<size_t>(t)].push_back(tuple);
        const Person person{.name = key % 10, .age = 0};
        table.index_row(tuple, reinterpret_cast<const std::byte*>(&person), arena);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& tuples : obtained) EXPECT_EQ(tuples, obtained[0]);
  Arena arena;
  const Person person{};
  EXPECT_DEATH(table.load(5, &person, arena),
               "^logjam: load\\(\\) got the key 5 of table people twice\n");
  for (size_t which = 0; which < table.secondary_count(); ++which) {
    size_t postings = 0;
    table.secondary(which).for_each([&](Keyed*) { ++postings; });
    EXPECT_EQ(postings, kKeys);
  }
}

TEST(DatabaseMistakes, OfAWorkloadAreNamed) {
  Database database;
  Table& table = database.create_table(people(IndexKind::kHash));
  EXPECT_DEATH(database.table("poeple"),
               "^logjam: there is no table poeple; did you mean people.\n");
  EXPECT_DEATH(database.create_table(people(IndexKind::kHash)),
               "^logjam: two tables have the name people\n");
  Columns columns;
  columns.field("name", &Person::name).field("age", &Person::age);
  const TableSchema short_rows{.name = "short", .row_bytes = 8, .columns = columns};
  EXPECT_DEATH(database.create_table(short_rows),
               "^logjam: the column age ends at byte [0-9]+ of a row, and table short has rows of "
               "8 bytes\n");
  const auto scan = [](Index& index) {
    index.scan(0, 9, false, [](NodeVersion, std::span<Keyed* const>) { return true; });
  };
  EXPECT_DEATH(scan(table.primary()),
               "^logjam: the index of people is a hash index, and only an "
               "ordered index can be scanned: create it with .kind = "
               "IndexKind::kOrdered\n");
  EXPECT_DEATH(scan(table.secondary(1)), "^logjam: the index of people.by_name_hash is a hash ");
}

TEST(TupleLayout, SmallTuplesDoNotStraddleCacheLines) {
  for (uint32_t row_bytes : {1u, 4u, 8u, 13u, 24u, 40u}) {
    Table table(0, {.name = "t", .row_bytes = row_bytes});
    Arena arena;
    for (Key key = 0; key < 100; ++key) {
      const auto start = reinterpret_cast<uintptr_t>(table.new_tuple(key, arena));
      EXPECT_EQ(start / 64, (start + sizeof(Tuple) + row_bytes - 1) / 64) << row_bytes;
    }
  }
}

TEST(TupleLayout, PaddingBelongsToTheTuple) {
  Table table(0, {.name = "t", .row_bytes = 13});
  Arena arena;
  Tuple* a = table.new_tuple(1, arena);
  Tuple* b = table.new_tuple(2, arena);
  std::memset(a->row(), 0xFF, 16);
  EXPECT_EQ(b->key, 2u);
}

// Tests the reset of versions after a recovery, before the next run.
constexpr uint64_t kRows = 5000;

class NextRun : public testing::Test {
 protected:
  // Returns true for a whole third of the keys, so that some leaf nodes of the index have no row.
  static bool erased(Key key) { return key % 7 == 3 || (key >= kRows / 3 && key < 2 * kRows / 3); }

  Table& table_of(IndexKind kind, const std::string& name) {
    Table& table = database_.create_table({.name = name, .row_bytes = 8, .kind = kind});
    for (Key key = 0; key < kRows; ++key) {
      const auto* row = reinterpret_cast<const std::byte*>(&key);
      table.restore(key, Version(1000 + key, erased(key)), erased(key) ? nullptr : row, arena_);
    }
    return table;
  }

  Database database_;
  Arena arena_;
};

TEST_F(NextRun, NumbersBeginAgainAndPresenceStays) {
  Table& table = table_of(IndexKind::kHash, "hashed");
  reset_versions(database_, 2);
  uint64_t tuples = 0;
  table.primary().for_each([&](Keyed* entry) {
    EXPECT_EQ(Table::tuple_of(entry)->load_version(), Version(0, erased(entry->key)));
    ++tuples;
  });
  EXPECT_EQ(tuples, kRows);
}

TEST_F(NextRun, AbsentTuplesLeaveATableThatReclaims) {
  Table& table = table_of(IndexKind::kOrdered, "ordered");
  ASSERT_TRUE(table.reclaims());
  for (const uint32_t threads : {2u, 1u}) {
    reset_versions(database_, threads);
    uint64_t tuples = 0;
    table.primary().for_each([&](Keyed* entry) {
      EXPECT_FALSE(erased(entry->key)) << entry->key;
      EXPECT_EQ(Table::tuple_of(entry)->load_version(), Version(0, false));
      ++tuples;
    });
    EXPECT_EQ(tuples, table.count_rows());
    EXPECT_EQ(table.removed_up_to(), 0u);
  }
  // The memory of the removed tuples is used again, and their keys can be inserted again.
  for (Key key = 0; key < kRows; ++key) {
    EXPECT_EQ(table.restore(key, Version(7, true), nullptr, arena_), erased(key)) << key;
  }
}

// --- CSV files ---

struct Name {
  char first[4];
  char last[4];
};

#pragma pack(push, 2)
struct Row {
  int64_t cents;
  uint32_t count;
  int16_t step;
  uint8_t flags[2];
  Name name;
  std::array<char, 3> digits;
  char unused;
};
#pragma pack(pop)

Columns columns() {
  Columns columns;
  columns.key("id", [](Key key) { return key + 1; });
  columns.field("cents", &Row::cents).decimals(2);
  columns.field("count", &Row::count).zero_is_null();
  columns.field("step", &Row::step)
      .fields("flag_", &Row::flags)
      .field("first", &Row::name, &Name::first)
      .field("last", &Row::name, &Name::last)
      .field("digits", &Row::digits)
      .bytes("raw", offsetof(Row, flags), 2);
  return columns;
}

class CsvExport : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  Database database_;
  Arena arena_;

  std::string exported() {
    export_csv(database_, directory_.path());
    std::ifstream in(directory_.path_of("rows.csv"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Table& make_table() {
    return database_.create_table({"rows", sizeof(Row), IndexKind::kOrdered, 8, {}, columns()});
  }
};

constexpr char kHeader[] = "id,cents,count,step,flag_1,flag_2,first,last,digits,raw\n";

TEST_F(CsvExport, EveryKindOfColumnHasItsText) {
  Table& table = make_table();
  EXPECT_EQ(exported(), kHeader);
  const Row a{-5, 0, -2, {1, 255}, {{'a', '"', ',', 'b'}, {'x', '\n'}}, {'0', '1', '2'}, 'u'};
  const Row b{123456, 4294967295, 7, {}, {}, {}, 'u'};
  const Row c{-98765432100, 1, 0, {16, 0}, {}, {}, 'u'};
  table.load(0, &a, arena_);
  table.load(1, &b, arena_);
  table.load(~Key{0} - 1, &c, arena_);
  EXPECT_EQ(exported(),
            std::string(kHeader) +
                "1,-0.05,,-2,1,255,\"a\"\",b\",\"x\n\",\"012\",\"01ff\"\n"
                "2,1234.56,4294967295,7,0,0,\"\",\"\",\"\",\"0000\"\n"
                "18446744073709551615,-987654321.00,1,0,16,0,\"\",\"\",\"\",\"1000\"\n");
}

TEST_F(CsvExport, TablesWithoutColumnsAreNamed) {
  make_table();
  EXPECT_EQ(undescribed_table(database_), "");
  database_.create_table({"plain", 8, IndexKind::kHash, 8, {}});
  EXPECT_EQ(undescribed_table(database_),
            "the workload does not describe the columns of its table plain, so the database "
            "cannot be exported; create_tables() describes them by TableSchema::columns "
            "(engine/storage/columns.h)");
}

TEST_F(CsvExport, OnlyAnEmptyDirectoryIsClaimed) {
  const std::string fresh = directory_.path_of("a/b");
  EXPECT_EQ(claim_export_directory(fresh), "");
  EXPECT_TRUE(std::filesystem::is_directory(fresh));
  EXPECT_EQ(claim_export_directory(fresh), "");
  std::ofstream(fresh + "/file") << "x";
  EXPECT_EQ(claim_export_directory(fresh), "cannot export to " + fresh + ", which is not empty");
  EXPECT_EQ(claim_export_directory(fresh + "/file"),
            "cannot export to " + fresh + "/file: Not a directory");
  EXPECT_EQ(claim_export_directory("/proc/none"),
            "cannot export to /proc/none: No such file or directory");
}

TEST_F(CsvExport, AFullDiskEndsTheProcess) {
  Table& table = make_table();
  const Row row{};
  for (Key key = 0; key < 1000; ++key) table.load(key, &row, arena_);
  std::filesystem::create_symlink("/dev/full", directory_.path_of("rows.csv"));
  EXPECT_EXIT(export_csv(database_, directory_.path()),
              testing::ExitedWithCode(platform::kExitFailed),
              "cannot write .*/rows.csv: No space left on device");
}

}  // namespace
}  // namespace logjam
