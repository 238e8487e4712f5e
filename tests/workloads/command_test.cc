// Workloads refuse logged commands that no client can have written.
#include "workloads/command.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

using CommandTest = WorkloadTest;

TEST(CommandFields, AByteThatIsNoBoolIsNoField) {
  for (const uint8_t byte : {0, 1, 2, 255}) {
    const std::array command{std::byte{byte}};
    CommandFields fields(command);
    bool field = false;
    fields(field);
    EXPECT_EQ(fields.whole(), byte < 2) << unsigned{byte};
    EXPECT_EQ(field, byte == 1);
  }
}

TEST(CommandFields, AFieldThatNoClientDrawsMakesTheCommandNone) {
  const std::array command{std::byte{7}};
  CommandFields fields(command);
  uint8_t field = 0;
  fields(field);
  EXPECT_TRUE(fields.ended());
  fields.require(field < 7);
  EXPECT_FALSE(fields.ended());
}

TEST_F(CommandTest, AScanOfAHashIndexIsNone) {
  constexpr uint64_t kKindShift = 62, kScan = 3;
  for (const char* index : {"hash", "ordered"}) {
    set(small_scale("ycsb"));
    set({{"ycsb_index", index}});
    const auto workload = make_workload("ycsb");
    const auto database = load(*workload, 1);
    const auto client = workload->make_replayer(*database);
    const bool ordered = std::string(index) == "ordered";
    const std::array<uint64_t, 6> scans{1, 1, 0, 0, kScan << kKindShift, 5};
    EXPECT_EQ(client->take(0, std::as_bytes(std::span(scans))), ordered) << index;
    const std::array<uint64_t, 5> scans_then{1, 1, 0, 9, 0};
    EXPECT_EQ(client->take(0, std::as_bytes(std::span(scans_then))), ordered) << index;
  }
}

}  // namespace
}  // namespace logjam
