#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/options.h"
#include "cli/report.h"
#include "platform/limits.h"
#include "platform/placement.h"
#include "tests/scoped_flags.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

std::string first_caution(uint32_t threads, const char* log = "centr") {
  ScopedFlags flags;
  flags.set("log", log);
  flags.set("device", "null");
  flags.set("threads", threads);
  const auto cautions = cautions_about_machine(run_settings().log);
  return cautions.empty() ? "" : cautions.front();
}

TEST(Cautions, ManyWorkersACoreAreNoted) {
  const auto cores = static_cast<uint32_t>(platform::core_count());
  EXPECT_EQ(first_caution(17 * cores),
            "17 workers a core: latencies are above all waits for a core");
  EXPECT_EQ(first_caution(16 * cores).find("a core"), std::string::npos);
}

TEST(Cautions, MoreWorkersThanCoresThatReleaseInTurnAreNoted) {
  const auto cores = static_cast<uint32_t>(platform::core_count());
  for (const char* log : {"aether-d", "aether-cd", "aether-cd-socket", "dlog-s", "dlog-r"}) {
    EXPECT_NE(first_caution(cores + 1, log).find("release their records in turn"),
              std::string::npos)
        << log;
    EXPECT_EQ(first_caution(cores, log), "") << log;
  }
  for (const char* log : {"aether-c", "aether-cde"}) EXPECT_EQ(first_caution(cores + 1, log), "");
}

TEST(Cautions, ACounterThatMayNotBeSteadyIsNoted) {
  const TemporaryDirectory root;
  const std::string source = root.path() + "/sys/devices/system/clocksource/clocksource0";
  std::filesystem::create_directories(source);
  std::filesystem::create_directories(root.path() + "/proc");
  const auto caution = [&](const char* processors, const char* clock) {
    std::ofstream(root.path() + "/proc/cpuinfo") << processors;
    std::ofstream(source + "/current_clocksource") << clock;
    return caution_about_clock({root.path()});
  };
  EXPECT_EQ(caution("model\t: x\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n", "hpet\n"), "");
  EXPECT_EQ(caution("model\t: x\nflags\t\t: fpu tsc constant_tsc\n", "tsc\n"), "");
  EXPECT_EQ(caution("model\t: x\nflags\t\t: fpu tsc constant_tsc\n", "hpet\n"),
            "latencies may be wrong: the processor does not promise a steady time stamp counter, "
            "and the kernel's clock is hpet");
  EXPECT_EQ(caution("model\t: x\nFeatures\t: fp\n", "arch_sys_counter\n"), "") << "no x86";
}

TEST(Cautions, AHashIndexThatIsOutgrownIsNoted) {
  const auto run = [](const std::string& more) {
    return shell(
               "\"$LOGJAM\" run --ycsb_records=100 --ycsb_ratios=read:0,insert:1 --device=null "
               "--log=none --threads=1 --transactions=2000 --ycsb_index=" +
               more + " 2>&1")
        .output;
  };
  EXPECT_NE(
      run("hash").find("note: the hash index of usertable does not grow: it was laid out for "),
      std::string::npos)
      << run("hash");
  EXPECT_EQ(run("ordered").find("does not grow"), std::string::npos);
}

TEST(Cautions, ALogInMemoryIsNoted) {
  const std::string place = "/dev/shm";
  if (platform::memory_file_system(place).empty()) GTEST_SKIP() << "there is no tmpfs at " << place;
  const Ended ended =
      shell("d=$(mktemp -d -p " + place +
            "); trap 'rm -rf $d' EXIT; \"$LOGJAM\" run --ycsb_records=100 "
            "--device=sync --wal_dir=$d --log_prealloc_mb=1 --threads=1 --transactions=50 2>&1");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find(" is on a tmpfs: no disk is measured\n"), std::string::npos)
      << ended.output;
}

}  // namespace
}  // namespace logjam
