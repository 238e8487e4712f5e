#include <gtest/gtest.h>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/rows.h"

namespace logjam {
namespace {

Key inserted_key(uint64_t records, uint64_t n, uint32_t worker) {
  const ycsb::KeySpace space{records, true};
  return space.key_of(space.inserted(n, worker));
}

// A database after a run of a mix under one worker.
class YcsbVerifyTest : public WorkloadTest {
 protected:
  void run_mix(const Flags& flags) {
    set(small_scale("ycsb"));
    set(flags);
    workload_ = make_workload("ycsb");
    database_ = load(*workload_, 1);
    Outcome outcome;
    run(*workload_, *database_, all_protocols().front(), 1, 500, 1, outcome);
    expect_consistent(*workload_, *database_);
  }
  Table& table() { return *database_->tables()[0]; }
  // Returns a recovery's checks, which do not know the acknowledged transactions.
  std::vector<Check> verify_as_recovered() { return make_workload("ycsb")->verify(*database_); }
  void expect_failure(const std::vector<Check>& checks, const std::string& name,
                      const std::string& detail) {
    for (const Check& check : checks) {
      if (check.name != name) {
        EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
        continue;
      }
      EXPECT_FALSE(check.passed);
      EXPECT_NE(check.detail.find(detail), std::string::npos) << check.detail;
      return;
    }
    ADD_FAILURE() << "there is no check " << name;
  }
  // Returns the key of the first row with an updated field, and this field.
  std::pair<Key, uint32_t> an_updated_field(const ycsb::Fields& fields) {
    for (uint64_t number = 0; number < 500; ++number) {
      const Key key = ycsb_hash(number);
      for (uint32_t field = 0; field < fields.count; ++field) {
        const std::byte* row = tuple(table(), key)->row();
        if (ycsb::stamp_of(row + field * fields.bytes, fields.bytes) != 0) return {key, field};
      }
    }
    ADD_FAILURE() << "nothing was updated";
    return {};
  }

  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Database> database_;
};

TEST_F(YcsbVerifyTest, FindsATornAndAMissingRow) {
  run_mix({});
  const Key key = ycsb_hash(42);
  std::byte& torn = tuple(table(), key)->row()[57];
  torn ^= std::byte{1};
  expect_failure(
      workload_->verify(*database_), "every row is whole",
      "1 torn or foreign fields in 500 rows; first: key " + std::to_string(key) + " from byte 57");
  torn ^= std::byte{1};
  erase(table(), key);
  expect_failure(workload_->verify(*database_), "every row is there",
                 "499 rows of 500 loaded, 0 never loaded; missing: row 42");
}

TEST_F(YcsbVerifyTest, FindsALostUpdate) {
  run_mix({});
  const ycsb::Fields fields(ycsb::options_from_flags());
  const auto [key, field] = an_updated_field(fields);
  fields.add(tuple(table(), key)->row(), key, field, ~uint64_t{0});
  const auto checks = workload_->verify(*database_);
  const uint64_t updates = std::stoull(find_check(checks, "every update")->detail) + 1;
  expect_failure(checks, "every update is there, and once",
                 std::to_string(updates - 1) + " found, " + std::to_string(updates) +
                     " loaded and acknowledged");
}

// The checks find the error although they do not know the number of acknowledged transactions.
TEST_F(YcsbVerifyTest, FindsAHalfAppliedTransaction) {
  run_mix({{"ycsb_ops", "4"}, {"ycsb_ratios", "read:0"}, {"ycsb_value_bytes", "1000"}});
  const ycsb::Fields fields(ycsb::options_from_flags());
  EXPECT_EQ(verify_as_recovered().back().detail, "stamps add up to 500 transactions");
  const auto [key, field] = an_updated_field(fields);
  fields.write(tuple(table(), key)->row(), key, field, 0);
  expect_failure(verify_as_recovered(), "every update is whole", "stamps add up to ");
}

TEST_F(YcsbVerifyTest, FindsALostInsert) {
  run_mix({{"ycsb_workload", "D"}});
  erase(table(), inserted_key(500, 7, 0));
  expect_failure(verify_as_recovered(), "no insert is missing before a later one of its worker",
                 "7 without a gap; missing: insert 7 of worker 0, whose insert 8 is there");
  // A recovery of several streams may lose the row, but this run has acknowledged the row.
  workload_->note_any_order();
  EXPECT_EQ(failing(*workload_, *database_),
            std::vector<std::string>{"every row inserted is there"});
}

TEST_F(YcsbVerifyTest, FindsADamagedInsertAndAForeignOne) {
  run_mix({{"ycsb_workload", "D"}});
  const Key key = inserted_key(500, 3, 0);
  tuple(table(), key)->row()[57] ^= std::byte{1};
  EXPECT_EQ(failing(*workload_, *database_), std::vector<std::string>{"every row is whole"});
  run_mix({{"ycsb_workload", "C"}, {"ycsb_index", "ordered"}});
  Arena arena;
  std::vector<std::byte> row(100);
  ycsb::Fields(ycsb::options_from_flags()).load(row.data(), 17);
  table().load(17, row.data(), arena);
  expect_failure(workload_->verify(*database_), "every row is there", "1 never loaded");
}

}  // namespace
}  // namespace logjam
