#include "engine/storage/database.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "platform/thread.h"

namespace logjam {
namespace {

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

TEST_P(DatabaseTest, TablesHaveIdsInOrderAndNames) {
  Database database;
  Table& a = database.create_table(people(GetParam()));
  Table& b = database.create_table({.name = "other", .row_bytes = 8});
  EXPECT_EQ(a.id(), 0);
  EXPECT_EQ(b.id(), 1);
  EXPECT_EQ(&database.table("other"), &b);
  EXPECT_EQ(database.table(0), &a);
  EXPECT_EQ(database.table(2), nullptr);
  EXPECT_DEATH(database.table("nobody"), "found != tables_.end");
}

TEST_P(DatabaseTest, LoadedRowsAreFoundThroughEveryIndex) {
  Database database;
  Arena arena;
  Table& table = database.create_table(people(GetParam()));
  for (Key key = 0; key < 1000; ++key) {
    const Person person{.name = key % 100, .age = static_cast<uint32_t>(key)};
    table.load(key, &person, arena);
  }
  EXPECT_EQ(table.count_rows(), 1000u);
  std::set<Key> seen;
  table.for_each_row([&](Key key, const std::byte* row) {
    EXPECT_EQ(reinterpret_cast<const Person*>(row)->age, key);
    EXPECT_TRUE(seen.insert(key).second);
  });
  EXPECT_EQ(seen.size(), 1000u);

  Tuple* tuple = Table::tuple_of(table.primary().find(7, nullptr));
  EXPECT_EQ(tuple->load_version(), Version(0, false));
  EXPECT_EQ(tuple->lock.load(), 0u);
  for (size_t which = 0; which < table.secondary_count(); ++which) {
    std::set<Key> primaries;
    table.secondary(which).find_all(7, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) {
        auto* posting = static_cast<Posting*>(entry);
        EXPECT_EQ(posting->key, 7u);
        EXPECT_EQ(posting->tuple->key, posting->primary);
        primaries.insert(posting->primary);
      }
      return true;
    });
    EXPECT_EQ(primaries.size(), 10u);
    EXPECT_EQ(*primaries.begin(), 7u);
  }
}

TEST_P(DatabaseTest, AKeyLoadedTwiceEndsTheProcess) {
  Database database;
  Arena arena;
  Table& table = database.create_table(people(GetParam()));
  const Person person{};
  table.load(5, &person, arena);
  EXPECT_DEATH(table.load(5, &person, arena), "is_new");
}

TEST_P(DatabaseTest, AbsentTuplesAreNotRows) {
  Database database;
  Arena arena;
  Table& table = database.create_table(people(GetParam()));
  Tuple* tuple = table.find_or_create(9, arena);
  EXPECT_TRUE(tuple->load_version().absent());
  EXPECT_EQ(tuple->load_version().sequence(), 0u);
  EXPECT_EQ(table.find_or_create(9, arena), tuple);
  EXPECT_EQ(table.count_rows(), 0u);
  table.index_row(tuple, nullptr, arena);
  tuple->version.store(Version(3, false).word());
  EXPECT_EQ(table.count_rows(), 1u);
}

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
  for (size_t which = 0; which < table.secondary_count(); ++which) {
    size_t postings = 0;
    table.secondary(which).for_each([&](Keyed*) { ++postings; });
    EXPECT_EQ(postings, kKeys);
  }
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

}  // namespace
}  // namespace logjam
