// Topologies that the program gets from hwloc. hwloc makes the tests' machines from descriptions.
#include "platform/topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "platform/text.h"
#include "tests/allowed_now.h"
#include "tests/command_error.h"
#include "tests/temporary_directory.h"
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
  const std::string machine = "pack:3 numa:1 core:2 pu:2 allowed:";
  // Context 3 is the only allowed context of its core. Sockets and nodes are numbered without gaps.
  EXPECT_EQ(text_of(machine_of(machine + "3,8-10")), "3:0.0.0.0 8:1.1.1.0 9:1.1.1.1 10:1.1.2.0");
  EXPECT_EQ(machine_of(machine + "3,8").node_number(1), 2);
}

TEST(Topology, OneCorePackagesOfAVirtualMachineAreOneSocket) {
  EXPECT_EQ(machine_of("pack:4 core:1 pu:1").sockets(), 1);
  EXPECT_EQ(machine_of("pack:4 core:1 pu:2").sockets(), 1);
  EXPECT_EQ(machine_of("numa:2 pack:4 core:1 pu:1").sockets(), 2);
  EXPECT_EQ(machine_of("pack:4 numa:1 core:1 pu:1").sockets(), 4) << "each has its own memory";
  // A package with several cores stays a socket, even if only one of its cores may be used.
  EXPECT_EQ(machine_of("pack:2 core:4 pu:1 allowed:0,4").sockets(), 2);
}

TEST(Topology, WhatHwlocDoesNotUnderstandIsNoMachine) {
  for (const char* bad :
       {"", "junk", "pack:2 nonsense:3", "pack:0 core:1 pu:1", " allowed:0", "no_such_file.xml",
        "pack:1 core:2 pu:1 allowed:", "pack:1 core:2 pu:1 allowed:x", "core:2 pu:1 allowed:7"}) {
    EXPECT_FALSE(Topology::described(bad)) << bad;
  }
}

TEST(Topology, ThisMachineHasTheContextsThatTheProcessMayUse) {
  std::set<int> numbers;
  for (const HardwareContext& context : this_machine().contexts()) numbers.insert(context.number);
  EXPECT_EQ(numbers, allowed_now(getpid()));
  EXPECT_EQ(this_machine().contexts().size(), numbers.size());
}

// The files of /sys in which hwloc finds a machine of two sockets with two cores of two contexts
// each. The odd contexts are offline, and only socket 0 has memory.
class FakeSys {
 public:
  FakeSys() {
    const std::string cpus = "sys/devices/system/cpu/", node = "sys/devices/system/node/node0/";
    write(cpus + "online", "0,2,4,6");
    for (const int number : {0, 2, 4, 6}) {
      const std::string of = cpus + "cpu" + std::to_string(number) + "/topology/";
      write(of + "core_id", std::to_string(number / 2 % 2));
      write(of + "core_cpus", std::to_string(1 << number));
      write(of + "physical_package_id", std::to_string(number / 4));
      write(of + "package_cpus", number < 4 ? "05" : "50");
    }
    write("sys/devices/system/node/online", "0");
    write(node + "cpumap", "05");
    write(node + "meminfo", "Node 0 MemTotal: 1048576 kB");
    setenv("HWLOC_FSROOT", root_.path().c_str(), 1);
    setenv("HWLOC_COMPONENTS", "-x86", 1);  // hwloc asks no processor, only /sys
  }
  ~FakeSys() {
    for (const char* name : {"HWLOC_FSROOT", "HWLOC_COMPONENTS", "HWLOC_THISSYSTEM"}) {
      unsetenv(name);
    }
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }

  const TemporaryDirectory root_;
};

TEST(Topology, OfTheHostMayHaveHolesAndASocketWithoutMemory) {
  const FakeSys sys;
  setenv("HWLOC_THISSYSTEM", "1", 1);
  const Topology machine = Topology::of_host(std::vector{0, 2, 4, 6});
  EXPECT_EQ(text_of(machine), "0:0.0.0.0 2:0.0.1.0 4:1.0.2.0 6:1.0.3.0");
  EXPECT_EQ(machine.sockets(), 2);
}

TEST(Topology, OfTheHostIsNotWhatTheEnvironmentDescribes) {
  const FakeSys sys;
  EXPECT_REFUSED(Topology::of_host(std::vector{0}), "unset HWLOC_SYNTHETIC");
}

TEST(Topology, ContextsOfWhichHwlocKnowsNothingAreCoresOfOneSocket) {
  const Topology machine = Topology::of_host(std::vector{100'000, 100'002});
  EXPECT_EQ(text_of(machine), "100000:0.0.0.0 100002:0.0.1.0");
  EXPECT_EQ(machine.nodes(), 1);
}

}  // namespace
}  // namespace logjam::platform
