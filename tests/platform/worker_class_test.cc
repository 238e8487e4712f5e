// The scheduling class that workers get on each kind of machine, and the messages about the class.
#include "platform/worker_class.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/command_error.h"
#include "tests/platform/fake_cgroups.h"

namespace logjam::platform {
namespace {

using Wanted = WorkerClass::Wanted;

bool idle_machine(uint32_t) { return true; }
bool busy_machine(uint32_t) { return false; }

constexpr WorkerClass::Request kAuto{Wanted::kAuto, 2, true};
constexpr WorkerClass::Request kIdle{Wanted::kIdle, 2, true};

struct Joined {
  int policy;
  bool in_group;  // whether the worker's thread id is in a cgroup of workers
};

// Returns a worker thread's scheduling policy after join(), and whether the thread is in a group.
Joined join(const WorkerClass& workers, const FakeCgroups& cgroups, const std::string& group) {
  Joined joined{};
  thread worker([&] {
    workers.join();
    joined.policy = sched_getscheduler(0);
    const std::string own = std::to_string(gettid());
    for (const auto& name : cgroups.worker_groups(group)) {
      const std::string in_it = group + "/" + name;
      joined.in_group |=
          cgroups.text(in_it + "/tasks") == own || cgroups.text(in_it + "/cgroup.threads") == own;
    }
  });
  worker.join();
  return joined;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A process that is in no cgroup. Its kernel has cgroups, but no cpu.idle.
class OldKernel : public FakeCgroups {
 public:
  explicit OldKernel(bool autogroup) : FakeCgroups(1, "/") {
    has_cpu_idle = false;
    put("/proc/sys/kernel/sched_autogroup_enabled", autogroup ? "1\n" : "0\n");
  }
};

TEST(WorkerClass, IsIdleInACgroupOfEitherVersion) {
  for (const int version : {1, 2}) {
    for (const auto& request : {kAuto, kIdle}) {
      FakeCgroups cgroups(version, "/");
      WorkerClass workers(request, cgroups.kernel(), idle_machine);
      EXPECT_EQ(workers.granted(), "idle, cgroup v" + std::to_string(version));
      EXPECT_TRUE(workers.preemptible());
      EXPECT_EQ(workers.cost(), "");
      const Joined joined = join(workers, cgroups, "/cg");
      EXPECT_EQ(joined.policy, SCHED_IDLE);
      EXPECT_TRUE(joined.in_group);
      EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
      workers.end();
      EXPECT_TRUE(cgroups.worker_groups("/cg").empty());
    }
  }
}

TEST(PeriodicYield, IsDueOnceAPeriodIfOtherThreadsPreemptTheWorker) {
  FakeCgroups cgroups(1, "/");
  const WorkerClass workers(kAuto, cgroups.kernel(), idle_machine);
  ASSERT_TRUE(workers.preemptible());
  const uint64_t period = ns_to_ticks(100e3);
  PeriodicYield yield(&workers);
  EXPECT_TRUE(yield.due(1000));
  EXPECT_FALSE(yield.due(1000 + period - 1));
  EXPECT_TRUE(yield.due(1000 + period));
  EXPECT_TRUE(yield.due(1000 + 5 * period)) << "after a long transaction";
  EXPECT_FALSE(yield.due(1000 + 6 * period - 1));
}

TEST(PeriodicYield, IsNeverDueIfNoOtherThreadPreemptsTheWorker) {
  FakeCgroups cgroups(1, "/");
  const WorkerClass normal(WorkerClass::Request{Wanted::kNormal, 2, true}, cgroups.kernel());
  ASSERT_FALSE(normal.preemptible());
  EXPECT_FALSE(PeriodicYield(&normal).due(ns_to_ticks(1e9)));
  EXPECT_FALSE(PeriodicYield(nullptr).due(ns_to_ticks(1e9)));
}

TEST(WorkerClass, IsIdleWithoutACgroupWhereAutogroupIsOff) {
  OldKernel cgroups(false);
  const WorkerClass workers(kAuto, cgroups.kernel(), idle_machine);
  EXPECT_EQ(workers.granted(), "idle, autogroup off");
  EXPECT_TRUE(workers.preemptible());
  EXPECT_EQ(join(workers, cgroups, "/cg").policy, SCHED_IDLE);
  std::filesystem::remove(cgroups.real("/proc/sys/kernel/sched_autogroup_enabled"));
  EXPECT_TRUE(WorkerClass(kAuto, cgroups.kernel(), idle_machine).preemptible());
}

TEST(WorkerClass, IsIdleInAProcessWhoseOutermostGroupIsIdle) {
  FakeCgroups cgroups(2, "/run-1.scope");
  cgroups.put("/cg/run-1.scope/cpu.weight", "100\n");
  cgroups.put("/cg/run-1.scope/cpu.idle", "1\n");
  const WorkerClass workers(kAuto, cgroups.kernel(), idle_machine);
  EXPECT_EQ(workers.granted(), "idle, in an idle cgroup");
  EXPECT_TRUE(workers.preemptible());
  EXPECT_EQ(join(workers, cgroups, "/cg/run-1.scope").policy, SCHED_IDLE);
}

TEST(WorkerClass, WhereTheIdleClassHasNoEffectAutoIsNormalAndSaysWhatHelps) {
  OldKernel autogroup(true);
  const WorkerClass grouped(kAuto, autogroup.kernel(), idle_machine);
  EXPECT_EQ(grouped.granted(), "normal");
  EXPECT_FALSE(grouped.preemptible());
  EXPECT_TRUE(has(grouped.reason(), "autogroup is on")) << grouped.reason();
  EXPECT_TRUE(has(grouped.cost(), "`sysctl kernel.sched_autogroup_enabled=0`")) << grouped.cost();
  EXPECT_EQ(join(grouped, autogroup, "/cg").policy, SCHED_OTHER);

  FakeCgroups nested(1, "/session");
  nested.put("/proc/sys/kernel/sched_autogroup_enabled", "0\n");
  const WorkerClass inside(kAuto, nested.kernel(), idle_machine);
  EXPECT_EQ(inside.granted(), "normal");
  EXPECT_TRUE(has(inside.cost(), "`systemd-run --scope --slice=-.slice -p CPUWeight=idle "))
      << inside.cost();
  EXPECT_TRUE(nested.worker_groups("/cg/session").empty());
}

TEST(WorkerClass, IsIdleWithoutEffectOnlyIfAskedFor) {
  OldKernel cgroups(true);
  const WorkerClass workers(kIdle, cgroups.kernel(), idle_machine);
  EXPECT_EQ(workers.granted(), "idle, without effect");
  EXPECT_FALSE(workers.preemptible());
  EXPECT_TRUE(has(workers.reason(), "without effect: autogroup is on")) << workers.reason();
  EXPECT_NE(workers.cost(), "");
  EXPECT_EQ(join(workers, cgroups, "/cg").policy, SCHED_IDLE);
}

// On a busy machine, other programs would take the cores from workers of the class `idle`. So
// `auto` must choose the class `normal`.
TEST(WorkerClass, OnABusyMachineAutoIsNormalAndLeavesNoGroup) {
  FakeCgroups cgroups(1, "/");
  const WorkerClass workers(kAuto, cgroups.kernel(), busy_machine);
  EXPECT_EQ(workers.granted(), "normal");
  EXPECT_FALSE(workers.preemptible());
  EXPECT_TRUE(has(workers.reason(), "other programs use more than a tenth")) << workers.reason();
  EXPECT_TRUE(has(workers.cost(), "--worker_class=idle takes")) << workers.cost();
  const Joined joined = join(workers, cgroups, "/cg");
  EXPECT_EQ(joined.policy, SCHED_OTHER);
  EXPECT_FALSE(joined.in_group);
  EXPECT_TRUE(cgroups.worker_groups("/cg").empty());
  EXPECT_TRUE(WorkerClass(kIdle, cgroups.kernel(), busy_machine).preemptible());
}

TEST(WorkerClass, WhereNothingIsGainedAutoIsNormalAndDoesNotLookWhatOthersDo) {
  FakeCgroups cgroups(1, "/");
  const WorkerClass workers({Wanted::kAuto, 2, false}, cgroups.kernel(), [](uint32_t) {
    ADD_FAILURE();
    return true;
  });
  EXPECT_EQ(workers.granted(), "normal");
  EXPECT_EQ(workers.cost(), "");
}

TEST(WorkerClass, BatchAndNormalAreTakenAsAsked) {
  FakeCgroups cgroups(1, "/");
  const WorkerClass batch({Wanted::kBatch, 2, true}, cgroups.kernel(), idle_machine);
  EXPECT_EQ(batch.granted(), "batch");
  EXPECT_EQ(join(batch, cgroups, "/cg").policy, SCHED_BATCH);
  const WorkerClass normal({Wanted::kNormal, 2, true}, cgroups.kernel(), idle_machine);
  EXPECT_EQ(normal.granted(), "normal");
  EXPECT_EQ(join(normal, cgroups, "/cg").policy, SCHED_OTHER);
  for (const auto* workers : {&batch, &normal}) {
    EXPECT_FALSE(workers->preemptible());
    EXPECT_NE(workers->cost(), "");
  }
}

// As in `chrt --idle 0 logjam run`: a thread inherits the class of the thread that started it.
TEST(WorkerClass, AutoKeepsTheClassThatTheProcessWasStartedIn) {
  FakeCgroups cgroups(1, "/");
  thread started([&] {
    ASSERT_TRUE(set_scheduling_class(SchedulingClass::kBatch));
    EXPECT_EQ(WorkerClass(kAuto, cgroups.kernel(), busy_machine).granted(), "batch");
    ASSERT_TRUE(set_scheduling_class(SchedulingClass::kIdle));
    EXPECT_EQ(WorkerClass(kAuto, cgroups.kernel(), busy_machine).granted(), "idle, cgroup v1");
  });
  started.join();
}

TEST(WorkerClass, ARefusalRemovesTheGroup) {
  FakeCgroups cgroups(1, "/");
  EXPECT_REFUSED(const WorkerClass workers(kIdle, cgroups.kernel(), idle_machine);
                 EXPECT_EQ(cgroups.worker_groups("/cg").size(), 1u); refuse("no"), "^no$");
  EXPECT_TRUE(cgroups.worker_groups("/cg").empty());
}

TEST(CpuUse, CountsWhatRanOnTheCoresOfThisProcess) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::string stat =
      "cpu  1111 2222 3333 4444 5555 6666 7777 8888 0 0\n"
      "cpu0 100000 0 0 0 0 0 0 0 0 0\n"
      "cpu1 1 20 300 7 7 4000 50000 7 7 7\n"
      "cpu12 600000 0 0 7 7 0 0 7 0 0\n"
      "intr 5 6\nctxt 9\n";
  EXPECT_NEAR(used_seconds(stat, std::array{1, 12}), 654321 * tick, tick / 2);
  EXPECT_EQ(used_seconds(stat, std::array{2}), 0);
}

// Other processes compute on every core that the test's process may use.
TEST(CpuUse, AMachineOnWhichOthersComputeIsNotIdle) {
  std::vector<pid_t> others;
  for (int i = 0; i < core_count(); ++i) {
    others.push_back(fork());
    if (others.back() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (getppid() > 0) continue;
      _exit(1);
    }
  }
  EXPECT_FALSE(others_are_idle(static_cast<uint32_t>(core_count())));
  for (const pid_t other : others) kill(other, SIGKILL);
  for (const pid_t other : others) waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace logjam::platform
