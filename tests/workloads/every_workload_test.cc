// Properties of every registered workload, at small scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/storage/csv_export.h"
#include "tests/workloads/chi_square.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

using EveryWorkload = WorkloadTest;

TEST_F(EveryWorkload, DescribesItselfAndItsMemory) {
  for_each_small_scale([](const WorkloadInfo& info) {
    EXPECT_FALSE(info.what.empty());
    EXPECT_FALSE(info.memory.empty());
    const Specification spec = make_workload(info.name)->spec();
    EXPECT_FALSE(spec.types.empty());
    EXPECT_TRUE(spec.description.starts_with(info.name)) << spec.description;
  });
}

TEST_F(EveryWorkload, DrawsTheSharesOfItsSpecification) {
  for_each_small_scale([](const WorkloadInfo& info) {
    const auto workload = make_workload(info.name);
    const auto types = workload->spec().types;
    std::vector<double> shares;
    for (const TypeSpecification& type : types) {
      if (type.specified) shares.push_back(type.specified->share_pct / 100);
    }
    if (shares.empty()) return;
    ASSERT_EQ(shares.size(), types.size());
    const auto database = load(*workload, 1);
    std::vector<uint64_t> drawn(shares.size());
    {
      const auto client = workload->make_client(*database, 0, 1, 3);
      for (int i = 0; i < 100'000; ++i) ++drawn.at(client->next());
    }
    expect_follows(drawn, shares, "types");
    for (const Share& share : workload->shares()) {
      // Some shares, such as TPC-C's skipped districts, count executed transactions. This test
      // executes no transaction, so it skips these shares.
      if (share.all == 0) continue;
      EXPECT_NEAR(100.0 * static_cast<double>(share.hits) / static_cast<double>(share.all),
                  share.specified_pct, 0.6)
          << share.name;
    }
  });
}

// Returns the number of a row's bytes that are in no column: padding and computed bytes.
uint64_t bytes_without_column(const std::string& table) {
  static const std::map<std::string, uint64_t> known = {
      {"ledger/ledger", 64}, {"ledger/entries", 8}, {"ledger/cells", 32},
      {"ledger/slots", 8},  // hashes
      {"tpcb/branch", 84},   {"tpcb/teller", 76},   {"tpcb/account", 76},
      {"tpcb/history", 22},  {"tpcc/warehouse", 3}, {"tpcc/district", 7},
      {"tpcc/customer", 5},  {"tpcc/order", 1},     {"tpcc/order_line", 4},
      {"tpcc/item", 2},      {"tpcc/stock", 2},
  };
  const auto found = known.find(table);
  return found == known.end() ? 0 : found->second;
}

TEST_F(EveryWorkload, HasAColumnForEachByteOfItsRows) {
  for_each_small_scale([](const WorkloadInfo& info) {
    Database database;
    make_workload(info.name)->create_tables(database);
    EXPECT_EQ(undescribed_table(database), "");
    for (const auto& table : database.tables()) {
      const std::string name = std::string(info.name) + "/" + table->schema().name;
      std::set<std::string> names;
      std::vector<bool> covered(table->row_bytes());
      for (const Column& column : table->schema().columns) {
        EXPECT_TRUE(names.insert(column.name).second) << name << " " << column.name;
        ASSERT_LE(column.offset + column.bytes, table->row_bytes()) << name << " " << column.name;
        for (uint32_t i = column.offset; i < column.offset + column.bytes; ++i) {
          EXPECT_FALSE(covered[i]) << name << ", byte " << i << ": " << column.name;
          covered[i] = true;
        }
      }
      EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(covered, false)),
                bytes_without_column(name))
          << name;
    }
  });
}

TEST_F(EveryWorkload, LoadDoesNotDependOnTheNumberOfParts) {
  for_each_small_scale([](const WorkloadInfo& info) {
    const auto workload = make_workload(info.name);
    const auto one = load(*workload, 1);
    for (const uint32_t parts : {4, 64}) {
      const auto other = load(*workload, parts);
      EXPECT_EQ(fingerprint(*other), fingerprint(*one));
      expect_consistent(*workload, *other);
    }
  });
}

// The bytes differ because hash buckets are outside the arena, and nodes of trees are not full.
TEST_F(EveryWorkload, ExpectedBytesAreNearTheBytesAllocated) {
  for_each_small_scale([](const WorkloadInfo& info) {
    const auto workload = make_workload(info.name);
    Database database;
    Arena arena;
    workload->create_tables(database);
    workload->load(database, 0, 1, arena);
    const auto taken = static_cast<double>(arena.allocated_bytes());
    EXPECT_GT(static_cast<double>(workload->spec().expected_bytes), 0.9 * taken);
    EXPECT_LT(static_cast<double>(workload->spec().expected_bytes), 1.6 * taken);
  });
}

TEST_F(EveryWorkload, StaysConsistentUnderEveryProtocol) {
  for_each_small_scale([](const WorkloadInfo& info) {
    for (const ProtocolInfo& protocol : all_protocols()) {
      SCOPED_TRACE(protocol.name);
      for (const uint32_t workers : {1, 4}) {
        const auto workload = make_workload(info.name);
        const auto database = load(*workload, 2);
        Outcome outcome;
        run(*workload, *database, protocol, workers, 200, 1, outcome);
        EXPECT_EQ(outcome.commits + outcome.rollbacks, workers * 200u);
        EXPECT_TRUE(workers > 1 || outcome.aborts == 0) << "one worker alone";
        expect_consistent(*workload, *database);
      }
    }
  });
}

// A transaction's random input is made once, not again for each attempt.
TEST_F(EveryWorkload, IsAFunctionOfTheSeedEvenWithRetries) {
  for_each_small_scale([](const WorkloadInfo& info) {
    if (info.name == "ledger") return;  // a row of the ledger has the number of the writing attempt
    for (const ProtocolInfo& protocol : all_protocols()) {
      SCOPED_TRACE(protocol.name);
      const auto outcome_of = [&](uint64_t seed, bool repeat) {
        const auto workload = make_workload(info.name);
        const auto database = load(*workload, 1);
        Outcome outcome;
        run(*workload, *database, protocol, 1, 200, seed, outcome, repeat);
        expect_consistent(*workload, *database);
        return fingerprint(*database);
      };
      const uint64_t once = outcome_of(3, false);
      EXPECT_EQ(outcome_of(3, true), once);
      const bool draws = info.name != "trace";
      EXPECT_EQ(outcome_of(4, false) != once, draws);
    }
  });
}

// Flags, and the message of their refusal: empty if the flags are accepted, "..." for any message.
struct Given {
  const char* workload;
  Flags flags;
  std::string refusal;
};

TEST_F(EveryWorkload, HasANameOfItsOwn) {
  EXPECT_DEATH(WorkloadRegistration(*find_workload("tpcb")),
               "^logjam: two registrations have the name tpcb: .*workloads/tpcb/tpcb.cc and .*"
               "tests/workloads/every_workload_test.cc\n");
}

TEST_F(EveryWorkload, RefusesBadFlagsInOneSentence) {
  const std::vector<Given> all = {
      {"micro-update", {}, ""},
      {"micro-update",
       {{"micro_update_kind", "update-2"}},
       "--micro_update_kind is update-1, update-5-read-5 or update-10, not \"update-2\""},
      {"micro-update", {{"micro_update_rows", "9"}}, "--micro_update_rows is 10 to 1000000000"},
      {"micro-update", {{"micro_update_row_bytes", "31"}}, "..."},
      {"oltp", {}, ""},
      {"oltp", {{"oltp_tables", "0"}}, "--oltp_tables is 1 to 1000"},
      {"oltp", {{"oltp_rows", "0"}}, "..."},
      {"oltp", {{"oltp_distribution", "pareto"}}, "..."},
      {"oltp", {{"oltp_range_size", "0"}}, "..."},
      {"smallbank", {}, ""},
      {"smallbank", {{"smallbank_accounts", "1"}}, "--smallbank_accounts is 2 to 1000000000"},
      {"smallbank", {{"smallbank_hot", "accounts:10,percent:90"}}, ""},
      {"smallbank",
       {{"smallbank_hot", "accounts:10"}},
       "--smallbank_hot=accounts:10 needs both keys, as in accounts:1000,percent:90"},
      {"smallbank", {{"smallbank_hot", "accounts:1,percent:90"}}, "..."},
      {"smallbank", {{"smallbank_hot", "accounts:10,percent:101"}}, "..."},
      {"smallbank", {{"smallbank_hot", "percent:90"}}, "..."},
      {"smallbank",
       {{"smallbank_accounts", "11"}, {"smallbank_hot", "accounts:10,percent:90"}},
       "--smallbank_hot leaves less than two of --smallbank_accounts=11 that are not hot"},
      {"tatp", {}, ""},
      {"tatp", {{"tatp_only", "UpdateLocation"}}, ""},
      {"tatp", {{"tatp_end_times", "text"}}, ""},
      {"tatp", {{"tatp_subscribers", "0"}}, "--tatp_subscribers is 1 to 1000000000"},
      {"tatp", {{"tatp_only", "updatelocation"}}, "..."},
      {"tatp", {{"tatp_end_times", "both"}}, "--tatp_end_times is kit or text, not \"both\""},
      {"tpcb", {}, ""},
      {"tpcb", {{"tpcb_branches", "0"}}, "--tpcb_branches is 1 to 100000000"},
      {"tpcb", {{"tpcb_accounts", "0"}}, "..."},
      {"tpcb", {{"tpcb_theta", "-1"}}, "--tpcb_theta is 0 to 5"},
      {"tpcb", {{"tpcb_theta", "nan"}}, "..."},
      {"tpcc", {}, ""},
      {"tpcc",
       {{"tpcc_mix", "50,50"}},
       "--tpcc_mix is standard, np, neworder, or five weights like 45,43,4,4,4, not \"50,50\""},
      {"tpcc", {{"tpcc_home", "away"}}, "--tpcc_home is split, fixed or any, not \"away\""},
      {"tpcc", {{"tpcc_warehouses", "0"}}, "..."},
      {"tpcc", {{"tpcc_warehouses", "1048576"}}, "--tpcc_warehouses is 1 to 1048575"},
      {"tpcc", {{"tpcc_items", "0"}}, "..."},
      {"tpcc", {{"tpcc_customers", "3001"}}, "--tpcc_customers is 10 to 3000"},
      {"trace", {}, "--workload=trace needs --trace=FILE"},
      {"trace", {{"trace", "proof/small_trace.csv"}}, ""},
      {"trace", {{"trace_speed", "-1"}, {"trace", "proof/small_trace.csv"}}, "..."},
      {"ycsb", {}, ""},
      {"ycsb",
       {{"ycsb_workload", "G"}},
       "--ycsb_workload=G is not a mix; allowed are A, B, C, D, E, F, dbx1000, eleda, "
       "poplar-hybrid, poplar-write-only, rows-16 and silo"},
      {"ycsb",
       {{"ycsb_index", "tree"}},
       "--ycsb_index=tree is not a choice; allowed are hash, ordered and auto"},
      {"ycsb",
       {{"ycsb_workload", "D"}, {"ycsb_ratios", "read:1"}},
       "the shares of reads, inserts and scans (100 %, 5 % and 0 %), those of --ycsb_ratios or "
       "else the mix's, add up to more than 1"},
      {"ycsb", {{"ycsb_workload", "D"}, {"ycsb_ratios", "read:1,insert:0"}}, ""},
      {"ycsb", {{"ycsb_records", "0"}}, "..."},
      {"ycsb", {{"ycsb_value_bytes", "3"}}, "..."},
      {"ycsb", {{"ycsb_ops", "1025"}}, "--ycsb_ops is 1 to 1024"},
      {"ycsb", {{"ycsb_ops", "0:64"}}, ""},
      {"ycsb", {{"ycsb_ops", "1:0"}}, "--ycsb_ops=N:AHEAD draws 1 to 64 transactions at a time"},
      {"ycsb", {{"ycsb_ops", "1:65"}}, "..."},
      {"ycsb",
       {{"ycsb_ops", "1:"}},
       "--ycsb_ops=1: is not a whole number, or two with a colon between them, such as 1:16"},
      {"ycsb", {{"ycsb_ops", "1:2x"}}, "..."},
      {"ycsb", {{"ycsb_ops", ""}}, "..."},
      {"ycsb",
       {{"ycsb_ops", "1:2"}, {"ycsb_workload", "D"}},
       "--ycsb_ops=N:AHEAD is for mixes of reads and updates, without inserts, scans or long "
       "transactions"},
      {"ycsb", {{"ycsb_ops", "1:2"}, {"ycsb_workload", "poplar-hybrid"}}, "..."},
      {"ycsb", {{"ycsb_ops", "1:2"}, {"ycsb_long_rows", "2"}}, "..."},
      {"ycsb", {{"ycsb_long_rows", "65535"}}, ""},
      {"ycsb", {{"ycsb_long_rows", "65536"}}, "--ycsb_long_rows is 0 to 65535"},
      {"ycsb",
       {{"ycsb_records", "99"}, {"ycsb_long_rows", "100"}},
       "--ycsb_long_rows cannot exceed --ycsb_records: the rows of a transaction differ"},
      {"ycsb", {{"ycsb_ratios", "read:1.5"}}, "..."},
      {"ycsb", {{"ycsb_ratios", "read:nan"}}, "..."},
      {"ycsb", {{"ycsb_theta", "1"}}, "..."},
      {"ycsb", {{"ycsb_theta", "0.9999999999"}}, "..."},
      {"ycsb", {{"ycsb_theta", "-0.1"}}, "..."},
      {"ycsb", {{"ycsb_distribution", "normal"}}, "..."},
      {"ycsb", {{"ycsb_update", "cell"}}, "..."},
      {"ycsb", {{"ycsb_read", "cell"}}, "..."},
      {"ycsb", {{"ycsb_scan_length", "5"}}, "--ycsb_scan_length needs --ycsb_index=ordered"},
      {"ycsb", {{"ycsb_workload", "a"}}, "..."},
      {"ycsb", {{"ycsb_workload", "E"}, {"ycsb_index", "hash"}}, "..."},
      {"ycsb", {{"ycsb_ratios", "insert:-0.5"}}, "..."},
      {"ycsb", {{"ycsb_ratios", "insert:0.6"}}, "..."},
      {"ycsb", {{"ycsb_index", "ordered"}, {"ycsb_ratios", "scan:0.1"}}, "..."},
      {"ycsb", {{"ycsb_records", "8"}, {"ycsb_ops", "9"}}, "..."},
      {"ycsb", {{"ycsb_workload", "poplar-hybrid"}, {"ycsb_index", "hash"}}, "..."},
      {"ycsb", {{"ycsb_read", "field"}, {"ycsb_update", "row"}}, "..."},
      {"ycsb", {{"ycsb_value_bytes", "44"}}, "..."},
      {"ycsb", {{"ycsb_distribution", "uniform"}, {"ycsb_theta", "0.5"}}, "..."},
  };
  for (const auto& [workload, flags, refusal] : all) {
    const std::string said = refusal_of(workload, flags);
    SCOPED_TRACE(flags.empty() ? workload : flags.back().first + "=" + flags.back().second);
    if (refusal == "...") {
      EXPECT_NE(said, "");
    } else {
      EXPECT_EQ(said, refusal);
    }
  }
  for (const char* mix : {"standard", "np", "neworder", "45,43,4,4,4", "0,1,0,0,0"}) {
    EXPECT_EQ(refusal_of("tpcc", {{"tpcc_mix", mix}}), "") << mix;
  }
  for (const char* mix : {"", "50", "50,", ",50,0,0,0", "50,50,0,0,", "0,0,0,0,0", "50,x,0,0,0",
                          "-1,2,0,0,0", "1,2,3,4", "1 ,2,3,4,5", "1,1,0,0,0,0",
                          "99999999999,1,0,0,0", "2000000,1,0,0,0", "45/43/4/4/4", "full"}) {
    EXPECT_NE(refusal_of("tpcc", {{"tpcc_mix", mix}}), "") << mix;
  }
}

}  // namespace
}  // namespace logjam
