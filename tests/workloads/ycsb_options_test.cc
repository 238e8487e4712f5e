// The flags of YCSB, and the mixes that these flags select.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workloads/harness.h"
#include "workloads/ycsb/options.h"

namespace logjam {
namespace {

using YcsbOptionsTest = WorkloadTest;

std::string refusal(const Flags& flags) { return refusal_of("ycsb", flags); }

TEST_F(YcsbOptionsTest, TheDefaultIsYcsbsA) {
  EXPECT_EQ(ycsb::describe(ycsb::options_from_flags()),
            "ycsb A: 1000000 rows of 1000 B in a hash index under hashed keys, 1 operation (50 % "
            "reads of the row, update=field), scrambled zipfian rows (YCSB's, 10^10 ranks) theta "
            "0.99; 500 B of rows a transaction, of which it writes 50 B");
}

TEST_F(YcsbOptionsTest, PapersMixesHaveNamesOfTheirOwn) {
  const auto options_of = [](const char* mix) {
    set({{"ycsb_workload", mix}});
    return ycsb::options_from_flags();
  };
  ycsb::Options options = options_of("poplar-write-only");
  EXPECT_EQ(options.ops, 1u);
  EXPECT_EQ(options.read_ratio, 0);
  EXPECT_TRUE(options.blind());
  EXPECT_EQ(options.distribution, ycsb::Distribution::kUniform);
  options = options_of("poplar-hybrid");
  EXPECT_EQ(options.scan_length, 10u);
  EXPECT_TRUE(options.ordered && options.by_field());
  options = options_of("silo");
  EXPECT_EQ(options.value_bytes, 100u);
  EXPECT_EQ(options.read_ratio, 0.8);
  EXPECT_EQ(options.update, ycsb::Update::kReadRow);
  options = options_of("dbx1000");
  EXPECT_EQ(options.ops, 16u);
  EXPECT_EQ(options.read_ratio, 0.9);
  EXPECT_EQ(options.theta, 0.6);
  EXPECT_FALSE(options.hashed);
  for (const ycsb::Variant& variant : ycsb::variants()) {
    set({{"ycsb_workload", std::string(variant.name)}});
    EXPECT_TRUE(
        make_workload("ycsb")->spec().description.starts_with("ycsb " + std::string(variant.name)));
  }
}

TEST_F(YcsbOptionsTest, PopularRowsMoveOnlyIfThereAreAny) {
  set({{"ycsb_hot", "moves:10s"}});
  EXPECT_EQ(ycsb::options_from_flags().hot_moves_s, 10);
  EXPECT_NE(ycsb::describe(ycsb::options_from_flags()).find("other popular rows every 10 s"),
            std::string::npos);
  EXPECT_EQ(refusal({{"ycsb_hot", "moves:0.5"}}), "");
  for (const char* wrong :
       {"", "moves", "moves:", "moves:0", "moves:-1", "moves:nan", "moves:1ss"}) {
    EXPECT_EQ(refusal({{"ycsb_hot", wrong}}),
              std::string("--ycsb_hot=") + wrong +
                  " is neither stays nor moves:N with N seconds, from 0.001 to 1e6");
  }
  EXPECT_TRUE(refusal({{"ycsb_hot", "moves:1"}, {"ycsb_distribution", "uniform"}})
                  .starts_with("--ycsb_hot=moves:N needs rows that are popular"));
}

TEST_F(YcsbOptionsTest, GivenFlagsOverrideTheMix) {
  set({{"ycsb_workload", "poplar-hybrid"},
       {"ycsb_scan_length", "50"},
       {"ycsb_ops", "16"},
       {"ycsb_theta", "0.9"}});
  EXPECT_EQ(ycsb::options_from_flags().scan_length, 50u);
  EXPECT_EQ(ycsb::options_from_flags().ops, 16u);
  EXPECT_EQ(ycsb::options_from_flags().distribution, ycsb::Distribution::kZipf);
  set({{"ycsb_workload", "silo"}, {"ycsb_theta", "-1"}, {"ycsb_distribution", "scrambled"}});
  EXPECT_EQ(ycsb::options_from_flags().theta, 0.99);
  set({{"ycsb_workload", "E"},
       {"ycsb_distribution", "auto"},
       {"ycsb_scan_length", "7"},
       {"ycsb_theta", "0"}});
  EXPECT_EQ(ycsb::options_from_flags().scan_length, 7u);
  EXPECT_EQ(ycsb::options_from_flags().distribution, ycsb::Distribution::kUniform);
}

TEST_F(YcsbOptionsTest, CoreWorkloadsAreThoseOfYcsb) {
  struct Core {
    const char* name;
    double reads, inserts, scans;
  };
  for (const Core& core :
       {Core{"A", 0.5, 0, 0}, Core{"B", 0.95, 0, 0}, Core{"C", 1, 0, 0}, Core{"D", 0.95, 0.05, 0},
        Core{"E", 0, 0.05, 0.95}, Core{"F", 0.5, 0, 0}}) {
    SCOPED_TRACE(core.name);
    set({{"ycsb_workload", core.name}});
    EXPECT_EQ(ycsb::check_flags(), "");
    const ycsb::Options options = ycsb::options_from_flags();
    EXPECT_EQ(options.read_ratio, core.reads);
    EXPECT_EQ(options.insert_ratio, core.inserts);
    EXPECT_EQ(options.scan_ratio, core.scans);
    EXPECT_EQ(options.update, *core.name == 'F' ? ycsb::Update::kReadField : ycsb::Update::kField);
    EXPECT_EQ(options.ops, 1u);
    EXPECT_EQ(options.value_bytes, 1000u);
    EXPECT_EQ(options.theta, 0.99);
    EXPECT_EQ(options.distribution,
              *core.name == 'D' ? ycsb::Distribution::kLatest : ycsb::Distribution::kScrambled);
    EXPECT_EQ(options.ordered, core.inserts > 0);
    EXPECT_TRUE(options.hashed);
    EXPECT_EQ(options.scan_length, *core.name == 'E' ? 100u : 0u);
    EXPECT_EQ(options.expected_inserts, core.inserts > 0 ? 100'000u : 0u);
  }
}

TEST_F(YcsbOptionsTest, AnInsertRatioOfZeroIsNotThatOfTheMix) {
  for (const char* name : {"D", "E"}) {
    set({{"ycsb_workload", name}, {"ycsb_ratios", "insert:0"}});
    EXPECT_EQ(ycsb::check_flags(), "");
    EXPECT_EQ(ycsb::options_from_flags().insert_ratio, 0);
    // A log's header has this value if the flag was not given.
    set({{"ycsb_ratios", ""}});
    EXPECT_EQ(ycsb::options_from_flags().insert_ratio, 0.05);
  }
}

// A recovery sets only the flags that are in the log's header. It must accept all flags that the
// run has accepted, and must print the run's mix.
TEST_F(YcsbOptionsTest, LoadFlagsAloneAreAcceptedAndSayWhatTheRunWas) {
  const auto& load_flags = find_workload("ycsb")->load_flags;
  const Flags mix = {{"ycsb_workload", "E"},    {"ycsb_ratios", "read:0.2,insert:0.3,scan:0.4"},
                     {"ycsb_scan_length", "7"}, {"ycsb_update", "read-row"},
                     {"ycsb_ops", "3"},         {"ycsb_theta", "0.5"},
                     {"ycsb_index", "ordered"}, {"ycsb_distribution", "latest"}};
  for (const auto& [name, value] : mix) {
    EXPECT_NE(std::find(load_flags.begin(), load_flags.end(), name), load_flags.end()) << name;
  }
  EXPECT_EQ(refusal(mix), "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}}), "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}, {"ycsb_workload", "poplar-hybrid"}}), "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}, {"ycsb_workload", "rows-16"}}), "");
  EXPECT_EQ(refusal({{"ycsb_records", "5"}, {"ycsb_workload", "E"}}), "");
  EXPECT_EQ(refusal({{"ycsb_ratios", "insert:0.4"}}), "");
}

}  // namespace
}  // namespace logjam
