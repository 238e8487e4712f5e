// --worker_class in build/logjam: the output, and the scheduling classes of the run's threads.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "platform/clock.h"
#include "platform/idle_group.h"
#include "platform/kernel_files.h"
#include "tests/logging/watchdog.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

std::string run_with(const std::string& flags, const TemporaryDirectory& directory) {
  return "\"$LOGJAM\" run --workload=ycsb --ycsb_records=1000 --threads=2 --warmup=0 --log=eleda "
         "--log_prealloc_mb=1 --log_buffer_mb=1 --overwrite --wal_dir=" +
         directory.path() + " " + flags;
}

TEST(WorkerClassFlag, IsInTheSummaryTheRowAndTheFirstLines) {
  const TemporaryDirectory directory;
  const std::string csv = directory.path_of("rows.csv");
  const Ended ran =
      shell(run_with("--seconds=0.05 --worker_class=batch --csv=" + csv, directory) + " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("] workers run in the batch class\n"), std::string::npos) << ran.output;
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("\nworker_class +batch\n"))) << ran.output;
  EXPECT_NE(ran.output.find("\nnote: a write's completion waits "), std::string::npos)
      << ran.output;
  std::ifstream in(csv);
  std::string header, row;
  std::getline(in, header);
  std::getline(in, row);
  EXPECT_NE(header.find(",threads,worker_class,"), std::string::npos);
  EXPECT_NE(row.find(",2,batch,"), std::string::npos);
}

// In these runs no commit waits for a write, so the note about preemption would be wrong.
TEST(WorkerClassFlag, TheCostIsSaidOnlyOfRunsThatHaveIt) {
  const TemporaryDirectory directory;
  for (const char* flags : {"--device=null", "--log=none", "--commit=async", "--commit=sync"}) {
    const Ended ran =
        shell(run_with(std::string("--seconds=0.05 --worker_class=normal ") + flags, directory) +
              " 2>&1");
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_EQ(ran.output.find("note: a write's"), std::string::npos) << flags << ran.output;
  }
}

TEST(WorkerClassFlag, IsInTheRowOfMicroToo) {
  const Ended ran = shell(
      "\"$LOGJAM\" micro --device=null --transactions=100 --threads=2 --log_buffer_mb=1 "
      "--worker_class=batch 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("\nworker_class +batch\n"))) << ran.output;
}

// A command that runs until the test ends it.
class LongRun {
 public:
  explicit LongRun(const std::string& command) {
    shell(":");  // sets $LOGJAM
    const std::string script = "exec " + command + " --seconds=600 >/dev/null 2>&1";
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
  }
  ~LongRun() { end(SIGKILL); }

  pid_t pid() const { return pid_; }
  void end(int signal) {
    if (ended_) return;
    ended_ = true;
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
  }

  // Returns the names of all threads with the scheduling policy `policy`. First waits until the
  // names of two threads begin with `workers`: a worker joins its class before it gets its name.
  std::set<std::string> threads_in(int policy, const std::string& workers) const {
    while (true) {
      std::set<std::string> names, begun;
      std::error_code gone;
      const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
      for (const auto& entry : std::filesystem::directory_iterator(tasks, gone)) {
        std::ifstream in(entry.path() / "comm");
        std::string name;
        std::getline(in, name);
        if (name.starts_with(workers)) begun.insert(name);
        if (name.starts_with("iou-")) continue;  // a thread of io_uring for a worker's requests
        if (sched_getscheduler(std::stoi(entry.path().filename().string())) == policy) {
          names.insert(name);
        }
      }
      if (begun.size() == 2 || gone) return names;
      platform::sleep_ns(1'000'000);
    }
  }

 private:
  pid_t pid_;
  bool ended_ = false;
};

constexpr char kHang[] = "the workers did not begin, or a run did not end";

TEST(WorkerClassFlag, HoldsForWorkersAndForNoOtherThread) {
  const Watchdog watchdog(kHang);
  const TemporaryDirectory directory;
  const LongRun run(run_with("--worker_class=idle", directory));
  EXPECT_EQ(run.threads_in(SCHED_IDLE, "worker-"), (std::set<std::string>{"worker-0", "worker-1"}));
  const LongRun micro(
      "\"$LOGJAM\" micro --device=null --threads=2 --log_buffer_mb=1 --worker_class=idle");
  EXPECT_EQ(micro.threads_in(SCHED_IDLE, "insert-"),
            (std::set<std::string>{"insert-0", "insert-1"}));
}

// The cgroup of a run. The test is skipped where the run cannot make a cgroup.
TEST(WorkerClassFlag, TheRunsGroupGoesWithItOrWithTheNextRun) {
  const Watchdog watchdog(kHang);
  const platform::KernelFiles kernel;
  std::string beside;
  if (const auto group = platform::IdleGroup::make(kernel); group != nullptr) {
    beside = group->directory().substr(0, group->directory().rfind('-') + 1);
  }
  if (beside.empty() || platform::group_place(kernel) != platform::GroupPlace::kTop) {
    GTEST_SKIP() << "no cgroup with cpu.idle can be made here";
  }
  const TemporaryDirectory one, other;
  LongRun killed(run_with("--worker_class=idle", one)),
      ended(run_with("--worker_class=idle", other));
  const std::string group = beside + std::to_string(ended.pid()),
                    left = beside + std::to_string(killed.pid());
  EXPECT_EQ(ended.threads_in(SCHED_IDLE, "worker-").size(), 2u);
  EXPECT_EQ(killed.threads_in(SCHED_IDLE, "worker-").size(), 2u);
  EXPECT_TRUE(kernel.exists(group) && kernel.exists(left));
  killed.end(SIGKILL);
  ended.end(SIGINT);
  EXPECT_FALSE(kernel.exists(group));
  platform::IdleGroup::make(kernel);
  EXPECT_FALSE(kernel.exists(left));
}

}  // namespace
}  // namespace logjam
