// The memory and processors that cgroups and resource limits leave to a process.
#include "platform/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

namespace logjam::platform {
namespace {

constexpr double kMib = 1 << 20;

// A machine with 1000 MiB available, and hierarchies of both versions, mounted at /one and /two.
class Limits : public testing::Test {
 protected:
  Limits() {
    put("/proc/meminfo", "MemTotal: 4096000 kB\nMemFree: 1 kB\nMemAvailable:    1024000 kB\n");
    put("/proc/self/mountinfo",
        "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
        "31 22 0:27 / /one rw shared:4 - cgroup cgroup rw,memory\n"
        "32 22 0:28 / /cpu rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 22 0:29 / /two rw shared:5 - cgroup2 cgroup2 rw\n");
  }

  void put(const std::string& path, const std::string& text) {
    const std::string real = directory_.path() + path;
    std::filesystem::create_directories(std::filesystem::path(real).parent_path());
    std::ofstream(real) << text;
  }
  void in_group_of_one(const std::string& path) {
    put("/proc/self/cgroup", "9:memory:" + path + "\n4:cpu,cpuacct:" + path + "\n0::/\n");
  }
  void in_group_of_two(const std::string& path) { put("/proc/self/cgroup", "0::" + path + "\n"); }
  void one(const std::string& group, double limit, double usage, double inactive) {
    put("/one" + group + "/memory.limit_in_bytes", bytes(limit));
    put("/one" + group + "/memory.usage_in_bytes", bytes(usage));
    put("/one" + group + "/memory.stat",
        "cache 7\ninactive_file 1\ntotal_inactive_file " + bytes(inactive));
  }
  void two(const std::string& group, const std::string& limit, double usage, double inactive) {
    put("/two" + group + "/memory.max", limit + "\n");
    put("/two" + group + "/memory.high", "max\n");
    put("/two" + group + "/memory.current", bytes(usage));
    put("/two" + group + "/memory.stat", "anon 7\ninactive_file " + bytes(inactive));
  }
  static std::string bytes(double mib) { return std::to_string(std::llround(mib * kMib)) + "\n"; }

  double left() const { return memory_left({directory_.path()}).amount / kMib; }
  std::string by() const { return memory_left({directory_.path()}).by; }
  Limit quota() const { return processor_quota({directory_.path()}); }

  const TemporaryDirectory directory_;
};

TEST_F(Limits, WithoutGroupsTheMachineAloneCounts) {
  EXPECT_EQ(left(), 1000);
  EXPECT_EQ(by(), "");
  EXPECT_TRUE(std::isinf(quota().amount));
  put("/proc/meminfo", "");
  EXPECT_TRUE(std::isinf(left()));
}

TEST_F(Limits, AGroupOfVersionOneLeavesItsLimitWithoutWhatIsInUse) {
  in_group_of_one("/box");
  one("/box", 600, 150, 50);
  EXPECT_EQ(left(), 500);
  EXPECT_EQ(by(), "the limit of the cgroup /one/box");
  one("/box", 600, 700, 0);
  EXPECT_EQ(left(), 0);
  put("/one/box/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  EXPECT_EQ(left(), 1000);
  EXPECT_EQ(by(), "");
}

TEST_F(Limits, AGroupOfVersionTwoCountsAsWell) {
  in_group_of_two("/pod/box");
  two("/pod/box", "max", 100, 0);
  EXPECT_EQ(left(), 1000);
  two("/pod/box", std::to_string(600 << 20), 150, 50);
  EXPECT_EQ(left(), 500);
  EXPECT_EQ(by(), "the limit of the cgroup /two/pod/box");
  put("/two/pod/box/memory.high", bytes(400));
  EXPECT_EQ(left(), 300) << "above it the kernel slows the process down";
}

TEST_F(Limits, EachGroupUpToTheRootCounts) {
  in_group_of_two("/pod/box");
  two("/pod/box", std::to_string(600 << 20), 0, 0);
  two("/pod", std::to_string(700 << 20), 400, 0);
  EXPECT_EQ(left(), 300);
  EXPECT_EQ(by(), "the limit of the cgroup /two/pod");
  in_group_of_one("/a/b/c");
  one("/a", 200, 0, 0);
  EXPECT_EQ(left(), 200);
  one("", 100, 0, 0);
  EXPECT_EQ(left(), 100) << "a container sees its own group as the root";
  EXPECT_EQ(by(), "the limit of the cgroup /one");
}

TEST_F(Limits, AHybridMachineHasEachControllerInOneHierarchy) {
  put("/proc/self/cgroup", "4:cpu,cpuacct:/box\n0::/box\n");  // memory is of version 2
  two("/box", std::to_string(600 << 20), 0, 0);
  one("/box", 1, 0, 0);
  EXPECT_EQ(left(), 600);
  put("/cpu/box/cpu.cfs_quota_us", "150000\n");
  put("/cpu/box/cpu.cfs_period_us", "100000\n");
  put("/two/box/cpu.max", "1 100000\n");
  EXPECT_EQ(quota().amount, 1.5);
}

TEST_F(Limits, AMountedPartOfAHierarchyIsFound) {
  put("/proc/self/mountinfo", "33 22 0:29 /docker/x /two rw shared:5 - cgroup2 cgroup2 rw\n");
  in_group_of_two("/docker/x");
  two("", std::to_string(600 << 20), 0, 0);
  EXPECT_EQ(left(), 600);
  in_group_of_two("/elsewhere");
  EXPECT_EQ(left(), 1000);
}

TEST_F(Limits, ResourceLimitsCount) {
  put("/proc/self/status", "Name:\tlogjam\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
  put("/proc/self/limits",
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max data size             unlimited            unlimited            bytes     \n"
      "Max address space         419430400            unlimited            bytes     \n");
  EXPECT_EQ(left(), 300);
  EXPECT_EQ(by(), "RLIMIT_AS (ulimit -v)");
  put("/proc/self/limits", "Max data size   104857600   unlimited   bytes \n");
  EXPECT_EQ(left(), 50);
  EXPECT_EQ(by(), "RLIMIT_DATA (ulimit -d)");
}

TEST_F(Limits, TheLeastQuotaCounts) {
  in_group_of_two("/pod/box");
  put("/two/pod/box/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(quota().amount));
  put("/two/pod/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota().amount, 0.5);
  EXPECT_EQ(quota().by, "the cgroup /two/pod");
  put("/two/pod/box/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota().amount, 0.2);
  in_group_of_one("/pod");
  put("/cpu/pod/cpu.cfs_quota_us", "-1\n");
  put("/cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(quota().amount));
  put("/cpu/pod/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(quota().amount, 2);
}

TEST(LimitsOfThisMachine, AreKnown) {
  EXPECT_GT(memory_left().amount, 0);
  EXPECT_TRUE(std::isfinite(memory_left().amount));
  EXPECT_TRUE(locked_memory_limit().starts_with("RLIMIT_MEMLOCK (ulimit -l) is "));
  EXPECT_EQ(memory_file_system("/proc"), "");
  EXPECT_EQ(memory_file_system("/no/such/directory"), "");
}

}  // namespace
}  // namespace logjam::platform
