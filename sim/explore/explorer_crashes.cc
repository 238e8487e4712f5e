// The explorer's crashes: a process that is forked at a step judges what is left there.
#include <sys/wait.h>
#include <unistd.h>

#include "platform/fatal.h"
#include "sim/explore/data_races.h"
#include "sim/explore/explorer.h"

namespace logjam::sim {

void Explorer::maybe_crash(uint64_t times, bool in_a_file_call) {
  if (schedule_.recorded ? !is_recorded_crash(in_a_file_call, false)
                         : schedule_.mean_crash_steps == 0 || crash_random_.next() % times != 0) {
    return;
  }
  const Unexplored free;
  crash(in_a_file_call, false);
}

void Explorer::crash(bool in_a_file_call, bool before_step) {
  do {
    if (result_.crashes < schedule_.most_crashes) judge_crash(in_a_file_call, before_step);
  } while (schedule_.recorded && result_.crashes < schedule_.most_crashes);
}

bool Explorer::is_recorded_crash(bool in_a_file_call, bool before_step) {
  const auto& crash = schedule_.crash;
  return crash && crash->thread == current_->id && crash->steps == own_steps() &&
         crash->in_a_file_call == in_a_file_call && crash->before_step == before_step;
}

void Explorer::crash_at_end() {
  if (schedule_.recorded) {
    if (is_recorded_crash(false, false)) crash(false, false);
  } else if (schedule_.mean_crash_steps != 0) {
    judge_crash(false, false);
  }
}

void Explorer::judge_crash(bool in_a_file_call, bool before_step) {
  result_.crash = {current_->id, own_steps(), in_a_file_call, before_step, result_.crashes};
  // A recorded crash first leaves what it left in the schedule that found it.
  if (schedule_.crash) result_.crash.number += schedule_.crash->number;
  const uint32_t number = result_.crash.number;
  ++result_.crashes;
  const pid_t child = fork();
  if (child < 0) platform::fatal("the explorer cannot fork a process that crashes");
  if (child == 0) {
    // Of the other fibers nothing goes on. What judges has a kernel of its own.
    platform::Schedule plain;
    plain.order = "turns";
    begun_ = nullptr;
    data_races = nullptr;
    explorer_runs = false;
    auto* calm = new Explorer(plain);
    put_kernel(calm);
    _exit(schedule_.judge(number, in_a_file_call));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  result_.judged = WIFEXITED(status) ? WEXITSTATUS(status) : platform::kExitFailed;
  if (result_.judged == 0) return;
  result_.turns_in_words = turns_in_words();
  schedule_.ended(result_);
}

}  // namespace logjam::sim
