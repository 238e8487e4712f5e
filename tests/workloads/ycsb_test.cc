#include <gtest/gtest.h>

#include <set>

#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"

namespace logjam {
namespace {

class YcsbTest : public WorkloadTest {
 protected:
  static std::string refusal(const Flags& flags) {
    const gflags::FlagSaver saver;
    set(flags);
    return ycsb::check_flags();
  }
};

// Stands in for a protocol's transaction, and records the calls.
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
  Status scan(Table&, Key low, Key high, bool, const RowVisitor&) override {
    scans.push_back({low, high});
    return Status::kOk;
  }
  Status scan_secondary(Table&, size_t, Key, Key, bool, const RowVisitor&) override {
    return Status::kOk;
  }
  Status read_secondary(Table&, size_t, Key, const RowVisitor&) override { return Status::kOk; }

  std::vector<Key> reads, updates, writes, inserts;
  std::vector<std::pair<Key, Key>> scans;
  const std::vector<std::byte>& row() const { return row_; }

 private:
  std::vector<std::byte> row_;
};

Recorder record(uint64_t seed, int transactions, bool twice = false) {
  const auto workload = make_workload("ycsb");
  Database database;
  workload->create_tables(database);
  const auto client = workload->make_client(database, 0, 1, seed);
  Recorder recorder(database.table("usertable").row_bytes());
  for (int i = 0; i < transactions; ++i) {
    client->next();
    for (int times = 0; times < (twice ? 2 : 1); ++times) {
      EXPECT_EQ(client->execute(recorder), Status::kOk);
    }
  }
  return recorder;
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

TEST_F(YcsbTest, GivenFlagsOverridePresets) {
  set({{"ycsb_preset", "b"}});
  EXPECT_EQ(ycsb::options_from_flags().read_ratio, 0.95);
  set({{"ycsb_preset", "c"}});
  EXPECT_EQ(ycsb::options_from_flags().read_ratio, 1);
  set({{"ycsb_preset", "f"}});
  EXPECT_EQ(ycsb::options_from_flags().read_ratio, 0.5);
  EXPECT_TRUE(ycsb::options_from_flags().rmw);
  set({{"ycsb_preset", "write-only"}});
  EXPECT_EQ(ycsb::options_from_flags().ops, 1u);
  EXPECT_EQ(ycsb::options_from_flags().read_ratio, 0);
  EXPECT_FALSE(ycsb::options_from_flags().rmw);
  EXPECT_EQ(ycsb::options_from_flags().distribution, ycsb::Distribution::kUniform);
  set({{"ycsb_preset", "hybrid"}});
  EXPECT_EQ(ycsb::options_from_flags().scan_length, 10u);
  EXPECT_TRUE(ycsb::options_from_flags().ordered);
  EXPECT_TRUE(ycsb::options_from_flags().by_column);
  set({{"ycsb_scan_length", "50"}, {"ycsb_ops", "16"}, {"ycsb_theta", "0.9"}});
  EXPECT_EQ(ycsb::options_from_flags().scan_length, 50u);
  EXPECT_EQ(ycsb::options_from_flags().ops, 16u) << "the default, but given";
  EXPECT_EQ(ycsb::options_from_flags().distribution, ycsb::Distribution::kZipf);
}

TEST_F(YcsbTest, RefusesBadFlagsInOneSentence) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"ycsb_preset", "z"}}),
            "--ycsb_preset is a, b, c, f, write-only or hybrid, not \"z\"");
  for (const Flags& flags :
       std::vector<Flags>{{{"ycsb_records", "0"}},
                          {{"ycsb_value_bytes", "3"}},
                          {{"ycsb_ops", "0"}},
                          {{"ycsb_read_ratio", "1.5"}},
                          {{"ycsb_read_ratio", "nan"}},
                          {{"ycsb_theta", "1"}},
                          {{"ycsb_theta", "-0.1"}},
                          {{"ycsb_distribution", "normal"}},
                          {{"ycsb_index", "tree"}},
                          {{"ycsb_touch", "cell"}},
                          {{"ycsb_scan_length", "5"}},
                          {{"ycsb_workload", "G"}},
                          {{"ycsb_workload", "a"}},
                          {{"ycsb_workload", "A"}, {"ycsb_preset", "a"}},
                          {{"ycsb_workload", "E"}, {"ycsb_index", "hash"}},
                          {{"ycsb_insert_ratio", "-0.5"}},
                          {{"ycsb_insert_ratio", "0.6"}},
                          {{"ycsb_index", "ordered"}, {"ycsb_scan_ratio", "0.1"}},
                          {{"ycsb_records", "8"}, {"ycsb_ops", "9"}},
                          {{"ycsb_preset", "hybrid"}, {"ycsb_index", "hash"}},
                          {{"ycsb_touch", "column"}, {"ycsb_rmw", "false"}},
                          {{"ycsb_touch", "column"}, {"ycsb_value_bytes", "44"}},
                          {{"ycsb_distribution", "uniform"}, {"ycsb_theta", "0.5"}}}) {
    EXPECT_NE(refusal(flags), "") << flags.back().first << "=" << flags.back().second;
  }
}

TEST_F(YcsbTest, GivenFlagsOverrideCoreWorkloads) {
  struct Core {
    const char* name;
    double reads, inserts, scans;
    bool rmw;
  };
  for (const Core& core : {Core{"A", 0.5, 0, 0, false}, Core{"B", 0.95, 0, 0, false},
                           Core{"C", 1, 0, 0, false}, Core{"D", 0.95, 0.05, 0, false},
                           Core{"E", 0, 0.05, 0.95, false}, Core{"F", 0.5, 0, 0, true}}) {
    SCOPED_TRACE(core.name);
    set({{"ycsb_workload", core.name}});
    EXPECT_EQ(ycsb::check_flags(), "");
    const ycsb::Options options = ycsb::options_from_flags();
    EXPECT_EQ(options.read_ratio, core.reads);
    EXPECT_EQ(options.insert_ratio, core.inserts);
    EXPECT_EQ(options.scan_ratio, core.scans);
    EXPECT_EQ(options.rmw, core.rmw);
    EXPECT_EQ(options.ops, 1u);
    EXPECT_EQ(options.theta, 0.99);
    EXPECT_EQ(options.distribution,
              *core.name == 'D' ? ycsb::Distribution::kLatest : ycsb::Distribution::kScrambled);
    EXPECT_EQ(options.ordered, core.inserts > 0);
    EXPECT_EQ(options.scan_length, *core.name == 'E' ? 100u : 0u);
    EXPECT_TRUE(options.by_column);
  }
  set({{"ycsb_workload", "E"}, {"ycsb_scan_length", "7"}, {"ycsb_ops", "3"}, {"ycsb_theta", "0"}});
  EXPECT_EQ(ycsb::options_from_flags().scan_length, 7u);
  EXPECT_EQ(ycsb::options_from_flags().ops, 3u);
  EXPECT_EQ(ycsb::options_from_flags().distribution, ycsb::Distribution::kUniform);
}

// Workload D reads the rows that were inserted last, by any worker. The scans of workload E have
// all lengths.
TEST_F(YcsbTest, WorkloadDReadsTheNewestRowsAndWorkloadEScans) {
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
  EXPECT_EQ(std::set<Key>(recorder.inserts.begin(), recorder.inserts.end()).size(),
            recorder.inserts.size());
  const Key newest = *std::max_element(recorder.inserts.begin(), recorder.inserts.end());
  uint64_t recent = 0, never_inserted = 0;
  const std::set<Key> there(recorder.inserts.begin(), recorder.inserts.end());
  for (size_t i = recorder.reads.size() - 1000; i < recorder.reads.size(); ++i) {
    recent += recorder.reads[i] + 100 > newest;
    never_inserted += recorder.reads[i] >= 1000 && !there.contains(recorder.reads[i]);
  }
  EXPECT_GT(recent, 300u);
  EXPECT_EQ(never_inserted, 0u);

  set({{"ycsb_workload", "E"}});
  const Recorder scans = record(1, 5000);
  std::set<Key> lengths;
  for (const auto& [low, high] : scans.scans) lengths.insert(high - low + 1);
  EXPECT_EQ(lengths.size(), 100u);
  EXPECT_EQ(*lengths.rbegin(), 100u);
  EXPECT_NEAR(static_cast<double>(scans.scans.size()), 4750, 60);
}

TEST_F(YcsbTest, VerifyFindsALostAndADamagedInsert) {
  set(small_scale("ycsb"));
  set({{"ycsb_workload", "D"}});
  const auto workload = make_workload("ycsb");
  const auto database = load(*workload, 1);
  Outcome outcome;
  run(*workload, *database, all_protocols().front(), 1, 500, 1, outcome);
  expect_consistent(*workload, *database);
  Tuple* tuple = Table::tuple_of(database->tables()[0]->primary().find(503, nullptr));
  tuple->row()[50] ^= std::byte{1};
  EXPECT_EQ(failing(*workload, *database), std::vector<std::string>{"every row is whole"});
  tuple->version.store(Version(1, true).word());
  EXPECT_EQ(failing(*workload, *database), std::vector<std::string>{"every row inserted is there"});
}

TEST_F(YcsbTest, AnInsertRatioOfZeroIsNotThatOfTheCoreWorkload) {
  for (const char* name : {"D", "E"}) {
    set({{"ycsb_workload", name}, {"ycsb_insert_ratio", "0"}});
    EXPECT_EQ(ycsb::check_flags(), "");
    EXPECT_EQ(ycsb::options_from_flags().insert_ratio, 0);
    EXPECT_EQ(ycsb::options_from_flags().ordered, *name == 'E');
    // What the header of a log says where the flag was not given.
    set({{"ycsb_insert_ratio", "-1"}});
    EXPECT_EQ(ycsb::options_from_flags().insert_ratio, 0.05);
  }
  const Flags reads = {{"ycsb_workload", "D"}, {"ycsb_read_ratio", "1"}};
  EXPECT_EQ(refusal(reads),
            "--ycsb_read_ratio, --ycsb_insert_ratio and --ycsb_scan_ratio (100 %, 5 % and 0 %) add "
            "up to more than 1");
  EXPECT_EQ(refusal({reads[0], reads[1], {"ycsb_insert_ratio", "0"}}), "");
}

// Recovery sets only the flags that shape the load, from the log's header. It must not refuse the
// values with which a run was accepted.
TEST_F(YcsbTest, LoadFlagsAloneAreAccepted) {
  EXPECT_EQ(refusal({{"ycsb_records", "5"}}), "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}, {"ycsb_preset", "hybrid"}, {"ycsb_index", "auto"}}),
            "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}, {"ycsb_workload", "E"}}), "");
  EXPECT_EQ(refusal({{"ycsb_insert_ratio", "0.4"}}), "");
}

TEST_F(YcsbTest, KeysOfATransactionAreDistinctInASmallTable) {
  set({{"ycsb_records", "16"}, {"ycsb_theta", "0.99"}, {"ycsb_read_ratio", "1"}});
  const Recorder recorder = record(1, 50);
  ASSERT_EQ(recorder.reads.size(), 800u);
  for (size_t i = 0; i < 800; i += 16) {
    EXPECT_EQ(std::set<Key>(&recorder.reads[i], &recorder.reads[i] + 16).size(), 16u);
  }
}

TEST_F(YcsbTest, KeysMayRepeatWithoutDistinct) {
  set({{"ycsb_records", "100"}, {"ycsb_distinct", "false"}, {"ycsb_read_ratio", "1"}});
  const Recorder recorder = record(1, 50);
  size_t distinct = 0;
  for (size_t i = 0; i < 800; i += 16) {
    distinct += std::set<Key>(&recorder.reads[i], &recorder.reads[i] + 16).size();
  }
  EXPECT_LT(distinct, 800u);
}

TEST_F(YcsbTest, DrawsTheReadRatioAndTheUpdateKind) {
  set({{"ycsb_records", "10000"}, {"ycsb_read_ratio", "0.8"}});
  Recorder recorder = record(1, 1000);
  EXPECT_NEAR(static_cast<double>(recorder.reads.size()) / 16'000, 0.8, 0.02);
  EXPECT_EQ(recorder.reads.size() + recorder.writes.size(), 16'000u);
  set({{"ycsb_rmw", "true"}});
  recorder = record(1, 1000);
  EXPECT_EQ(recorder.reads.size() + recorder.updates.size(), 16'000u);
  set({{"ycsb_preset", "hybrid"}, {"ycsb_ops", "1"}, {"ycsb_read_ratio", "0"}});
  recorder = record(1, 100);
  EXPECT_EQ(recorder.updates.size(), 100u);
  ASSERT_EQ(recorder.scans.size(), 100u);
  for (const auto& [low, high] : recorder.scans) {
    EXPECT_EQ(high - low, 9u);
    EXPECT_LT(high, 10'000u);
  }
}

TEST_F(YcsbTest, InputIsAFunctionOfTheSeedAndTheSameOnRetry) {
  set({{"ycsb_records", "10000"}});
  const Recorder once = record(9, 100), again = record(9, 100), other = record(10, 100);
  EXPECT_EQ(once.reads, again.reads);
  EXPECT_EQ(once.writes, again.writes);
  EXPECT_EQ(once.row(), again.row());
  EXPECT_NE(once.reads, other.reads);
  const Recorder twice = record(9, 1, true);
  ASSERT_EQ(twice.reads.size() % 2, 0u);
  const auto half = static_cast<ptrdiff_t>(twice.reads.size() / 2);
  EXPECT_TRUE(std::equal(twice.reads.begin(), twice.reads.begin() + half,
                         twice.reads.begin() + half, twice.reads.end()));
}

TEST_F(YcsbTest, ScrambledKeysAreSkewedAndSpread) {
  set({{"ycsb_records", "1000"},
       {"ycsb_ops", "1"},
       {"ycsb_read_ratio", "1"},
       {"ycsb_theta", "0.9"},
       {"ycsb_distribution", "scrambled"}});
  const Recorder recorder = record(1, 10'000);
  std::vector<uint32_t> counts(1000);
  for (const Key key : recorder.reads) ++counts.at(key);
  const auto hottest = std::max_element(counts.begin(), counts.end()) - counts.begin();
  EXPECT_NE(hottest, 0);
  EXPECT_GT(counts[static_cast<size_t>(hottest)], 500u);
  EXPECT_NE(make_workload("ycsb")->describe().find("scrambled"), std::string::npos);
}

TEST_F(YcsbTest, LoadDoesNotDependOnTheNumberOfParts) {
  for (const char* touch : {"row", "column"}) {
    set({{"ycsb_records", "1001"}, {"ycsb_value_bytes", "100"}, {"ycsb_touch", touch}});
    const auto workload = make_workload("ycsb");
    const auto one = load(*workload, 1), four = load(*workload, 4);
    EXPECT_EQ(one->tables()[0]->count_rows(), 1001u);
    EXPECT_EQ(fingerprint(*one), fingerprint(*four));
    expect_consistent(*workload, *one);
  }
}

TEST_F(YcsbTest, VerifyFindsATornAndAMissingRow) {
  set(small_scale("ycsb"));
  const auto workload = make_workload("ycsb");
  const auto database = load(*workload, 1);
  Table& table = *database->tables()[0];
  Tuple* tuple = Table::tuple_of(table.primary().find(42, nullptr));
  tuple->row()[50] ^= std::byte{1};
  EXPECT_EQ(failing(*workload, *database), std::vector<std::string>{"every row is whole"});
  EXPECT_NE(workload->verify(*database)[1].detail.find("row 42 from byte 50"), std::string::npos);
  tuple->row()[50] ^= std::byte{1};
  tuple->version.store(Version(1, true).word());
  EXPECT_EQ(failing(*workload, *database), std::vector<std::string>{"every row is there"});
}

TEST_F(YcsbTest, RowsStayWholeUnderEveryProtocol) {
  set({{"ycsb_records", "64"}, {"ycsb_value_bytes", "200"}, {"ycsb_ops", "8"}});
  const std::vector<Flags> shapes = {
      {{"ycsb_distinct", "true"}},
      {{"ycsb_distinct", "false"}},
      {{"ycsb_rmw", "true"}},
      {{"ycsb_touch", "column"}},
      {{"ycsb_touch", "column"}, {"ycsb_index", "ordered"}, {"ycsb_scan_length", "10"}}};
  for (const ProtocolInfo& protocol : all_protocols()) {
    for (const Flags& shape : shapes) {
      const gflags::FlagSaver saver;
      set(shape);
      const auto workload = make_workload("ycsb");
      const auto database = load(*workload, 2);
      const uint64_t before = fingerprint(*database);
      Outcome outcome;
      run(*workload, *database, protocol, 1, 200, 1, outcome);
      EXPECT_EQ(outcome.commits, 200u);
      EXPECT_EQ(outcome.aborts, 0u) << protocol.name << ": one worker alone";
      EXPECT_NE(fingerprint(*database), before);
      run(*workload, *database, protocol, 3, 300, 2, outcome);
      EXPECT_EQ(outcome.commits, 1100u);
      SCOPED_TRACE(std::string(protocol.name) + " " + shape.back().first);
      expect_consistent(*workload, *database);
    }
  }
}

}  // namespace
}  // namespace logjam
