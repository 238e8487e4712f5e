// The hardware context that each policy gives to each worker, on machines that hwloc simulates.
#include "platform/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "platform/text.h"
#include "tests/with_placement.h"

namespace logjam::platform {
namespace {

constexpr const char* kMachines[] = {"pack:4 numa:1 core:16 pu:2", "pack:2 core:8 pu:1",
                                     "pack:1 core:2 pu:2",         "numa:2 pack:2 core:4 pu:2",
                                     "pack:2 numa:4 core:4 pu:2",  "pack:2 numa:1 core:4 pu:4"};
constexpr uint32_t kManyWorkers = 128;

// Large or irregular machines. Contexts with consecutive numbers share a node, `of_a_node` each.
struct Large {
  const char* description;
  int sockets, nodes, cores;
  uint32_t contexts;
  int of_a_node;
};
constexpr Large kLarge[] = {
    {"pack:1 core:64 pu:1", 1, 1, 64, 64, 64},
    {"pack:2 numa:2 core:16 pu:2", 2, 4, 64, 128, 32},
    {"pack:4 numa:1 core:24 pu:2", 4, 4, 96, 192, 48},
    {"pack:8 numa:1 core:64 pu:2", 8, 8, 512, 1024, 128},
    {"pack:2 numa:4 core:15 pu:2", 2, 8, 120, 240, 30},  // sub-NUMA clusters
    {"tests/platform/socket_without_memory.xml", 2, 1, 4, 4, 4},
    // Eight cores of two contexts, and eight of one.
    {"core:16 pu:2 allowed:0-15,16,18,20,22,24,26,28,30", 1, 1, 16, 24, 32},
    // The odd contexts are offline.
    {"pack:2 numa:1 core:4 pu:2 allowed:0,2,4,6,8,10,12,14", 2, 2, 8, 8, 8},
    {"pack:8 numa:1 core:64 pu:2 allowed:1016-1023", 1, 1, 4, 8, 128},
    {"pack:1 core:1 pu:1", 1, 1, 1, 1, 1},
};

Placement placement_on(const std::string& machine, PlacementPolicy policy, uint32_t workers = 0) {
  return {machine_of(machine), policy, workers};
}

std::vector<int> numbers_of(const Placement& placement) {
  std::vector<int> numbers;
  for (const HardwareContext& context : placement.order()) numbers.push_back(context.number);
  return numbers;
}

// Returns how many of the first `workers` workers are on each core, socket or node.
std::map<int, uint32_t> shares(const Placement& placement, uint32_t workers,
                               int HardwareContext::*of) {
  std::map<int, uint32_t> counts;
  for (uint32_t worker = 0; worker < workers; ++worker) ++counts[placement.of(worker).*of];
  return counts;
}

uint32_t most(const std::map<int, uint32_t>& counts) {
  return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->second;
}

void expect_even(const std::map<int, uint32_t>& shares, uint32_t workers, size_t parts) {
  EXPECT_EQ(shares.size(), std::min<size_t>(workers, parts));
  EXPECT_EQ(most(shares), (workers + parts - 1) / parts);
}

// Calls check(placement, workers) for each machine and number of workers. On a large machine the
// numbers of workers are 1, 7, the number of contexts, and one more than this number.
template <class Check>
void on_all_machines(PlacementPolicy policy, const Check& check) {
  const auto checked = [&](const Topology& machine, uint32_t workers) {
    check(Placement(machine, policy, workers), workers);
    if (testing::Test::HasFailure()) FAIL() << workers << " workers";
  };
  for (const char* description : kMachines) {
    SCOPED_TRACE(description);
    const Topology machine = machine_of(description);
    for (uint32_t workers = 1; workers <= kManyWorkers; ++workers) checked(machine, workers);
  }
  for (const Large& large : kLarge) {
    SCOPED_TRACE(large.description);
    const Topology machine = machine_of(large.description);
    for (const uint32_t workers : {1u, 7u, large.contexts, large.contexts + 1}) {
      checked(machine, workers);
    }
  }
}

// Returns `workers`, or the number of contexts if there are fewer.
uint32_t with_a_context(const Placement& placement, uint32_t workers) {
  return std::min(workers, static_cast<uint32_t>(placement.order().size()));
}

TEST(LargeMachine, HasTheSocketsNodesAndCoresThatAreDescribed) {
  for (const Large& large : kLarge) {
    SCOPED_TRACE(large.description);
    const Topology machine = machine_of(large.description);
    EXPECT_EQ(machine.sockets(), large.sockets);
    EXPECT_EQ(machine.nodes(), large.nodes);
    EXPECT_EQ(machine.cores(), large.cores);
    EXPECT_EQ(machine.contexts().size(), large.contexts);
    for (const HardwareContext& context : machine.contexts()) {
      EXPECT_EQ(machine.node_number(context.node), context.number / large.of_a_node);
    }
  }
}

void expect_cores_before_siblings(const Placement& placement) {
  const auto cores = static_cast<uint32_t>(placement.topology().cores());
  EXPECT_EQ(shares(placement, cores, &HardwareContext::core).size(), cores)
      << "a sibling before a free core";
}

TEST(Placement, NoContextIsTakenTwiceWhileOthersAreFree) {
  for (const PlacementPolicy policy : kPlacementPolicies) {
    SCOPED_TRACE(name_of(policy));
    on_all_machines(policy, [](const Placement& placement, uint32_t workers) {
      expect_even(shares(placement, workers, &HardwareContext::number), workers,
                  placement.topology().contexts().size());
    });
  }
}

TEST(Placement, CompactAndScatterTakeACoreBeforeASibling) {
  for (const auto policy : {PlacementPolicy::kCompact, PlacementPolicy::kScatter}) {
    SCOPED_TRACE(name_of(policy));
    on_all_machines(policy, [](const Placement& placement, uint32_t workers) {
      workers = with_a_context(placement, workers);
      expect_even(shares(placement, workers, &HardwareContext::core), workers,
                  static_cast<size_t>(placement.topology().cores()));
    });
  }
}

TEST(Placement, CompactUsesNoMoreSocketsThanItsCoresNeed) {
  on_all_machines(PlacementPolicy::kCompact, [](const Placement& placement, uint32_t workers) {
    const Topology& machine = placement.topology();
    const auto sockets = static_cast<uint32_t>(machine.sockets()),
               of_a_socket = static_cast<uint32_t>(machine.cores()) / sockets;
    EXPECT_EQ(shares(placement, workers, &HardwareContext::socket).size(),
              std::min((workers + of_a_socket - 1) / of_a_socket, sockets));
  });
}

TEST(Placement, ScatterGivesAllSocketsAndAllNodesTheirShare) {
  on_all_machines(PlacementPolicy::kScatter, [](const Placement& placement, uint32_t workers) {
    const auto sockets = static_cast<uint32_t>(placement.topology().sockets());
    EXPECT_EQ(most(shares(placement, workers, &HardwareContext::socket)),
              (workers + sockets - 1) / sockets);
    const auto nodes = static_cast<uint32_t>(placement.topology().nodes());
    const uint32_t whole = workers / nodes * nodes;
    if (whole == 0) return;
    EXPECT_EQ(most(shares(placement, whole, &HardwareContext::node)), workers / nodes);
  });
}

TEST(Placement, SmtFillsACoreBeforeTheNext) {
  on_all_machines(PlacementPolicy::kSmt, [](const Placement& placement, uint32_t workers) {
    workers = with_a_context(placement, workers);
    const auto contexts = static_cast<uint32_t>(placement.order().size());
    for (const auto of : {&HardwareContext::core, &HardwareContext::socket}) {
      const auto all = shares(placement, contexts, of);
      for (const auto& [part, share] : shares(placement, workers, of)) {
        if (part == placement.of(workers - 1).*of) continue;
        EXPECT_EQ(share, all.at(part));
      }
    }
  });
}

// On this machine the kernel's numbers of contexts alternate between the sockets. For example,
// contexts 0 and 2 are siblings.
TEST(Placement, WorkersGetTheContextsThatThePolicySays) {
  const std::string machine = "pack:2 numa:1 core:2 pu:2(indexes=pack)";
  const auto numbers = [&](PlacementPolicy policy) {
    return numbers_of(placement_on(machine, policy));
  };
  EXPECT_EQ(numbers(PlacementPolicy::kCompact), (std::vector{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(numbers(PlacementPolicy::kScatter), (std::vector{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(numbers(PlacementPolicy::kSmt), (std::vector{0, 2, 4, 6, 1, 3, 5, 7}));
}

// The kernel may confine a process to any set of contexts, so the test chooses sets at random.
TEST(Placement, HoldsItsPromisesOnAnyPartOfAMachine) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> allowed;
    for (int number = 0; number < 32; ++number) {
      if (random() % 3 == 0) allowed.push_back(number);
    }
    if (allowed.empty()) continue;
    const Topology machine =
        machine_of("pack:2 numa:2 core:4 pu:2 allowed:" +
                   join(allowed, ",", [](int n) { return std::to_string(n); }));
    for (const PlacementPolicy policy : kPlacementPolicies) {
      Placement placement(machine, policy);
      if (policy != PlacementPolicy::kSmt) expect_cores_before_siblings(placement);
      for (const int first : allowed) {
        ASSERT_TRUE(placement.begin_at(first));
        EXPECT_EQ(placement.of(0).number, first);
        std::vector<int> numbers = numbers_of(placement);
        std::ranges::sort(numbers);
        ASSERT_EQ(numbers, allowed);
        if (policy != PlacementPolicy::kSmt) expect_cores_before_siblings(placement);
      }
    }
  }
}

TEST(Placement, BeginsOrEndsAtAContext) {
  for (const PlacementPolicy policy : kPlacementPolicies) {
    for (const char* machine : kMachines) {
      Placement placement = placement_on(machine, policy);
      const std::vector<int> all = numbers_of(placement);
      for (size_t i = 0; i < all.size(); ++i) {
        std::vector<int> rotated = all;
        std::rotate(rotated.begin(), rotated.begin() + static_cast<ptrdiff_t>(i), rotated.end());
        placement = placement_on(machine, policy);
        ASSERT_TRUE(placement.begin_at(all[i]));
        EXPECT_EQ(numbers_of(placement), rotated) << machine;
        ASSERT_TRUE(placement.end_at(all[i]));
        EXPECT_EQ(numbers_of(placement).back(), all[i]) << machine;
      }
      EXPECT_FALSE(placement.begin_at(4096));
      EXPECT_FALSE(placement.end_at(4096));
    }
  }
}

// The machine has two slow cores of one context each, and then two fast cores of two contexts each.
TEST(Placement, NoSiblingComesBeforeAFreeCoreWhereverItBegins) {
  Placement placement =
      placement_on("pack:1 core:4 pu:2 allowed:0,2,4-7", PlacementPolicy::kCompact);
  EXPECT_EQ(numbers_of(placement), (std::vector{0, 2, 4, 6, 5, 7}));
  ASSERT_TRUE(placement.begin_at(2));
  EXPECT_EQ(numbers_of(placement), (std::vector{2, 4, 6, 0, 5, 7}));
}

TEST(Placement, SaysWhereTheWorkersAre) {
  const auto text = [](const char* machine, PlacementPolicy policy, uint32_t workers) {
    return placement_on(machine, policy, workers).text();
  };
  constexpr auto kCompact = PlacementPolicy::kCompact, kScatter = PlacementPolicy::kScatter,
                 kSmt = PlacementPolicy::kSmt;
  EXPECT_EQ(text("pack:1 core:2 pu:1", kCompact, 2), "compact: workers 0-1 on socket 0 cores 0-1");
  EXPECT_EQ(text("pack:1 core:2 pu:1", kCompact, 1), "compact: worker 0 on socket 0 core 0");
  EXPECT_EQ(text("pack:1 core:2 pu:1", kCompact, 5), "compact: workers 0-4 on socket 0 cores 0-1");
  EXPECT_EQ(text("pack:4 numa:1 core:16 pu:2", kScatter, 8),
            "scatter: workers 0,4 on socket 0 cores 0,2, workers 1,5 on socket 1 cores 32,34, "
            "workers 2,6 on socket 2 cores 64,66, workers 3,7 on socket 3 cores 96,98");
  EXPECT_EQ(text("pack:2 numa:1 core:16 pu:2", kScatter, 32),
            "scatter: workers 0-30:2 on socket 0 cores 0-30:2, workers 1-31:2 on socket 1 cores "
            "32-62:2");
  EXPECT_EQ(text("pack:1 core:4 pu:2", kSmt, 4),
            "smt: workers 0-3 on socket 0 cores 0-3 (2 physical)");
}

TEST(Placement, KnowsTheNodesThatWorkersRunOn) {
  const auto nodes = [](PlacementPolicy policy, uint32_t workers) {
    return placement_on("pack:4 numa:1 core:16 pu:2", policy, workers).nodes_of_workers();
  };
  EXPECT_EQ(nodes(PlacementPolicy::kCompact, 16), (std::vector{0}));
  EXPECT_EQ(nodes(PlacementPolicy::kCompact, 17), (std::vector{0, 1}));
  EXPECT_EQ(nodes(PlacementPolicy::kScatter, 3), (std::vector{0, 1, 2}));
  EXPECT_EQ(nodes(PlacementPolicy::kSmt, 1024), (std::vector{0, 1, 2, 3}));
}

TEST(Ranges, AreShortAndSayAll) {
  EXPECT_EQ(ranges_of({}), "");
  EXPECT_EQ(ranges_of({7}), "7");
  EXPECT_EQ(ranges_of({0, 1}), "0-1");
  EXPECT_EQ(ranges_of({0, 4}), "0,4");
  EXPECT_EQ(ranges_of({0, 4, 8}), "0-8:4");
  EXPECT_EQ(ranges_of({0, 1, 2, 8, 9, 12, 14, 16, 40}), "0-2,8-9,12-16:2,40");
}

}  // namespace
}  // namespace logjam::platform
