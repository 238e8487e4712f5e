// The explorer's findings: texts of errors, and crashes, whose files forked processes check.
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "sim/explore/data_races.h"
#include "sim/explore/explorer.h"
#include "sim/symbols.h"

namespace logjam::sim {
namespace {

constexpr size_t kMostFrames = 24, kMostShown = 8;

// Returns the functions of a stack, the innermost first.
std::string functions(const Symbols& symbols, const std::vector<uint32_t>& stack) {
  std::string words;
  size_t shown = 0;
  for (const uint32_t at : stack) {
    if (symbols.serves_others(at) || ++shown > kMostShown) continue;
    words += (shown == 1 ? " in " : ", called by ") + symbols.function(at);
  }
  return words;
}

std::string name_of(const Fiber& fiber) {
  return fiber.name.empty() ? "thread " + std::to_string(fiber.id) : fiber.name;
}

}  // namespace

// Returns the code addresses of the thread's last steps, the last step first.
std::vector<uint32_t> Explorer::last_sites(const Thread& thread) {
  std::vector<uint32_t> sites;
  for (size_t i = thread.sites_noted; i-- > 0 && sites.size() < thread.sites.size();) {
    const void* site = thread.sites[i % thread.sites.size()];
    sites.push_back(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(site)));
  }
  return sites;
}

// Returns a line for each thread: its state, and where it is in the code.
std::string Explorer::threads_in_words() const {
  Symbols symbols;
  for (const auto& thread : threads_) {
    for (const uint32_t at : stack_of(*thread->fiber, kMostFrames)) symbols.want(at);
    for (const uint32_t at : last_sites(*thread)) symbols.want(at);
  }
  symbols.resolve();
  std::string words;
  for (const auto& thread : threads_) {
    if (thread->state == State::kEnded) continue;
    words += "\n  " + name_of(*thread->fiber);
    words += thread->state == State::kReady           ? " can go on"
             : thread->state == State::kSpinning      ? " spins"
             : thread->timer != 0 && !thread->patient ? " sleeps"
                                                      : " waits";
    if (thread->state != State::kReady) words += " since step " + std::to_string(thread->stopped);
    words += functions(symbols, stack_of(*thread->fiber, kMostFrames));
    const char* before = "; its last steps: ";
    for (const uint32_t site : last_sites(*thread)) {
      words += std::exchange(before, ", ") + symbols.line(site);
    }
  }
  return words;
}

// Returns a text about the thread that has waited longest without a timer. If the other threads go
// on for ever, the wake-up of this thread may be lost.
std::string Explorer::longest_wait_in_words() const {
  const Thread* longest = nullptr;
  for (const auto& thread : threads_) {
    if (thread->state != State::kWaiting || (thread->timer != 0 && !thread->patient)) continue;
    if (thread->fiber->id == 0) continue;  // the main thread waits for the end of the other threads
    if (longest == nullptr || thread->stopped < longest->stopped) longest = thread.get();
  }
  if (longest == nullptr) return "";
  return "; " + name_of(*longest->fiber) + " waits since step " + std::to_string(longest->stopped);
}

// Returns a line for each of shown_turns_.
std::string Explorer::turns_in_words() const {
  if (turn_stacks_.empty()) return "";
  Symbols symbols;
  for (const auto& stack : turn_stacks_) {
    for (const uint32_t at : stack) symbols.want(at);
  }
  symbols.resolve();
  std::string words;
  for (size_t i = 0; i < turn_stacks_.size(); ++i) {
    const platform::Turn& turn = shown_turns_[i];
    words += "\n  " + name_of(*threads_[turn.thread]->fiber) + " stops after " +
             std::to_string(turn.steps) + " steps" + functions(symbols, turn_stacks_[i]);
    if (turn.late != 0) words += ", " + std::to_string(turn.late) + " stores late";
    words += "; " + name_of(*threads_[turn.next]->fiber) + " goes on";
  }
  return words;
}

std::string Explorer::race_in_words(const DataRaces::Race& race) const {
  const auto address = [](const DataRaces::Access& access) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(access.site));
  };
  Symbols symbols;
  for (const auto& access : {race.earlier, race.later}) symbols.want(address(access));
  symbols.resolve();
  const auto words = [&](const DataRaces::Access& access) {
    return name_of(*threads_[access.thread]->fiber) +
           (access.writes() ? " stores in " : " loads in ") + symbols.function(address(access)) +
           " (" + symbols.line(address(access)) + ")";
  };
  return "a data race: nothing orders " + words(race.later) + ", after " + words(race.earlier);
}

void Explorer::fail(const std::string& what) {
  if (races_ != nullptr) result_.weakened = races_->weakened_operations();
  result_.what = what + threads_in_words();
  result_.turns_in_words = turns_in_words();
  schedule_.ended(result_);
  LJ_ASSERT(!"ended() ends the process: threads are in the middle of their work");
}

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
  // The numbers of the crashes continue from the number of the recorded crash.
  if (schedule_.crash) result_.crash.number += schedule_.crash->number;
  LJ_ASSERT(schedule_.judge != nullptr);
  const uint32_t number = result_.crash.number;
  ++result_.crashes;
  const pid_t child = fork();
  if (child < 0) platform::fatal("the explorer cannot fork a process that crashes");
  if (child == 0) {
    // No other fiber goes on in the forked process. The check of the files has a kernel of its own.
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
  LJ_ASSERT(!"ended() ends the process: threads are in the middle of their work");
}

}  // namespace logjam::sim
