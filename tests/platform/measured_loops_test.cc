// The loops execute as many instructions as their constants say. The kernel stops a child after
// each of its instructions, so no PMU and no clock is necessary.
#include "platform/measured_loops.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace logjam::platform {
namespace {

// Returns how many instructions a child executes that calls the loop with this number of
// rounds, its end included; 0 if this process may not trace a child.
uint64_t instructions_of(void (*loop)(HashTable&, uint64_t), uint64_t rounds) {
  static HashTable table;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    (void)raise(SIGSTOP);
    loop(table, rounds);
    _exit(0);
  }
  int status = 0;
  uint64_t steps = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
    ++steps;
  }
  if (WIFSTOPPED(status)) {  // stopped, and cannot be traced
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
  }
  return steps;
}

void expect_instructions(void (*loop)(HashTable&, uint64_t), uint64_t in_a_round) {
  if (!kCountsAreOfThisProcessor) GTEST_SKIP() << "the constants are those of x86";
  const uint64_t few = instructions_of(loop, 10), many = instructions_of(loop, 60);
  if (few < 10) GTEST_SKIP() << "a process may trace no child here";
  EXPECT_EQ(many - few, 50 * in_a_round);
}

TEST(MeasuredLoops, ARoundHasAsManyInstructionsAsItsConstantSays) {
  expect_instructions(hash_load_and_store, kInstructionsInARound);
}

TEST(MeasuredLoops, ARoundAheadHasAsManyInstructionsAsItsConstantSays) {
  expect_instructions(hash_loads_ahead, kInstructionsInARoundAhead);
}

}  // namespace
}  // namespace logjam::platform
