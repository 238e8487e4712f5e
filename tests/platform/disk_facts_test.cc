// The facts of disks, from copies of the files of /proc and /sys.
#include "platform/disk_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"

namespace logjam::platform {
namespace {

namespace fs = std::filesystem;

class DiskFactsOf : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << text;
  }
  // Makes the block device `number` with the sysfs directory `at`, below /sys/devices.
  void block(const std::string& number, const std::string& at) {
    const std::string real = "/sys/devices/" + at;
    put(real + "/uevent", "MAJOR=1\nDEVNAME=" + fs::path(at).filename().string() + "\n");
    for (const std::string& link :
         {"/sys/dev/block/" + number, "/sys/class/block/" + fs::path(at).filename().string()}) {
      fs::create_directories(fs::path(root_.path() + link).parent_path());
      fs::create_directory_symlink(root_.path() + real, root_.path() + link);
    }
  }
  void queue(const std::string& at, const std::string& name, const std::string& text) {
    put("/sys/devices/" + at + "/queue/" + name, text + "\n");
  }
  DiskFacts facts(const std::string& path) const {
    return disk_facts({.root = root_.path()}, path);
  }

  const TemporaryDirectory root_;
};

TEST_F(DiskFactsOf, TheDiskOfAPartition) {
  put("/proc/self/mountinfo",
      "22 1 259:0 / / rw - xfs /dev/nvme0n1 rw\n"
      "30 22 8:1 / /none/data rw,relatime shared:4 - ext4 /dev/sda1 rw,relatime,data=ordered\n"
      "31 22 0:9 / /none/data/of\\040others rw - tmpfs tmpfs rw,size=4k\n");
  block("8:1", "pci/sda/sda1");
  put("/sys/devices/pci/sda/sda1/partition", "1\n");
  put("/sys/devices/pci/sda/uevent", "DEVNAME=sda\n");
  put("/sys/devices/pci/sda/device/model", "  FAST 9000  \n");
  queue("pci/sda", "scheduler", "none [mq-deadline] kyber");
  queue("pci/sda", "write_cache", "write through");
  queue("pci/sda", "fua", "1");
  queue("pci/sda", "rotational", "0");
  const DiskFacts found = facts("/none/data/log");
  EXPECT_EQ(found.file_system, "ext4");
  EXPECT_EQ(found.mount_options, "rw,relatime,data=ordered");
  EXPECT_EQ(found.disk, "sda");
  EXPECT_EQ(found.model, "FAST 9000");
  EXPECT_EQ(found.scheduler, "mq-deadline");
  EXPECT_EQ(found.write_cache, "write through");
  EXPECT_EQ(found.fua, true);
  EXPECT_EQ(found.rotational, false);
  EXPECT_EQ(facts("/none/data/of others/x").file_system, "tmpfs");
  EXPECT_EQ(facts("/none/database").file_system, "xfs") << "/none/data is another directory";
}

TEST_F(DiskFactsOf, AStackedDeviceHaveTheNamesOfTheDevicesBelow) {
  put("/proc/self/mountinfo",
      "22 1 0:40 / / rw - btrfs /dev/dm-0 rw,subvolid=5\n"
      "23 22 0:41 / /none/zfs rw - zfs pool/x rw\n");
  block("254:0", "virtual/dm-0");
  for (const char* below : {"sdb1", "sda2"}) {
    fs::create_directories(root_.path() + "/sys/devices/virtual/dm-0/slaves/" + below);
  }
  queue("virtual/dm-0", "scheduler", "none");
  const DiskFacts found = facts("/none");
  EXPECT_EQ(found.disk, "dm-0 on sda2 sdb1");
  EXPECT_EQ(found.scheduler, "none");
  EXPECT_EQ(found.model + found.write_cache, "");
  EXPECT_EQ(found.fua, std::nullopt);
  EXPECT_EQ(facts("/none/zfs/x").file_system, "zfs");
  EXPECT_EQ(facts("/none/zfs/x").disk, "");
}

TEST_F(DiskFactsOf, AFileSystemWithoutDiskAreItsNameAlone) {
  put("/proc/self/mountinfo", "22 1 0:50 / / rw - overlay overlay rw,upperdir=/u\n");
  EXPECT_EQ(facts("/none").file_system, "overlay");
  EXPECT_EQ(facts("/none").disk, "");
  EXPECT_EQ(facts("/none").rotational, std::nullopt);
  put("/proc/self/mountinfo", "nothing - that\nlooks \\04 like a mount\n\n");
  EXPECT_EQ(facts("/none").file_system, "");
}

}  // namespace
}  // namespace logjam::platform
