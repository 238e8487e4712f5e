// The versions of recovered tuples before another run continues with them.
#include <gtest/gtest.h>

#include <string>

#include "engine/recovery/recover_chain.h"

namespace logjam {
namespace {

constexpr uint64_t kRows = 5000;

class NextRun : public testing::Test {
 protected:
  // Every seventh row was erased, and all rows in the middle, so that whole leaves are empty.
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
  // Their memory is used again, and their keys can come back.
  for (Key key = 0; key < kRows; ++key) {
    EXPECT_EQ(table.restore(key, Version(7, true), nullptr, arena_), erased(key)) << key;
  }
}

}  // namespace
}  // namespace logjam
