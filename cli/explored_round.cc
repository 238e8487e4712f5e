#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/explore.h"
#include "cli/options.h"
#include "cli/output.h"
#include "logging/format/manifest_file.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/exploration.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/output_file.h"
#include "platform/random.h"
#include "proof/disk/memory_files.h"
#include "proof/history/file.h"

namespace logjam {
namespace {

// The run of a log from its begin, or from a crash, to the next crash.
struct Life {
  const Round& round;
  uint64_t seed;
  uint32_t number;    // from 1
  bool had_commands;  // an earlier life logged commands
  MemoryFiles& disk;

  // Returns the name of the life's histories. Recovery may rename them while an earlier life runs.
  std::string history() const { return round.directory + "/history-" + std::to_string(number); }
};

[[noreturn]] void live(const Life& life);

// Copies a file; its holes stay holes.
void copy_data(const std::string& from, const std::string& to) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int target = open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const off_t bytes = lseek(source, 0, SEEK_END);
  bool copied = ftruncate(target, bytes) == 0;
  for (off_t at = 0; copied && (at = lseek(source, at, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(source, at, SEEK_HOLE);
    lseek(target, at, SEEK_SET);
    while (copied && at < end) {
      copied = sendfile(target, source, &at, static_cast<size_t>(end - at)) > 0;
    }
  }
  if (!copied) platform::fatal("the history " + from + " cannot be copied");
  close(source);
  close(target);
}

// Copies the history of a life, with those of the lives before it, for the next life.
void copy_history(const Life& from, const Life& to) {
  std::error_code none;
  const std::string before = from.history();
  for (const auto& entry : std::filesystem::directory_iterator(from.round.directory)) {
    const std::string path = entry.path();
    if (path.starts_with(to.history())) std::filesystem::remove(path, none);
  }
  for (const auto& entry : std::filesystem::directory_iterator(from.round.directory)) {
    const std::string path = entry.path();
    if (!path.starts_with(before)) continue;
    copy_data(path, to.history() + path.substr(before.size()));
  }
}

void set_flag(const std::string& name, const std::string& value) {
  if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
    platform::fatal("--" + name + "=" + value + " is refused");
  }
}

// Lets some lines of non-volatile memory reach the disk that a crash has left, although the program
// had not written them back: caches evict them at any time.
void evict_lines(const MemoryFiles& disk, MemoryFiles& after, Draws& draws) {
  constexpr uint64_t kLineBytes = 64;
  platform::for_each_mapping([&](int file, const std::byte* memory) {
    const int left = after.open(disk.path_of(file), O_RDWR);
    if (left < 0) return;
    uint64_t bytes = 0;
    after.size(left, &bytes);
    std::vector<std::byte> content(bytes);
    after.read(left, 0, content);
    for (uint64_t at = 0; at + kLineBytes <= bytes; at += kLineBytes) {
      if (std::memcmp(content.data() + at, memory + at, kLineBytes) == 0) continue;
      if (draws.below(2) == 0) after.write(left, at, {memory + at, kLineBytes}, true);
    }
    after.close(left);
  });
}

// Recovers one of the states in which a crash now may leave the disk, and judges it; after some
// crashes it lets the log have another life. Returns the exit status.
int judge(const Life& life, uint32_t crash, bool in_a_file_call) {
  constexpr size_t kMostStates = 4;
  constexpr uint32_t kMostLives = 3;
  Draws draws(life.seed * platform::kGoldenRatio + crash);
  // A call that has not returned may have done a part of its work.
  const size_t steps = life.disk.steps();
  const size_t begun = in_a_file_call ? life.disk.steps_before_call() : steps;
  size_t step = begun + draws.below(steps - begun + 1);
  // A write that is durable when it returns has two steps. Between them a part of it may be there,
  // which no other moment shows.
  if (steps - begun == 2 && draws.below(4) != 0) step = begun + 1;
  const std::vector<CrashState> states =
      life.disk.states_after(step, kMostStates, draws.below(1 << 20));
  LJ_ASSERT(begun <= step && step <= steps && !states.empty());
  const CrashState& state = states[draws.below(states.size())];
  auto& after = *new MemoryFiles(state);
  evict_lines(life.disk, after, draws);
  new platform::ReplaceFiles(after);
  const bool began = access(life.history().c_str(), F_OK) == 0;
  if (find_manifest(wal_directories(), true).none() && !began) return 0;
  const std::string log = gflags::GetCommandLineFlagInfoOrDie("log").current_value;
  const bool commands = life.had_commands || find_scheme(log)->traits.commands;
  Life next = {life.round, draws.below(~uint64_t{0}), life.number + 1, commands, after};
  copy_history(life, next);
  if (ftruncate(life.round.output, 0) != 0)
    platform::fatal("the output of a recovery cannot be kept");
  std::printf("crash                  of life %u after %s: %s\n", life.number,
              step == 0 ? "nothing" : life.disk.step(step - 1).c_str(), state.what.c_str());
  set_flag("history", next.history());
  set_flag("verify", "true");
  set_flag("replay", draws.below(8) == 0 && !commands ? "merge" : "");
  const std::string checkpoint = gflags::GetCommandLineFlagInfoOrDie("checkpoint").current_value;
  set_flag("checkpoint", "");
  set_flag("continue", "false");
  const int status = recover_command();
  std::fflush(stdout);
  if (status != 0 || life.number == kMostLives || draws.below(6) != 0) return status;
  set_flag("checkpoint", checkpoint);
  live(next);
}

void put_text(char* to, size_t size, const std::string& text) {
  LJ_ASSERT(size != 0);
  std::strncpy(to, text.c_str(), size - 1);
}

void set_flags(const Life& life) {
  if (life.number > 1) std::printf("flags of life %u       ", life.number);
  for (const auto& [name, value] :
       flags_of_round(life.seed, life.round.scheme, life.round.protocol)) {
    if (life.number > 1 && stays_in_later_lives(name)) continue;
    set_flag(name, value);
    if (life.number > 1 && !value.empty()) std::printf(" --%s=%s", name.c_str(), value.c_str());
  }
  if (life.number > 1) std::printf("\n");
  set_flag("history", life.history());
  set_flag("continue", life.number > 1 ? "true" : "false");
}

// Lets the disk fail or be full, in some rounds. Returns whether it may.
bool let_disk_fail(Draws& draws, MemoryFiles& disk) {
  constexpr uint64_t kMostCalls = 80, kLeastBytes = 30'000, kMostBytes = 300'000;
  const uint64_t after = draws.below(kMostCalls);
  switch (draws.below(32)) {
    case 0:
      disk.limit(kLeastBytes + draws.below(kMostBytes));
      return true;
    case 1:
      disk.fail("", FileCall::kWrite, EIO, after);
      return true;
    case 2:
      disk.fail("", FileCall::kSync, EIO, after);
      return true;
    case 3:
      disk.fail("", FileCall::kOpen, ENOSPC, after);
      return true;
    case 4:
      disk.fail("checkpoint", FileCall::kWrite, ENOSPC, after % 4);
      return true;
    default:
      return false;
  }
}

// Lives a life, in this process, which ends with it.
void live(const Life& life) {
  LJ_ASSERT(life.number >= 1 && life.round.report != nullptr);
  set_flags(life);
  Draws draws(~life.seed);
  platform::Schedule schedule;
  schedule.seed = life.seed;
  schedule.most_crashes = life.number == 1 ? draws.one_of({1, 2, 8}) : 1;
  schedule.mean_crash_steps = draws.one_of({1'000, 10'000, 30'000});
  // A recovery reads all of its files: that is many steps, and few of them matter.
  schedule.from_start = life.number == 1 || draws.below(16) == 0;
  schedule.late_stores = draws.below(4) != 0;
  // With late stores an atomic variable has several values at once, and data races are not watched.
  schedule.watches_races = !schedule.late_stores;
  schedule.late_disk = draws.below(4) == 0;
  // A safety timeout is longer (LogConfig::safety_timeout_ns), and no other is.
  constexpr uint64_t kLongestTimeoutNs = 15'000'000;
  if (draws.below(2) == 0) schedule.longest_timeout_ns = kLongestTimeoutNs;
  schedule.judge = [&](uint32_t crash, bool in_a_file_call) {
    return judge(life, crash, in_a_file_call);
  };
  const Round& round = life.round;
  const bool first = life.number == 1;
  if (!round.weakened.empty()) {
    schedule.late_stores = false;
    schedule.watches_races = true;
    schedule.weakened = round.weakened;
    schedule.most_crashes = 0;
    schedule.mean_crash_steps = 0;
  }
  if (first) round.report->disk_fails = let_disk_fail(draws, life.disk);
  if (first) schedule.records = !round.record.empty();
  if (first && round.recorded.recorded) {
    schedule.recorded = true;
    schedule.turns = round.recorded.turns;
    schedule.crash = round.recorded.crash;
  }
  schedule.ended = [&round, first](const platform::Explored& explored) {
    RoundReport* report = round.report;
    report->steps += explored.steps;
    report->switches += explored.switches;
    report->crashes += explored.crashes;
    report->weakened += explored.weakened;
    if (first) report->hash = explored.hash;
    if (first) put_text(report->order, sizeof report->order, explored.order);
    if (!explored.what.empty()) put_text(report->what, sizeof report->what, explored.what);
    if (explored.judged != 0) report->judged = explored.judged;
    report->ended = true;
    const bool found = !explored.what.empty() || explored.judged != 0;
    if (first && found && !round.record.empty()) write_schedule(round.record, explored);
    if (found && !explored.turns_in_words.empty()) {
      std::printf("turns                 %s\n", explored.turns_in_words.c_str());
      std::fflush(stdout);
    }
    _exit(found ? platform::kExitViolation : 0);
  };
  platform::explore(schedule, [] { run_command(); });
  platform::fatal("the schedule has no end");
}

// Reads a whole file, of at most the bytes that a command writes. Refuses what is no file.
std::istringstream read_or_refuse(const std::string& what, const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  std::string text;
  if (const int error = platform::read_file(path, &text, kMostBytes); error != 0) {
    platform::refuse(what + " " + path + " cannot be read: " + platform::error_text(error));
  }
  return std::istringstream(std::move(text));
}

}  // namespace

void play_round(const Round& round) {
  dup2(round.output, STDOUT_FILENO);
  dup2(round.output, STDERR_FILENO);
  for (const auto& entry : std::filesystem::directory_iterator(round.directory)) {
    std::filesystem::remove(entry.path());
  }
  MemoryFiles disk;
  const platform::ReplaceFiles replace(disk);
  live({round, round.seed, 1, false, disk});
}

void read_schedule(const std::string& path, platform::Schedule* schedule) {
  schedule->recorded = true;
  std::istringstream file = read_or_refuse("the schedule", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "turn") {
      platform::Turn turn;
      words >> turn.thread >> turn.steps >> turn.waits >> turn.next >> turn.late >> turn.timers;
      schedule->turns.push_back(turn);
    } else if (kind == "crash") {
      platform::CrashPoint crash;
      words >> crash.thread >> crash.steps >> crash.in_a_file_call >> crash.before_step >>
          crash.number;
      schedule->crash = crash;
    } else {
      words.setstate(std::ios::failbit);
    }
    if (!words) platform::refuse("the schedule " + path + " has the line \"" + line + "\"");
  }
}

std::vector<uint64_t> read_addresses(const std::string& path) {
  std::istringstream file = read_or_refuse("the file", path);
  std::vector<uint64_t> addresses;
  for (uint64_t address = 0; file >> std::hex >> address;) addresses.push_back(address);
  if (!file.eof() || addresses.empty()) {
    platform::refuse("the file " + path + " has no addresses of atomic operations");
  }
  return addresses;
}

void claim_schedule(const std::string& path) {
  claim_replaced("record", path, "a schedule", {"turn ", "crash "});
}

void write_schedule(const std::string& path, const platform::Explored& explored) {
  std::ostringstream text;
  for (const platform::Turn& turn : explored.turns) {
    text << "turn " << turn.thread << ' ' << turn.steps << ' ' << turn.waits << ' ' << turn.next
         << ' ' << turn.late << ' ' << turn.timers << '\n';
  }
  if (explored.judged != 0) {
    const platform::CrashPoint& crash = explored.crash;
    text << "crash " << crash.thread << ' ' << crash.steps << ' ' << crash.in_a_file_call << ' '
         << crash.before_step << ' ' << crash.number << '\n';
  }
  platform::OutputFile(path).write(text.str());
}

}  // namespace logjam
