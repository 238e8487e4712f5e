#include "platform/machine_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

namespace logjam::platform {
namespace {

TEST(MachineFactsTest, AreTheKernelsWordsAndTheNumberOfSockets) {
  const TemporaryDirectory root;
  const auto put = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file = root.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  put("/proc/cpuinfo",
      "processor\t: 0\nphysical id\t: 0\n\nprocessor\t: 1\nphysical id\t: 1\n\n"
      "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 7\n\n");
  put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  put("/sys/devices/system/cpu/smt/control", "off\n");
  const MachineFacts facts = machine_facts({.root = root.path()});
  EXPECT_EQ(facts.sockets, "2");
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.smt, "off");
}

TEST(MachineFactsTest, AreEmptyIfTheKernelDoesNotTellThem) {
  const TemporaryDirectory root;
  const MachineFacts facts = machine_facts({.root = root.path()});
  EXPECT_EQ(facts.sockets, "");
  EXPECT_EQ(facts.governor, "");
  EXPECT_EQ(facts.smt, "");
}

}  // namespace
}  // namespace logjam::platform
