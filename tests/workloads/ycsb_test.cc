#include <gtest/gtest.h>

#include <set>

#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/rows.h"

namespace logjam {
namespace {

using YcsbTest = WorkloadTest;

// Replaces a protocol's transaction, and records the calls of YCSB.
class Recorder : public Transaction {
 public:
  explicit Recorder(uint32_t row_bytes) : row_(row_bytes) {}
  Status read(Table&, Key key, const std::byte** row) override {
    reads.push_back(key);
    *row = row_.data();
    return Status::kOk;
  }
  Status update(Table&, Key key, std::byte** row) override {
    updates.push_back(key);
    *row = row_.data();
    return Status::kOk;
  }
  Status write(Table&, Key key, std::byte** row) override {
    writes.push_back(key);
    *row = row_.data();
    return Status::kOk;
  }
  Status insert(Table&, Key key, const std::byte*) override {
    inserts.push_back(key);
    return Status::kOk;
  }
  Status erase(Table&, Key) override { return Status::kNotFound; }
  // The table has infinitely many rows.
  Status scan(Table&, Key low, Key, bool, const RowVisitor& visit) override {
    uint64_t rows = 1;
    while (visit(low, row_.data())) ++rows;
    scans.push_back({low, rows});
    return Status::kOk;
  }
  Status scan_secondary(Table&, size_t, Key, Key, bool, const RowVisitor&) override {
    return Status::kOk;
  }
  Status read_secondary(Table&, size_t, Key, const RowVisitor&) override { return Status::kOk; }

  std::vector<Key> reads, updates, writes, inserts;
  std::vector<std::pair<Key, uint64_t>> scans;  // the first key, and the number of rows
  const std::vector<std::byte>& row() const { return row_; }

 private:
  std::vector<std::byte> row_;
};

Recorder record(int transactions) {
  const auto workload = make_workload("ycsb");
  Database database;
  workload->create_tables(database);
  const auto client = workload->make_client(database, 0, 1, 1);
  Recorder recorder(database.table("usertable").row_bytes());
  for (int i = 0; i < transactions; ++i) {
    client->next();
    EXPECT_EQ(client->execute(recorder), Status::kOk);
  }
  return recorder;
}

// Worker 0 alone has long transactions. The other workers execute the mix.
TEST_F(YcsbTest, WorkerZeroUpdatesConsecutiveRowsInLongTransactions) {
  set({{"ycsb_workload", "rows-16"},
       {"ycsb_records", "500"},
       {"ycsb_ops", "2"},
       {"ycsb_long_rows", "300"}});
  const auto workload = make_workload("ycsb");
  Database database;
  workload->create_tables(database);
  std::set<Key> firsts;
  for (const uint32_t worker : {0, 1}) {
    const auto client = workload->make_client(database, worker, 2, 1);
    EXPECT_EQ(client->is_long(), worker == 0);
    for (int i = 0; i < 50; ++i) {
      Recorder recorder(database.table("usertable").row_bytes());
      EXPECT_TRUE(client->next() == 0 || worker != 0) << "a long transaction writes";
      EXPECT_EQ(client->execute(recorder), Status::kOk);
      const auto& writes = recorder.writes;
      if (worker != 0) {
        EXPECT_EQ(writes.size() + recorder.reads.size(), 2u);
        continue;
      }
      ASSERT_EQ(writes.size(), 300u);
      firsts.insert(writes[0]);
      for (size_t n = 0; n < writes.size(); ++n) EXPECT_EQ(writes[n], (writes[0] + n) % 500);
    }
  }
  EXPECT_GT(firsts.size(), 40u);
  const LargestTransaction largest = workload->spec().largest;
  EXPECT_EQ(largest.rows, 300u);
  EXPECT_EQ(largest.row_bytes, 1000u);
  EXPECT_EQ(largest.command_bytes, 604u * 8) << "what command() has at most";
}

TEST_F(YcsbTest, TransactionsDrawnTogetherAreDifferentTransactions) {
  set({{"ycsb_workload", "rows-16"}, {"ycsb_records", "500"}, {"ycsb_theta", "0"}});
  for (const char* ops : {"7", "7:5"}) {
    set({{"ycsb_ops", ops}});
    const auto workload = make_workload("ycsb");
    Database database;
    workload->create_tables(database);
    const auto client = workload->make_client(database, 0, 1, 1);
    std::set<std::set<Key>> transactions;
    for (int i = 0; i < 50; ++i) {
      client->next();
      for (int attempt = 0; attempt < 2; ++attempt) {
        Recorder recorder(database.table("usertable").row_bytes());
        EXPECT_EQ(client->execute(recorder), Status::kOk);
        std::set<Key> rows(recorder.reads.begin(), recorder.reads.end());
        rows.insert(recorder.writes.begin(), recorder.writes.end());
        EXPECT_EQ(rows.size(), 7u);
        transactions.insert(rows);
      }
    }
    EXPECT_EQ(transactions.size(), 50u) << ops;
  }
}

TEST_F(YcsbTest, AChangedByteInAFieldOfAnySizeIsFound) {
  std::vector<std::byte> field(200), scratch(200);
  for (size_t bytes = 4; bytes <= field.size(); ++bytes) {
    ycsb::fill_field(field.data(), bytes, 17, mix64(bytes));
    ASSERT_EQ(ycsb::first_wrong_byte(field.data(), bytes, 17, scratch.data()), bytes);
    EXPECT_LT(ycsb::first_wrong_byte(field.data(), bytes, 18, scratch.data()), bytes) << bytes;
    for (size_t i = 0; i < bytes; ++i) {
      field[i] ^= std::byte{0x10};
      EXPECT_LT(ycsb::first_wrong_byte(field.data(), bytes, 17, scratch.data()), bytes)
          << bytes << " byte " << i;
      field[i] ^= std::byte{0x10};
    }
  }
}

Key inserted_key(uint64_t records, uint64_t n, uint32_t worker) {
  const ycsb::KeySpace space{records, true};
  return space.key_of(space.inserted(n, worker));
}

TEST_F(YcsbTest, WorkloadDReadsOnlyRowsThatAreThereAndMostlyTheNewest) {
  set({{"ycsb_records", "1000"}, {"ycsb_value_bytes", "100"}, {"ycsb_workload", "D"}});
  const auto workload = make_workload("ycsb");
  Database database;
  workload->create_tables(database);
  std::vector<std::unique_ptr<Client>> clients;
  for (uint32_t worker : {0, 1}) clients.push_back(workload->make_client(database, worker, 2, 1));
  Recorder recorder(100);
  for (int i = 0; i < 20'000; ++i) {
    for (const auto& client : clients) {
      client->next();
      EXPECT_EQ(client->execute(recorder), Status::kOk);
    }
  }
  EXPECT_NEAR(static_cast<double>(recorder.inserts.size()), 2000, 200);
  std::set<Key> there;
  for (uint64_t number = 0; number < 1000; ++number) there.insert(ycsb_hash(number));
  const std::set<Key> inserted(recorder.inserts.begin(), recorder.inserts.end());
  EXPECT_EQ(inserted.size(), recorder.inserts.size());
  for (uint64_t n = 0; n < 900; ++n) {
    EXPECT_TRUE(inserted.contains(inserted_key(1000, n, 0)));
    EXPECT_TRUE(inserted.contains(inserted_key(1000, n, 1)));
  }
  there.insert(inserted.begin(), inserted.end());
  const std::set<Key> newest(recorder.inserts.end() - 50, recorder.inserts.end());
  uint64_t recent = 0;
  for (size_t i = 0; i < recorder.reads.size(); ++i) {
    EXPECT_TRUE(there.contains(recorder.reads[i]));
    if (i + 500 >= recorder.reads.size()) recent += newest.contains(recorder.reads[i]);
  }
  EXPECT_GT(recent, 200u) << "the 50 newest of 3000 rows get more than half of the reads";
}

TEST_F(YcsbTest, WorkloadEScansAsManyRowsAsDrawnFromLoadedAndInsertedRows) {
  set({{"ycsb_records", "1000"}, {"ycsb_value_bytes", "100"}, {"ycsb_workload", "E"}});
  const Recorder recorder = record(40'000);
  std::vector<uint64_t> lengths(100);
  for (const auto& [from, rows] : recorder.scans) ++lengths.at(rows - 1);
  EXPECT_NEAR(static_cast<double>(recorder.scans.size()), 38'000, 250);
  expect_uniform(lengths, "lengths of scans");
  const std::set<Key> inserted(recorder.inserts.begin(), recorder.inserts.end());
  uint64_t from_inserted = 0;
  for (const auto& [from, rows] : recorder.scans) from_inserted += inserted.contains(from);
  EXPECT_GT(from_inserted, 1000u);
}

TEST_F(YcsbTest, KeysOfATransactionAreDistinctInASmallTable) {
  set({{"ycsb_workload", "rows-16"},
       {"ycsb_records", "16"},
       {"ycsb_theta", "0.99"},
       {"ycsb_ratios", "read:1"}});
  const Recorder recorder = record(50);
  ASSERT_EQ(recorder.reads.size(), 800u);
  for (size_t i = 0; i < 800; i += 16) {
    EXPECT_EQ(std::set<Key>(&recorder.reads[i], &recorder.reads[i] + 16).size(), 16u);
  }
}

TEST_F(YcsbTest, DrawsTheReadRatioAndTheUpdateKind) {
  set({{"ycsb_workload", "rows-16"}, {"ycsb_records", "10000"}, {"ycsb_ratios", "read:0.8"}});
  Recorder recorder = record(1000);
  EXPECT_NEAR(static_cast<double>(recorder.reads.size()) / 16'000, 0.8, 0.02);
  EXPECT_EQ(recorder.reads.size() + recorder.writes.size(), 16'000u);
  set({{"ycsb_update", "read-row"}});
  recorder = record(1000);
  EXPECT_EQ(recorder.reads.size() + recorder.updates.size(), 16'000u);
  set({{"ycsb_workload", "poplar-hybrid"}, {"ycsb_update", "auto"}, {"ycsb_ratios", ""}});
  recorder = record(100);
  EXPECT_EQ(recorder.updates.size(), 100u);
  ASSERT_EQ(recorder.scans.size(), 100u);
  for (const auto& [from, rows] : recorder.scans) {
    EXPECT_EQ(rows, 10u);
    EXPECT_LT(from, 10'000u);
  }
}

TEST_F(YcsbTest, ACommandTakenByAnotherClientDoesAndCountsTheSame) {
  for (const Flags& mix :
       std::vector<Flags>{{{"ycsb_workload", "A"}, {"ycsb_ops", "4"}},
                          {{"ycsb_workload", "A"}, {"ycsb_ops", "4:3"}},
                          {{"ycsb_workload", "E"}, {"ycsb_ratios", "insert:0.5,scan:0.5"}},
                          {{"ycsb_workload", "poplar-hybrid"}}}) {
    const gflags::FlagSaver saver;
    set({{"ycsb_records", "1000"}, {"ycsb_value_bytes", "100"}});
    set(mix);
    const auto workload = make_workload("ycsb");
    Database database;
    workload->create_tables(database);
    const auto client = workload->make_client(database, 3, 4, 1);
    const auto replayer = workload->make_replayer(database);
    Recorder original(100), replayed(100);
    for (int i = 0; i < 100; ++i) {
      const uint32_t type = client->next();
      EXPECT_EQ(client->execute(original), Status::kOk);
      EXPECT_TRUE(replayer->take(type, client->command()));
      EXPECT_EQ(replayer->execute(replayed), Status::kOk);
      EXPECT_EQ(replayer->committing(), client->committing());
      EXPECT_EQ(replayed.row(), original.row());
    }
    EXPECT_EQ(replayed.reads, original.reads);
    EXPECT_EQ(replayed.updates, original.updates);
    EXPECT_EQ(replayed.inserts, original.inserts);
    EXPECT_EQ(replayed.scans, original.scans);
  }
}

}  // namespace
}  // namespace logjam
