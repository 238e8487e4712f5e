// Properties of every registered workload, at small scales: the load does not depend on its number
// of parts, expected_bytes() is near the memory used, the database stays consistent under every
// protocol, and a retry executes the same input.
#include <gtest/gtest.h>

#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

class EveryWorkload : public WorkloadTest {
 protected:
  // Calls `check(workload)` for each small configuration.
  template <class Check>
  static void for_each(const Check& check) {
    for (const WorkloadInfo& info : all_workloads()) {
      const auto scales = small_scales(info.name);
      ASSERT_FALSE(scales.empty()) << info.name << " needs a line in small_scales.h";
      for (const Flags& flags : scales) {
        const gflags::FlagSaver saver;
        set(flags);
        SCOPED_TRACE(std::string(info.name) +
                     (flags.empty() ? "" : " --" + flags.back().first + "=" + flags.back().second));
        check(info, *make_workload(info.name));
      }
    }
  }
};

TEST_F(EveryWorkload, DescribesItselfAndItsMemory) {
  for_each([](const WorkloadInfo& info, Workload& workload) {
    EXPECT_FALSE(info.what.empty());
    EXPECT_FALSE(info.memory.empty());
    const Specification spec = workload.spec();
    EXPECT_FALSE(spec.types.empty());
    EXPECT_TRUE(spec.description.starts_with(info.name)) << spec.description;
    double share = 0;
    size_t specified = 0;
    for (const TypeSpecification& type : spec.types) {
      if (type.specified) share += type.specified->share_pct, ++specified;
    }
    if (specified == 0) return;
    EXPECT_EQ(specified, spec.types.size());
    EXPECT_DOUBLE_EQ(share, 100);
  });
}

TEST_F(EveryWorkload, LoadDoesNotDependOnTheNumberOfParts) {
  for_each([](const WorkloadInfo&, Workload& workload) {
    const auto one = load(workload, 1), five = load(workload, 5);
    EXPECT_EQ(fingerprint(*one), fingerprint(*five));
    expect_consistent(workload, *one);
    expect_consistent(workload, *five);
  });
}

// The two differ, since hash indexes have their buckets outside the arena, and tree nodes are not
// full.
TEST_F(EveryWorkload, ExpectedBytesAreNearTheBytesAllocated) {
  for_each([](const WorkloadInfo&, Workload& workload) {
    Database database;
    Arena arena;
    workload.create_tables(database);
    workload.load(database, 0, 1, arena);
    const auto taken = static_cast<double>(arena.allocated_bytes());
    EXPECT_GT(static_cast<double>(workload.spec().expected_bytes), 0.9 * taken);
    EXPECT_LT(static_cast<double>(workload.spec().expected_bytes), 1.6 * taken);
  });
}

TEST_F(EveryWorkload, StaysConsistentUnderEveryProtocol) {
  for_each([](const WorkloadInfo& info, Workload&) {
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

// Input is drawn once per transaction, not once per attempt.
TEST_F(EveryWorkload, IsAFunctionOfTheSeedEvenWithRetries) {
  for_each([](const WorkloadInfo& info, Workload&) {
    if (info.name == "ledger") return;  // its rows name the attempt that wrote them
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
      EXPECT_NE(outcome_of(4, false), once);
    }
  });
}

}  // namespace
}  // namespace logjam
