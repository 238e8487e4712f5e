// Cgroups for workers, in a copy of the kernel's directories. If this process may make cgroups, the
// tests also use the kernel's own directories.
#include "platform/idle_group.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/thread.h"
#include "tests/platform/fake_cgroups.h"

namespace logjam::platform {
namespace {

std::string name_of_own() { return "logjam-workers-" + std::to_string(getpid()); }

std::string own_thread() { return std::to_string(gettid()); }

TEST(IdleGroup, OfVersionOneIsAnIdleChildOfTheProcessesOwnGroup) {
  FakeCgroups cgroups(1, "/a/b");
  auto group = IdleGroup::make(cgroups.kernel());
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->version(), 1);
  EXPECT_EQ(group->directory(), "/cg/a/b/" + name_of_own());
  EXPECT_EQ(cgroups.text(group->directory() + "/cpu.idle"), "1\n");
  EXPECT_TRUE(group->join());
  EXPECT_EQ(cgroups.text(group->directory() + "/tasks"), own_thread());
  group.reset();
  EXPECT_TRUE(cgroups.worker_groups("/cg/a/b").empty());
}

TEST(IdleGroup, OfVersionTwoIsThreadedAndTurnsTheControllerOn) {
  for (const bool already_on : {false, true}) {
    FakeCgroups cgroups(2, "/a");
    cgroups.cpu_for_children = already_on;
    auto group = IdleGroup::make(cgroups.kernel());
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->version(), 2);
    EXPECT_EQ(group->directory(), "/cg/a/" + name_of_own());
    EXPECT_EQ(cgroups.text(group->directory() + "/cgroup.type").substr(0, 8), "threaded");
    EXPECT_EQ(cgroups.text("/cg/a/cgroup.subtree_control"), already_on ? "" : "+cpu");
    EXPECT_EQ(cgroups.text(group->directory() + "/cpu.idle"), "1\n");
    EXPECT_TRUE(group->join());
    EXPECT_EQ(cgroups.text(group->directory() + "/cgroup.threads"), own_thread());
    group.reset();
    EXPECT_TRUE(cgroups.worker_groups("/cg/a").empty());
  }
}

TEST(IdleGroup, WhereItCannotBeIdleNothingStays) {
  FakeCgroups old_kernel(1, "/a"), no_controller(2, "/a"), no_threads(2, "/a");
  old_kernel.has_cpu_idle = false;
  no_controller.may_enable_for_children = false;
  no_threads.may_make_threaded = false;
  for (FakeCgroups* cgroups : {&old_kernel, &no_controller, &no_threads}) {
    EXPECT_EQ(IdleGroup::make(cgroups->kernel()), nullptr);
    EXPECT_TRUE(cgroups->worker_groups("/cg/a").empty());
  }
}

// No cgroups are mounted, or the process may not make a directory below the mount point.
TEST(IdleGroup, WhereNoDirectoryCanBeMadeThereIsNone) {
  FakeCgroups unmounted(1, "/a");
  unmounted.put("/proc/self/mountinfo", "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n");
  EXPECT_EQ(IdleGroup::make(unmounted.kernel()), nullptr);

  FakeCgroups forbidden(1, "/a");
  std::filesystem::remove_all(forbidden.real("/cg/a"));
  EXPECT_EQ(IdleGroup::make(forbidden.kernel()), nullptr);

  FakeCgroups outside(2, "/../b");
  EXPECT_EQ(IdleGroup::make(outside.kernel()), nullptr);
}

// In a container, only the container's own cgroup and the groups below it are mounted.
TEST(IdleGroup, IsFoundBelowTheMountedPartOfTheHierarchy) {
  FakeCgroups cgroups(1, "/box/7/a");
  cgroups.put("/proc/self/mountinfo", "32 22 0:28 /box/7 /cg/box/7 rw - cgroup cgroup rw,cpu\n");
  const auto group = IdleGroup::make(cgroups.kernel());
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->directory(), "/cg/box/7/a/" + name_of_own());
}

TEST(IdleGroup, RemovesWhatACrashLeftAndNothingElse) {
  FakeCgroups cgroups(1, "/a");
  std::filesystem::create_directories(cgroups.real("/cg/a/logjam-workers-1"));
  std::filesystem::create_directories(cgroups.real("/cg/a/other"));
  const auto group = IdleGroup::make(cgroups.kernel());
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(cgroups.worker_groups("/cg/a"), std::set<std::string>{name_of_own()});
  EXPECT_TRUE(std::filesystem::exists(cgroups.real("/cg/a/other")));
}

// A child process that makes a group, tells its parent, and then sleeps until it is killed.
class OtherRun {
 public:
  explicit OtherRun(const KernelFiles& kernel) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ready[0]);
      const auto group = IdleGroup::make(kernel);
      const char made = group != nullptr ? 'y' : 'n';
      if (write(ready[1], &made, 1) != 1) _exit(1);
      while (true) ::pause();  // sleeps; platform::pause() does not
    }
    close(ready[1]);
    char made = 'n';
    EXPECT_EQ(read(ready[0], &made, 1), 1);
    EXPECT_EQ(made, 'y');
    close(ready[0]);
  }
  ~OtherRun() { crash(); }

  std::string group() const { return "logjam-workers-" + std::to_string(child_); }
  void crash() {
    if (!alive_) return;
    alive_ = false;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
  bool alive_ = true;
};

TEST(IdleGroup, OfALiveRunStaysAndThatOfACrashedOneIsRemoved) {
  FakeCgroups cgroups(1, "/a");
  OtherRun other(cgroups.kernel());
  IdleGroup::make(cgroups.kernel());
  EXPECT_EQ(cgroups.worker_groups("/cg/a"), std::set<std::string>{other.group()});
  other.crash();
  EXPECT_EQ(cgroups.worker_groups("/cg/a"), std::set<std::string>{other.group()});
  IdleGroup::make(cgroups.kernel());
  EXPECT_TRUE(cgroups.worker_groups("/cg/a").empty());
}

// Tests in the kernel's own cgroup files.
class RealIdleGroup : public testing::Test {
 protected:
  void SetUp() override {
    group_ = IdleGroup::make(kernel_);
    if (group_ == nullptr) GTEST_SKIP() << "no cgroup with cpu.idle can be made here";
  }

  std::string own_cgroups() const {
    return kernel_.read("/proc/self/task/" + own_thread() + "/cgroup");
  }

  const KernelFiles kernel_{};
  std::unique_ptr<IdleGroup> group_;
};

TEST_F(RealIdleGroup, HasTheThreadsThatJoinedAndGoesWhenTheyHaveEnded) {
  const std::string directory = group_->directory();
  std::string joined;
  thread worker([&] {
    EXPECT_TRUE(group_->join());
    joined = own_cgroups();
  });
  worker.join();
  EXPECT_NE(joined.find("/" + name_of_own() + "\n"), std::string::npos) << joined;
  EXPECT_EQ(own_cgroups().find(name_of_own()), std::string::npos);
  EXPECT_EQ(kernel_.word(directory + "/cpu.idle"), "1");
  group_.reset();
  EXPECT_FALSE(kernel_.exists(directory));
}

TEST_F(RealIdleGroup, OfALiveRunStaysAndThatOfACrashedOneIsRemoved) {
  const std::string beside = group_->directory().substr(0, group_->directory().rfind('/') + 1);
  OtherRun other(kernel_);
  group_.reset();
  group_ = IdleGroup::make(kernel_);
  ASSERT_NE(group_, nullptr);
  EXPECT_TRUE(kernel_.exists(beside + other.group()));
  other.crash();
  group_.reset();
  group_ = IdleGroup::make(kernel_);
  EXPECT_FALSE(kernel_.exists(beside + other.group()));
}

TEST(GroupPlace, IsThatOfTheOutermostGroup) {
  EXPECT_EQ(group_place(FakeCgroups(1, "/").kernel()), GroupPlace::kTop);
  EXPECT_EQ(group_place(FakeCgroups(2, "/").kernel()), GroupPlace::kTop);
  FakeCgroups one(1, "/a/b");
  EXPECT_EQ(group_place(one.kernel()), GroupPlace::kNested);
  one.put("/cg/a/b/cpu.idle", "1\n");
  EXPECT_EQ(group_place(one.kernel()), GroupPlace::kNested);
  one.put("/cg/a/cpu.idle", "1\n");
  EXPECT_EQ(group_place(one.kernel()), GroupPlace::kIdle);
}

// The scheduler ignores a group of version 2 that does not have the cpu controller. So a process in
// such a group counts as a process outside of the group.
TEST(GroupPlace, OfVersionTwoCountsOnlyWhereTheControllerIsOn) {
  FakeCgroups two(2, "/a/b");
  EXPECT_EQ(group_place(two.kernel()), GroupPlace::kTop);
  two.put("/cg/a/cpu.weight", "100\n");
  EXPECT_EQ(group_place(two.kernel()), GroupPlace::kNested);
  two.put("/cg/a/cpu.idle", "1\n");
  EXPECT_EQ(group_place(two.kernel()), GroupPlace::kIdle);
}

TEST(GroupPlace, InAContainerThatHidesTheRootIsNested) {
  FakeCgroups two(2, "/");
  two.put("/cg/cgroup.type", "domain\n");
  EXPECT_EQ(group_place(two.kernel()), GroupPlace::kNested);
  FakeCgroups one(1, "/");
  std::filesystem::remove(one.real("/cg/release_agent"));
  EXPECT_EQ(group_place(one.kernel()), GroupPlace::kNested);
}

TEST(GroupPlace, WithoutCgroupsIsTheTop) {
  FakeCgroups none(1, "/");
  none.put("/proc/self/cgroup", "");
  EXPECT_EQ(group_place(none.kernel()), GroupPlace::kTop);
}

}  // namespace
}  // namespace logjam::platform
