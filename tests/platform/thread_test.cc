#include "platform/thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "platform/spin.h"
#include "tests/command_error.h"
#include "tests/system_call_filter.h"

namespace logjam::platform {
namespace {

// Pins `threads` threads, one after another. Returns the core of each thread.
std::vector<int> cores_of_pinned(int threads) {
  std::vector<int> cores;
  for (int i = 0; i < threads; ++i) {
    thread([&, i] {
      pin_to_core(i);
      cores.push_back(sched_getcpu());
    }).join();
  }
  return cores;
}

bool count_cores_from(int core) {
  Placement placed = placement();
  const bool found = placed.begin_at(core);
  use_placement(placed);
  return found;
}

// Waits for 70 rounds in a new thread. Returns how often this thread gave up its core.
long switches_of_wait(bool preempts) {
  long switches = 0;
  thread([&] {
    SpinWait::preempt_awaited(preempts);
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    SpinWait wait;
    while (wait.rounds() < 70) {
      EXPECT_EQ(wait.would_sleep_early(), preempts && wait.rounds() >= 64);
      wait.once();
    }
    getrusage(RUSAGE_THREAD, &after);
    switches = after.ru_nvcsw - before.ru_nvcsw;
  }).join();
  return switches;
}

TEST(SpinWait, AThreadThatPreemptsTheAwaitedThreadSleepsInsteadOfYielding) {
  EXPECT_GE(switches_of_wait(true), 6);
  EXPECT_EQ(switches_of_wait(false), 0);
}

TEST(Thread, PinnedThreadsBeginAtTheFirstCoreAndGoRoundInACircle) {
  const std::vector<int> usual = cores_of_pinned(core_count());
  for (size_t first = 0; first < usual.size(); ++first) {
    ASSERT_TRUE(count_cores_from(usual[first]));
    std::vector<int> expected = usual;
    std::rotate(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(first), expected.end());
    EXPECT_EQ(cores_of_pinned(core_count()), expected);
  }
  EXPECT_FALSE(count_cores_from(1 << 20));
  ASSERT_TRUE(count_cores_from(usual[0]));
}

// Runs in a separate process, because a process remembers its first failure to pin a thread.
void pin_to_what_is_not_there(void (*pin)(int), int index) {
  Placement elsewhere(*Topology::described("pack:64 core:64 pu:1"), PlacementPolicy::kCompact);
  elsewhere.begin_at(4095);
  use_placement(elsewhere);
  thread([=] { pin(index); }).join();
  std::fputs(why_not_pinned().c_str(), stderr);
  std::exit(0);
}

// The kernel replaces a thread's set of cores when the set of the thread's cgroup changes. Here
// sched_setaffinity() plays such a change.
void lose_a_pin() {
  thread([] {
    pin_to_core(0);
    look_at_pin(0);
    std::fputs(("at first: " + why_not_pinned() + ".\n").c_str(), stderr);
    cpu_set_t all;
    std::memset(&all, -1, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    look_at_pin(0);
  }).join();
  std::fputs(why_not_pinned().c_str(), stderr);
  std::exit(0);
}

// Lets no system call tell which cores the process may use, and then asks for the machine.
void ask_for_unknown_cores() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  filter_system_calls(filter);
  as_main([] { this_machine(); });
}

TEST(ThreadDeathTest, NoCoreIsGuessed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(ask_for_unknown_cores(), testing::ExitedWithCode(kExitFailed),
              "which cores this process may use: Operation not permitted");
}

TEST(ThreadDeathTest, WhyAThreadWasNotPinnedIsKept) {
  EXPECT_EQ(why_not_pinned(), "");
  const auto ended = testing::ExitedWithCode(0);
  EXPECT_EXIT(pin_to_what_is_not_there(pin_to_core, 0), ended, "^Invalid argument$");
  EXPECT_EXIT(pin_to_what_is_not_there(pin_to_socket, 63), ended, "^Invalid argument$");
  if (core_count() == 1) GTEST_SKIP() << "one core is no pin";
  EXPECT_EXIT(lose_a_pin(), ended, "at first: \\.\nthe cores that the process may use changed");
}

}  // namespace
}  // namespace logjam::platform
