// Topologies that the program gets from hwloc. hwloc makes the tests' machines from descriptions.
#include "platform/topology.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "platform/text.h"
#include "tests/with_placement.h"

namespace logjam::platform {
namespace {

// Returns "number:socket.node.core.sibling" for each context.
std::string text_of(const Topology& machine) {
  std::string text;
  for (const HardwareContext& context : machine.contexts()) {
    append_part(&text, " ",
                std::to_string(context.number) + ":" + std::to_string(context.socket) + "." +
                    std::to_string(context.node) + "." + std::to_string(context.core) + "." +
                    std::to_string(context.sibling));
  }
  return text;
}

TEST(Topology, CountsWhatIsDescribed) {
  const auto counts = [](const std::string& description) {
    const Topology machine = machine_of(description);
    return std::vector<size_t>{static_cast<size_t>(machine.sockets()),
                               static_cast<size_t>(machine.nodes()),
                               static_cast<size_t>(machine.cores()), machine.contexts().size()};
  };
  using Counts = std::vector<size_t>;
  EXPECT_EQ(counts("pack:4 numa:1 core:16 pu:2"), (Counts{4, 4, 64, 128}));
  EXPECT_EQ(counts("pack:2 core:8 pu:1"), (Counts{2, 1, 16, 16}));
  EXPECT_EQ(counts("pack:1 core:2 pu:2"), (Counts{1, 1, 2, 4}));
  EXPECT_EQ(counts("pack:2 numa:4 core:4 pu:2"), (Counts{2, 8, 32, 64})) << "nodes in a socket";
  EXPECT_EQ(counts("numa:2 pack:2 core:4 pu:1"), (Counts{4, 2, 16, 16})) << "sockets on a node";
  EXPECT_EQ(counts("core:6 pu:1"), (Counts{1, 1, 6, 6}));
}

TEST(Topology, KnowsOfEachContextWhereItIs) {
  EXPECT_EQ(text_of(machine_of("pack:2 numa:1 core:2 pu:2")),
            "0:0.0.0.0 1:0.0.0.1 2:0.0.1.0 3:0.0.1.1 4:1.1.2.0 5:1.1.2.1 6:1.1.3.0 7:1.1.3.1");
  EXPECT_EQ(text_of(machine_of("pack:1 numa:2 core:1 pu:1")), "0:0.0.0.0 1:0.1.1.0");
}

// On many machines with two sockets, contexts with consecutive numbers are on different sockets.
TEST(Topology, DoesNotRelyOnTheKernelsNumbers) {
  EXPECT_EQ(text_of(machine_of("pack:2 numa:1 core:2 pu:2(indexes=pack)")),
            "0:0.0.0.0 2:0.0.0.1 4:0.0.1.0 6:0.0.1.1 1:1.1.2.0 3:1.1.2.1 5:1.1.3.0 7:1.1.3.1");
}

TEST(Topology, WhatMayNotBeUsedIsNotThere) {
  const auto restricted = [](const std::vector<int>& allowed) {
    return text_of(*Topology::described("pack:3 numa:1 core:2 pu:2", allowed));
  };
  // Context 3 is the only allowed context of its core. Sockets and nodes are numbered without gaps.
  EXPECT_EQ(restricted({3, 8, 9, 10}), "3:0.0.0.0 8:1.1.1.0 9:1.1.1.1 10:1.1.2.0");
  EXPECT_EQ(Topology::described("pack:3 numa:1 core:2 pu:2", std::vector{3, 8})->node_number(1), 2);
  EXPECT_FALSE(Topology::described("pack:1 core:2 pu:1", std::vector{7}));
}

TEST(Topology, OneCorePackagesOfAVirtualMachineAreOneSocket) {
  EXPECT_EQ(machine_of("pack:4 core:1 pu:1").sockets(), 1);
  EXPECT_EQ(machine_of("pack:4 core:1 pu:2").sockets(), 1);
  EXPECT_EQ(machine_of("numa:2 pack:4 core:1 pu:1").sockets(), 2);
  EXPECT_EQ(machine_of("pack:4 numa:1 core:1 pu:1").sockets(), 4) << "each has its own memory";
  // A package with several cores stays a socket, even if only one of its cores may be used.
  EXPECT_EQ(Topology::described("pack:2 core:4 pu:1", std::vector{0, 4})->sockets(), 2);
}

TEST(Topology, WhatHwlocDoesNotUnderstandIsNoMachine) {
  for (const char* bad : {"", "junk", "pack:2 nonsense:3", "pack:0 core:1 pu:1"}) {
    EXPECT_FALSE(Topology::described(bad)) << bad;
  }
}

TEST(Topology, ThisMachineHasTheContextsThatTheProcessMayUse) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof set, &set), 0);
  std::set<int> numbers;
  for (const HardwareContext& context : this_machine().contexts()) numbers.insert(context.number);
  EXPECT_EQ(numbers.size(), static_cast<size_t>(CPU_COUNT(&set)));
  EXPECT_EQ(this_machine().contexts().size(), numbers.size());
  for (const int number : numbers) EXPECT_TRUE(CPU_ISSET(number, &set)) << number;
}

TEST(Topology, ContextsOfWhichHwlocKnowsNothingAreCoresOfOneSocket) {
  const Topology machine = Topology::of_host(std::vector{100'000, 100'002});
  EXPECT_EQ(text_of(machine), "100000:0.0.0.0 100002:0.0.1.0");
  EXPECT_EQ(machine.nodes(), 1);
}

}  // namespace
}  // namespace logjam::platform
