// `logjam machine` reads the machine's sockets and cores from the kernel, and measures every cost.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/measure/chase.h"
#include "sim/measure/costs.h"
#include "sim/measure/timing.h"
#include "tests/temporary_directory.h"

namespace logjam::platform {
namespace {

class MachineShapeTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::string real = directory_.path() + path;
    std::filesystem::create_directories(std::filesystem::path(real).parent_path());
    std::ofstream(real) << text << "\n";
  }
  void put_core(int number, int socket, const std::string& siblings) {
    const std::string core = "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    put(core + "physical_package_id", std::to_string(socket));
    put(core + "thread_siblings_list", siblings);
  }
  void put_cache(int index, const std::string& level, const std::string& type,
                 const std::string& size, const std::string& ways) {
    const std::string cache =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    put(cache + "level", level);
    put(cache + "type", type);
    put(cache + "size", size);
    put(cache + "ways_of_associativity", ways);
  }
  MachineShape shape(const std::vector<int>& allowed) {
    return machine_shape({.root = directory_.path()}, allowed);
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(MachineShapeTest, SiblingsCoresAndSocketsAreToldApart) {
  // Two sockets, two cores each, two contexts per core. Second contexts have the highest numbers.
  for (int core = 0; core < 8; ++core) {
    const int first = core % 4;
    put_core(core, first / 2, std::to_string(first) + "," + std::to_string(first + 4));
  }
  const MachineShape found = shape({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(found.sockets, 2);
  EXPECT_EQ(found.cores, 2);
  EXPECT_EQ(found.contexts, 2);
  EXPECT_EQ(found.same_socket, 1);
  EXPECT_EQ(found.other_socket, 2);
  EXPECT_EQ(found.sibling, 4);
}

TEST_F(MachineShapeTest, PlacesAreThoseOfTheAllowedCores) {
  for (int core = 0; core < 8; ++core) put_core(core, 0, core < 4 ? "0-3" : "4-7");
  const MachineShape found = shape({2, 3, 6});
  EXPECT_EQ(found.contexts, 4);
  EXPECT_EQ(found.cores, 2);
  EXPECT_EQ(found.sibling, 1);
  EXPECT_EQ(found.same_socket, 2);
  EXPECT_EQ(found.other_socket, -1);
}

TEST_F(MachineShapeTest, CachesOfDataAreReadWithTheirWays) {
  put_cache(0, "1", "Data", "48K", "12");
  put_cache(1, "1", "Instruction", "64K", "16");
  put_cache(2, "2", "Unified", "2048K", "16");
  put_cache(3, "3", "Unified", "30M", "20");
  const MachineShape found = shape({0});
  EXPECT_EQ(found.l1.kib, 48u);
  EXPECT_EQ(found.l1.ways, 12u);
  EXPECT_EQ(found.l2.kib, 2048u);
  EXPECT_EQ(found.l3.kib, 30u * 1024);
  EXPECT_EQ(found.l3.ways, 20u);
}

TEST_F(MachineShapeTest, AKernelThatTellsNothingLeavesOneCoreWithoutCaches) {
  const MachineShape found = shape({0, 1});
  EXPECT_EQ(found.sockets, 1);
  EXPECT_EQ(found.cores, 2);
  EXPECT_EQ(found.contexts, 1);
  EXPECT_EQ(found.same_socket, 1);
  EXPECT_EQ(found.l1.kib, 0u);
  EXPECT_EQ(found.name, "");
}

TEST_F(MachineShapeTest, TheProcessorIsNamedAsTheKernelNamesIt) {
  put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.30GHz\nflags\t: fpu");
  EXPECT_EQ(shape({0}).name, "Some CPU @ 2.30GHz");
}

TEST(MeasureTest, TheMedianOfFewIsOneOfThem) {
  EXPECT_EQ(median_of({3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median_of({4.0}), 4);
  EXPECT_EQ(median_of(std::vector<double>{}), 0);
}

TEST(MeasureTest, ChainsFollowEachLineOfTheRingOnceAndAreNeverAtTheSameLine) {
  const Ring ring = dense_ring(4 * Ring::kStarts * kShortestLine);
  for (size_t count = 1; count <= Ring::kStarts; count *= 2) {
    Ring::Chains chains(ring, count);
    const Ring::Chains begun = chains;
    std::set<const RingLine*> followed;
    for (size_t step = 0; step < ring.size() / count; ++step) {
      for (size_t chain = 0; chain < count; ++chain) followed.insert(chains.at(chain));
      EXPECT_EQ(followed.size(), (step + 1) * count);
      chains.follow(1);
    }
    for (size_t chain = 0; chain < count; ++chain) {
      EXPECT_EQ(chains.at(chain), begun.at((chain + 1) % count)) << count << " chains";
    }
  }
}

TEST(MeasureTest, EveryCostOfCoreMemoryLineAndKernelIsMeasured) {
  const CoreCosts core = core_costs(0, 1);
  EXPECT_GT(core.ghz, 0);
  EXPECT_GT(core.instructions_per_cycle, 0);
  EXPECT_GT(core.fence_ns, 0);
  EXPECT_GT(core.pause_ns, 0);
  EXPECT_GT(core.ticks_ns, 0);
  EXPECT_GT(core.clock_ns, 0);
  EXPECT_GT(core.allocation_ns, 0);

  MachineShape shape;
  shape.l1 = {32, 8};
  shape.l2 = {256, 8};
  shape.l3 = {4096, 16};
  const MemoryCosts memory = memory_costs(shape, 1);
  for (double ns :
       {memory.l2_ns, memory.l3_ns, memory.memory_ns, memory.stream_ns, memory.stream_store_ns,
        memory.l3_stream_ns, memory.gb_s, memory.write_back_ns}) {
    EXPECT_GT(ns, 0);
  }
  EXPECT_GE(memory.write_back_line_ns, 0);
  EXPECT_GE(memory.overlap, 1);
  EXPECT_GE(memory.l3_mib, 1u);
  EXPECT_LE(memory.l3_mib, 4u);

  const LineCosts lines = line_costs(0, 1, 1);
  EXPECT_GT(lines.clean_ns, 0);
  EXPECT_GT(lines.dirty_ns, 0);
  EXPECT_GE(lines.upgrade_ns, 0);
  EXPECT_GT(lines.hand_off_ns, 0);

  const KernelCosts kernel = kernel_costs(0, 1, 1);
  EXPECT_GT(kernel.syscall_ns, 0);
  EXPECT_GT(kernel.futex_wait_ns, 0);
  EXPECT_GT(kernel.futex_wake_ns, 0);
  EXPECT_GT(kernel.wake_latency_ns, 0);
}

}  // namespace
}  // namespace logjam::platform
