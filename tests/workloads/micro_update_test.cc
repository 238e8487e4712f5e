#include <gtest/gtest.h>

#include <functional>

#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

class MicroUpdateTest : public WorkloadTest {
 protected:
  MicroUpdateTest() { set(small_scale("micro-update")); }
};

// The first words of a row.
enum Word : size_t { kUpdates, kBalance, kPrevious };
using Words = int64_t[3];

TEST_F(MicroUpdateTest, RowsOfAnySizePassVerification) {
  for (int bytes = 32; bytes < 80; ++bytes) {
    set({{"micro_update_row_bytes", std::to_string(bytes)}, {"micro_update_kind", "update-10"}});
    const auto workload = make_workload("micro-update");
    const auto database = load(*workload, 2);
    Outcome outcome;
    run(*workload, *database, all_protocols().front(), 2, 50, 1, outcome);
    expect_consistent(*workload, *database);
  }
}

// A transaction's command has two words, and then the keys of the transaction's rows.
TEST_F(MicroUpdateTest, RowsAreDrawnUniformlyAndDistinct) {
  for (const auto& [kind, operations] :
       {std::pair{"update-1", 1u}, {"update-5-read-5", 10u}, {"update-10", 10u}}) {
    set({{"micro_update_kind", kind}});
    const auto workload = make_workload("micro-update");
    const auto database = load(*workload, 1);
    const auto client = workload->make_client(*database, 0, 1, 1);
    std::vector<uint64_t> drawn(60);
    for (int i = 0; i < 20'000; ++i) {
      client->next();
      CommandWords words(client->command());
      words.next();
      words.next();
      std::vector<uint64_t> keys;
      for (uint32_t k = 0; k < operations; ++k) {
        const uint64_t key = words.next();
        EXPECT_EQ(std::ranges::count(keys, key), 0) << kind;
        keys.push_back(key);
        ++drawn.at(key);
      }
    }
    expect_uniform(drawn, kind);
  }
}

TEST_F(MicroUpdateTest, ATransactionUpdatesAsManyRowsAsItsKindSays) {
  for (const auto& [kind, updates] :
       {std::pair{"update-1", 1u}, {"update-5-read-5", 5u}, {"update-10", 10u}}) {
    set({{"micro_update_kind", kind}});
    OneClient one("micro-update", 3);
    auto& [workload, database, worker, client] = one;
    Table& table = *database->tables()[0];
    client->next();
    EXPECT_EQ(worker.execute(*client), Status::kOk);
    uint32_t updated = 0, first = 0;
    int64_t balance = 0;
    each<Words>(table, [&](Key, const Words& row) {
      EXPECT_TRUE(row[kUpdates] == 0 || row[kUpdates] == 1);
      balance += row[kBalance];
      updated += row[kUpdates] == 1;
      first += row[kUpdates] == 1 && row[kPrevious] == 0;
    });
    EXPECT_EQ(balance, 0);
    EXPECT_EQ(updated, updates) << kind;
    EXPECT_EQ(first, 1u) << "the others name the one before";
  }
}

TEST_F(MicroUpdateTest, VerifyFindsPlantedErrors) {
  set({{"micro_update_kind", "update-5-read-5"}});
  const PlantedErrors<Table> planted = {
      {"every row is there", [](Table& t) { erase(t, 7); }},
      {"every row is whole", [](Table& t) { tuple(t, 7)->row()[99] ^= std::byte{1}; }},
      {"every row is whole", [](Table& t) { ++row<Words>(t, 7)[kPrevious]; }},
      {"every row is whole",
       [](Table& t) { std::memcpy(tuple(t, 7)->row(), tuple(t, 8)->row(), t.row_bytes()); }},
      {"balances", [](Table& t) { ++row<Words>(t, 7)[kBalance]; }},
      {"rows count", [](Table& t) { ++row<Words>(t, 7)[kUpdates]; }},
  };
  expect_each_caught("micro-update", 100, planted);
}

// The test undoes one update of UPDATE-1: the row gets its earlier contents back. The row is whole
// and the balances are right, so only the counts show the loss, also after a recovery.
TEST_F(MicroUpdateTest, VerifyFindsALostUpdateAfterARecovery) {
  OneClient one("micro-update");
  Table& table = *one.database->tables()[0];
  const auto key_of = [&] {
    one.client->next();
    CommandWords words(one.client->command());
    words.next();
    words.next();
    return words.next();
  };
  const Key lost = key_of();
  std::vector<std::byte> before(tuple(table, lost)->row(),
                                tuple(table, lost)->row() + table.row_bytes());
  ASSERT_EQ(one.worker.execute(*one.client), Status::kOk);
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(key_of(), lost) << "another seed, please";
    ASSERT_EQ(one.worker.execute(*one.client), Status::kOk);
  }
  const auto recovered = make_workload("micro-update");
  expect_consistent(*recovered, *one.database);
  std::memcpy(tuple(table, lost)->row(), before.data(), before.size());
  EXPECT_EQ(failing(*recovered, *one.database),
            (std::vector<std::string>{"no update is lost before one that is there"}));
}

// The test undoes the update of one of the ten rows that a transaction of UPDATE-10 has updated.
TEST_F(MicroUpdateTest, VerifyFindsAHalfTransactionAfterARecovery) {
  set({{"micro_update_kind", "update-10"}});
  const auto workload = make_workload("micro-update");
  const auto database = load(*workload, 1), as_loaded = load(*workload, 1);
  OneWorker worker(*database);
  const auto client = workload->make_client(*database, 0, 1, 1);
  client->next();
  ASSERT_EQ(worker.execute(*client), Status::kOk);
  Table& table = *database->tables()[0];
  Key updated = 0;
  each<Words>(table, [&](Key key, const Words& row) {
    if (row[kUpdates] == 1) updated = key;
  });
  std::memcpy(tuple(table, updated)->row(), tuple(*as_loaded->tables()[0], updated)->row(),
              table.row_bytes());
  const auto recovered = make_workload("micro-update");
  const auto found = failing(*recovered, *database);
  EXPECT_EQ(std::ranges::count(found, "balances add up to nothing"), 1);
}

}  // namespace
}  // namespace logjam
