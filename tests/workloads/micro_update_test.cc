#include <gtest/gtest.h>

#include <functional>

#include "tests/workloads/harness.h"
#include "tests/workloads/rows.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

class MicroUpdateTest : public WorkloadTest {
 protected:
  MicroUpdateTest() { set(small_scale("micro-update")); }
};

TEST_F(MicroUpdateTest, RefusesBadFlagsInOneSentence) {
  const auto refusal = [](const Flags& flags) { return refusal_of("micro-update", flags); };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"micro_update_kind", "update-2"}}),
            "--micro_update_kind is update-1, update-5-read-5 or update-10, not \"update-2\"");
  EXPECT_NE(refusal({{"micro_update_rows", "9"}}), "");
  EXPECT_NE(refusal({{"micro_update_row_bytes", "31"}}), "");
}

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

TEST_F(MicroUpdateTest, VerifyFindsPlantedErrors) {
  set({{"micro_update_kind", "update-5-read-5"}});
  const std::vector<std::pair<std::string, std::function<void(Table&)>>> planted = {
      {"every row is there", [](Table& t) { erase(t, 7); }},
      {"every row is whole", [](Table& t) { tuple(t, 7)->row()[99] ^= std::byte{1}; }},
      {"every row is whole",
       [](Table& t) { std::memcpy(tuple(t, 7)->row(), tuple(t, 8)->row(), t.row_bytes()); }},
      {"balances", [](Table& t) { ++row<int64_t[2]>(t, 7)[1]; }},
      {"rows count", [](Table& t) { ++row<uint64_t[2]>(t, 7)[0]; }},
  };
  for (const auto& [caught_by, plant] : planted) {
    expect_caught("micro-update", 100, caught_by,
                  [&plant = plant](Database& database) { plant(*database.tables()[0]); });
  }
}

}  // namespace
}  // namespace logjam
