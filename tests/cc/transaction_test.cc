// A transaction sees its own writes. Other transactions see these writes after the commit.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "cc/row_memory.h"
#include "tests/cc/script.h"

namespace logjam {
namespace {

class TransactionTest : public testing::TestWithParam<std::string> {
 protected:
  TransactionTest() : world(GetParam()) { world.load_tens(*world.ordered, 20); }

  Table& ordered() { return *world.ordered; }

  World world;
};

TEST_P(TransactionTest, SeesItsOwnWrites) {
  Actor t(world);
  EXPECT_EQ(t.add(ordered(), 10, 5), Status::kOk);
  EXPECT_EQ(t.read(ordered(), 10), 6);
  EXPECT_EQ(t.add(ordered(), 10, 5), Status::kOk);
  EXPECT_EQ(t.set(ordered(), 20, 40), Status::kOk);
  EXPECT_EQ(t.add(ordered(), 20, 2), Status::kOk);
  EXPECT_EQ(t.read(ordered(), 20), 42);
  EXPECT_EQ(t.erase(ordered(), 30), Status::kOk);
  EXPECT_FALSE(t.read(ordered(), 30).has_value());
  EXPECT_EQ(t.add(ordered(), 30, 1), Status::kNotFound);
  EXPECT_EQ(t.set(ordered(), 30, 1), Status::kNotFound);
  EXPECT_EQ(t.erase(ordered(), 30), Status::kNotFound);
  EXPECT_EQ(t.insert(ordered(), 35, 9), Status::kOk);
  EXPECT_EQ(t.insert(ordered(), 35, 9), Status::kExists);
  EXPECT_EQ(t.scan(ordered(), 0, 50), (std::vector<Key>{0, 10, 20, 35, 40, 50}));
  EXPECT_EQ(t.scan(ordered(), 0, 50, true), (std::vector<Key>{50, 40, 35, 20, 10, 0}));
  EXPECT_TRUE(t.commit());
  const auto rows = world.content(ordered());
  EXPECT_EQ(rows.at(10), 11);
  EXPECT_EQ(rows.at(20), 42);
  EXPECT_EQ(rows.at(35), 9);
  EXPECT_FALSE(rows.contains(30));
}

TEST_P(TransactionTest, TheHeadOfARowIsReadAsTheRowIs) {
  constexpr uint32_t kValue = sizeof(int64_t);
  const auto head = [&](Actor& t, Key key) {
    const Row* row = nullptr;
    const auto read = [&] { return t.txn->read_head(ordered(), key, kValue, &row); };
    return t.step(read) == Status::kOk ? row->value : -1;
  };
  Actor t(world), writer(world);
  EXPECT_EQ(head(t, 10), 1);
  EXPECT_EQ(head(t, 11), -1) << "no such row";
  EXPECT_EQ(t.add(ordered(), 20, 5), Status::kOk);
  EXPECT_EQ(head(t, 20), 6) << "its own write";
  EXPECT_EQ(writer.add(ordered(), 10, 1).status == Status::kOk && writer.commit(),
            !GetParam().starts_with("2pl"))
      << "a lock keeps what was read";
  EXPECT_EQ(t.commit(), GetParam() != "occ") << "the row that was read has changed";
}

TEST_P(TransactionTest, APrefetchDependsOnNothing) {
  const std::vector<Key> keys = {0, 10, 20, 21};
  Actor t(world), writer(world);
  t.txn->prefetch(ordered(), keys);
  t.txn->prefetch(*world.notes, keys);
  for (const Key key : {Key{0}, Key{10}, Key{20}}) {
    EXPECT_EQ(writer.add(ordered(), key, 1), Status::kOk);
  }
  EXPECT_EQ(writer.insert(ordered(), 21, 1), Status::kOk);
  EXPECT_TRUE(writer.commit());
  EXPECT_EQ(t.add(ordered(), 30, 1), Status::kOk);
  EXPECT_TRUE(t.commit());
}

TEST_P(TransactionTest, InsertAfterEraseOfOneKeyKeepsTheLastRow) {
  for (const Key key : {Key{55}, Key{50}}) {
    Actor t(world);
    if (key == 50) {
      EXPECT_EQ(t.erase(ordered(), key), Status::kOk);
    }
    EXPECT_EQ(t.insert(ordered(), key, 1), Status::kOk);
    EXPECT_EQ(t.erase(ordered(), key), Status::kOk);
    EXPECT_EQ(t.insert(ordered(), key, 2), Status::kOk);
    EXPECT_TRUE(t.commit());
    EXPECT_EQ(world.content(ordered()).at(key), 2);
  }
}

TEST_P(TransactionTest, InsertThenEraseChangesNothing) {
  Actor t(world);
  EXPECT_EQ(t.insert(ordered(), 55, 1), Status::kOk);
  EXPECT_EQ(t.erase(ordered(), 55), Status::kOk);
  EXPECT_TRUE(t.commit());
  EXPECT_TRUE(world.log.entries.empty()) << "there is nothing to log";
  EXPECT_EQ(world.content(ordered()).size(), 20u);
  Actor other(world);
  EXPECT_EQ(other.insert(ordered(), 55, 2), Status::kOk);
  EXPECT_TRUE(other.commit());
}

TEST_P(TransactionTest, InsertsIntoItsOwnScannedRange) {
  Actor t(world);
  EXPECT_EQ(t.scan(ordered(), 0, 1000).size(), 20u);
  EXPECT_TRUE(t.scan(ordered(), 2000, 3000).empty());
  for (Key key = 0; key < 1000; ++key) {
    const bool there = key % 10 == 0 && key < 200;
    EXPECT_EQ(t.insert(ordered(), key, 1), there ? Status::kExists : Status::kOk);
  }
  std::vector<Key> all(1000);
  std::iota(all.begin(), all.end(), Key{0});
  EXPECT_EQ(t.scan(ordered(), 0, 2000), all);
  EXPECT_TRUE(t.commit());
  EXPECT_EQ(world.content(ordered()).size(), 1000u);
}

TEST_P(TransactionTest, SecondaryIndexesFollowInsertsAndErases) {
  Actor t1(world);
  EXPECT_EQ(t1.insert(ordered(), 55, Row{1, 7, 500}), Status::kOk);
  EXPECT_EQ(t1.read_secondary(ordered(), 0, 7), (std::vector<Key>{55})) << "its own insert";
  EXPECT_TRUE(t1.commit());

  Actor t2(world);
  EXPECT_EQ(t2.read_secondary(ordered(), 1, 500), (std::vector<Key>{55}));
  EXPECT_EQ(t2.erase(ordered(), 55), Status::kOk);
  EXPECT_TRUE(t2.read_secondary(ordered(), 0, 7).empty());
  EXPECT_EQ(t2.insert(ordered(), 55, Row{2, 8, 501}), Status::kOk);
  EXPECT_TRUE(t2.read_secondary(ordered(), 0, 7).empty()) << "the posting is of the erased row";
  EXPECT_EQ(t2.read_secondary(ordered(), 0, 8), (std::vector<Key>{55}));
  EXPECT_TRUE(t2.commit());

  Actor t3(world);
  EXPECT_EQ(t3.scan_group(ordered(), 7, 8), (std::vector<Key>{55}));
  EXPECT_TRUE(t3.read_secondary(ordered(), 1, 500).empty());
  EXPECT_EQ(t3.read_secondary(ordered(), 1, 501), (std::vector<Key>{55}));
  EXPECT_TRUE(t3.commit());

  Actor t4(world);
  EXPECT_EQ(t4.erase(ordered(), 55), Status::kOk);
  EXPECT_TRUE(t4.commit());
  Actor t5(world);
  EXPECT_EQ(t5.insert(ordered(), 55, Row{3, 7, 500}), Status::kOk) << "back to the first keys";
  EXPECT_TRUE(t5.commit());
  Actor t6(world);
  EXPECT_EQ(t6.scan_group(ordered(), 7, 8), (std::vector<Key>{55}));
  EXPECT_EQ(t6.read_secondary(ordered(), 1, 500), (std::vector<Key>{55}));
  EXPECT_TRUE(t6.commit());
}

TEST_P(TransactionTest, SecondaryIndexesFollowChangedKeys) {
  using Keys = std::vector<Key>;
  Actor t1(world);
  EXPECT_EQ(t1.set(ordered(), 50, Row{1, 7, 1050}), Status::kOk) << "blindly";
  EXPECT_EQ(t1.move(ordered(), 60, 7), Status::kOk) << "from 0";
  EXPECT_EQ(t1.scan_group(ordered(), 7, 7), (Keys{50, 60})) << "its own changes";
  EXPECT_EQ(t1.read_secondary(ordered(), 0, 0).size(), 8u);
  EXPECT_EQ(t1.move(ordered(), 60, 8), Status::kOk) << "again";
  EXPECT_TRUE(t1.commit());

  Actor t2(world);
  EXPECT_EQ(t2.scan_group(ordered(), 7, 8), (Keys{50, 60}));
  EXPECT_EQ(t2.read_secondary(ordered(), 0, 7), (Keys{50}));
  EXPECT_EQ(t2.scan_group(ordered(), 0, 0).size(), 8u);
  EXPECT_EQ(t2.insert(ordered(), 55, Row{1, 9, 500}), Status::kOk);
  EXPECT_EQ(t2.move(ordered(), 55, 10), Status::kOk) << "its own insert";
  EXPECT_EQ(t2.move(ordered(), 70, 9), Status::kOk);
  EXPECT_EQ(t2.erase(ordered(), 70), Status::kOk) << "what it moved";
  EXPECT_EQ(t2.scan_group(ordered(), 9, 10), (Keys{55}));
  EXPECT_TRUE(t2.commit());

  Actor t3(world);
  EXPECT_EQ(t3.read_secondary(ordered(), 0, 10), (Keys{55}));
  EXPECT_EQ(t3.move(ordered(), 60, 0), Status::kOk) << "back to where its posting is";
  t3.abort();
  Actor t4(world);
  EXPECT_EQ(t4.read_secondary(ordered(), 0, 8), (Keys{60})) << "it never moved";
  EXPECT_EQ(t4.move(ordered(), 60, 0), Status::kOk);
  EXPECT_TRUE(t4.commit());
  Actor t5(world);
  EXPECT_EQ(t5.scan_group(ordered(), 0, 10).size(), 20u) << "each row once";
  EXPECT_TRUE(t5.commit());

  std::map<Key, int> postings;
  ordered().secondary(0).for_each(
      [&](Keyed* entry) { ++postings[static_cast<Posting*>(entry)->primary]; });
  EXPECT_EQ(postings[60], 3) << "one for each group it has ever had: 0, 7, 8";
}

TEST_P(TransactionTest, UniqueSecondaryKeysAreEnforced) {
  Actor t1(world);
  EXPECT_EQ(t1.insert(ordered(), 55, Row{1, 0, 1010}), Status::kExists) << "row 10 has it";
  EXPECT_FALSE(t1.read(ordered(), 55).has_value());
  EXPECT_EQ(t1.erase(ordered(), 10), Status::kOk);
  EXPECT_EQ(t1.insert(ordered(), 55, Row{1, 0, 1010}), Status::kOk) << "it is free again";
  EXPECT_TRUE(t1.commit());
  Actor t2(world);
  EXPECT_EQ(t2.read_secondary(ordered(), 1, 1010), (std::vector<Key>{55}));
  EXPECT_EQ(t2.insert(ordered(), 10, Row{1, 0, 1010}), Status::kExists);
  EXPECT_EQ(t2.insert(ordered(), 10, Row{1, 0, 1011}), Status::kOk);
  EXPECT_TRUE(t2.commit());
}

TEST_P(TransactionTest, AReadRowStaysUnchangedUntilTheEnd) {
  Actor t(world);
  const Row* row = nullptr;
  t.step([&] { return t.txn->read(ordered(), 10, &row); });
  EXPECT_EQ(t.add(ordered(), 10, 5), Status::kOk);
  EXPECT_EQ(row->value, 1) << "a row handed out is good until the end";
  for (Key key = 100; key < 200; key += 10) t.read(ordered(), key);
  EXPECT_EQ(row->value, 1);
  EXPECT_TRUE(t.commit());
}

TEST_P(TransactionTest, ATransactionMayAccessManyRows) {
  Actor t(world);
  constexpr Key kRows = 5000;
  for (Key key = 0; key < kRows; ++key) {
    EXPECT_EQ(t.insert(*world.hash, key, static_cast<int64_t>(key)), Status::kOk);
  }
  for (Key key = 0; key < kRows; ++key) {
    EXPECT_EQ(t.read(*world.hash, key), static_cast<int64_t>(key));
  }
  EXPECT_TRUE(t.commit());
  t.begin();
  for (Key key = 0; key < kRows; ++key) EXPECT_EQ(t.add(*world.hash, key, 1), Status::kOk);
  EXPECT_TRUE(t.commit());
  for (const auto& [key, value] : world.content(*world.hash)) {
    EXPECT_EQ(value, static_cast<int64_t>(key) + 1);
  }
}

// Rows have many lengths and every offset in a cache line. The bytes around a row stay the same.
TEST(StoreRow, StoresAllBytesThatChange) {
  constexpr size_t kBytes = 512;
  std::mt19937_64 random(1);
  alignas(platform::kCacheLine) std::array<std::byte, kBytes> there{}, expected{};
  alignas(platform::kCacheLine) std::array<std::byte, kBytes> row{};
  for (int round = 0; round < 20'000; ++round) {
    const auto bytes = static_cast<uint32_t>(8 * (1 + random() % 48));
    const size_t at = 8 * (random() % ((kBytes - bytes) / 8));
    std::copy_n(there.begin() + static_cast<ptrdiff_t>(at), bytes, row.begin());
    for (uint64_t changes = random() % 4; changes > 0; --changes) {
      row[random() % bytes] = static_cast<std::byte>(random());
    }
    std::copy_n(row.begin(), bytes, expected.begin() + static_cast<ptrdiff_t>(at));
    store_row(there.data() + at, row.data(), bytes);
    ASSERT_EQ(there, expected) << bytes << " bytes at " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, TransactionTest, testing::ValuesIn(protocol_names()),
                         protocol_name);

}  // namespace
}  // namespace logjam
