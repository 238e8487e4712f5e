// Whether a disk's cache is protected, by files of a kernel that the test makes.
#include "platform/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"

namespace logjam {
namespace {

TEST(DiskCache, IsProtectedOnlyIfTheDiskSaysSoAndTheFileSystemWritesInPlace) {
  const TemporaryDirectory at;
  struct stat status;
  ASSERT_EQ(stat(at.path().c_str(), &status), 0);
  const std::string number =
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  struct Case {
    const char *cache, *type, *options;
    bool partition, expected;
  };
  for (const Case& each : {Case{"write through\n", "ext4", "rw", false, true},
                           {"write through\n", "xfs", "rw,attr2", false, true},
                           {"write through\n", "ext4", "rw", true, true},
                           {"write back\n", "ext4", "rw", false, false},
                           {"write back\n", "ext4", "rw", true, false},
                           {"", "ext4", "rw", false, false},
                           {"write through\n", "ext4", "rw,data=journal", false, false},
                           {"write through\n", "btrfs", "rw", false, false},
                           {"write through\n", "tmpfs", "rw", false, false}}) {
    SCOPED_TRACE(std::string(each.cache) + each.type + each.options);
    const TemporaryDirectory root;
    const std::string block = root.path() + "/sys/dev/block/" + number;
    std::filesystem::create_directories(root.path() + "/proc/self");
    std::filesystem::create_directories(root.path() + "/sys/dev/block/queue");
    std::filesystem::create_directories(block + (each.partition ? "" : "/queue"));
    std::ofstream(block + (each.partition ? "/../queue/write_cache" : "/queue/write_cache"))
        << each.cache;
    std::ofstream(root.path() + "/proc/self/mountinfo")
        << "21 1 0:5 / /proc rw - proc proc rw\n"
        << "22 1 " << number << " / / rw,relatime shared:1 - " << each.type << " /dev/sda1 "
        << each.options << "\n";
    const platform::KernelFiles kernel{.root = root.path()};
    EXPECT_EQ(platform::writes_through(at.path(), kernel), each.expected);
    EXPECT_EQ(platform::writes_through(at.path() + "/not/made", kernel), each.expected);
  }
  EXPECT_FALSE(platform::writes_through(at.path(), {.root = at.path()})) << "the kernel is silent";
}

}  // namespace
}  // namespace logjam
