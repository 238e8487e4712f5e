// `logjam explore` plays rounds. A round is a run on a disk in memory. A seed determines the order
// of all steps and the moments of the crashes. After each crash, the log is recovered and checked:
// the ledger by its checker, other workloads by Workload::verify() and the history of their writes.
#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/round_flags.h"
#include "logging/format/manifest_file.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/exploration.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/output_file.h"
#include "platform/placement.h"
#include "platform/random.h"
#include "proof/disk/memory_files.h"

namespace logjam {
namespace {

constexpr unsigned kMostSeconds = 300;  // of each round

struct ExploreOptions {
  uint64_t seed = 0, rounds = 0;             // the first seed, and the largest number of rounds
  WantedRound round;                         // the flags that all rounds have
  std::map<std::string, std::string> files;  // paths by key, such as `play`; empty: not given
  std::string given;  // the given flags, except --seed and --rounds; a space follows each flag
};

std::string given_or_every(const char* flag) {
  const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(flag);
  return info.is_default ? "every" : info.current_value;
}

// Returns the paths of files by key, from the words after the command, such as play=FILE.
std::map<std::string, std::string> files_of(const std::vector<std::string>& words) {
  std::map<std::string, std::string> files = {
      {"play", ""}, {"record", ""}, {"blocks", ""}, {"weaken", ""}};
  for (const std::string& word : words) {
    const size_t end = std::min(word.find('='), word.size());
    const auto file = files.find(word.substr(0, end));
    if (file == files.end() || end + 1 >= word.size()) {
      platform::refuse("\"" + word +
                       "\" names no file of the explorer; play=FILE, record=FILE, blocks=FILE and "
                       "weaken=FILE do");
    }
    file->second = word.substr(end + 1);
  }
  return files;
}

// Returns the options that the flags and the words after the command give.
ExploreOptions explore_options(const std::vector<std::string>& words) {
  ExploreOptions options = {.seed = FLAGS_seed,
                            .rounds = FLAGS_rounds,
                            .round = {},
                            .files = files_of(words),
                            .given = ""};
  options.round = {given_or_every("log"), given_or_every("cc"), FLAGS_workload};
  flags_of_round(options.seed, options.round);  // only so that it refuses bad schemes and protocols
  // Refuses bad flags of the workload. Reads the file of --trace, which the disk in memory lacks.
  refuse_if(workload_named(FLAGS_workload).check_flags());
  for (const gflags::CommandLineFlagInfo& flag : own_flags()) {
    if (flag.is_default || flag.name == "seed" || flag.name == "rounds") continue;
    options.given += "--" + flag.name + "=" + value_of(flag) + " ";
  }
  return options;
}

// A round's report, in memory that the round shares with the process that started the round.
struct RoundReport {
  uint64_t steps, switches, crashes, hash, weakened;
  bool ended;        // the round has written all members of this report
  bool disk_fails;   // the disk fails, so the run may end with an error message
  int judged;        // the exit status of the first recovery that failed; 0: none
  char order[64];    // the description of the order of the steps
  char what[16384];  // the error of the run itself, not of a recovery; empty: none
};

// Plays the rounds of this process. Between two rounds a Campaign neither allocates nor frees
// memory of the simulated machine, so the addresses in a round do not depend on earlier rounds.
class Campaign {
 public:
  explicit Campaign(ExploreOptions given);
  ~Campaign();
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  // Plays the round of the seed `seed`. Returns whether the round found no error.
  bool play(uint64_t seed);
  void print_sum() const;

  RoundFlags flags_of(uint64_t seed) const { return flags_of_round(seed, options.round); }

  const ExploreOptions options;
  platform::Schedule recorded;     // from play=FILE
  std::vector<uint64_t> weakened;  // see Schedule::weakened; if not empty, nothing crashes
  std::string directory;           // on a real file system, for the files of --history
  int output;                      // an open file for the run's output; a recovery empties the file
  RoundReport* report;

 private:
  void print_found(uint64_t seed, int status) const;

  std::string again_;  // the flags and words with which a user can play a found round again
  uint64_t rounds_ = 0, steps_ = 0, switches_ = 0, crashes_ = 0, hash_ = 0;
  uint64_t weakened_operations_ = 0;
  timespec began_{};
};

// The part of a round from its begin (with a new log) or from a crash until the next crash.
struct Life {
  const Campaign& of;
  uint64_t seed;
  uint32_t number;    // from 1
  bool had_commands;  // an earlier life logged commands
  MemoryFiles& disk;

  // Returns the path of the life's histories. Each life has its own path, because a recovery may
  // rename the files while older lives run.
  std::string history() const { return of.directory + "/history-" + std::to_string(number); }
};

[[noreturn]] void live(const Life& life);

// Copies a file. Holes of the file stay holes in the copy.
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

// Copies the histories of a life and of the lives before it, for the next life.
void copy_history(const Life& from, const Life& to) {
  const auto histories = [&](const Life& life) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(from.of.directory)) {
      if (entry.path().native().starts_with(life.history())) paths.push_back(entry.path());
    }
    return paths;
  };
  std::error_code none;
  for (const std::string& old : histories(to)) std::filesystem::remove(old, none);
  for (const std::string& path : histories(from)) {
    copy_data(path, to.history() + path.substr(from.history().size()));
  }
}

void set_flag(const std::string& name, const std::string& value) {
  if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
    platform::fatal("--" + name + "=" + value + " is refused");
  }
}

std::string value_of_flag(const char* name) {
  return gflags::GetCommandLineFlagInfoOrDie(name).current_value;
}

void empty_output(const Campaign& of) {
  if (ftruncate(of.output, 0) != 0) platform::fatal("the output of a round cannot be kept");
}

// Writes randomly chosen cache lines of non-volatile memory to `after`, the disk after a crash. The
// program had not written these lines back, but a cache may evict a line at any time.
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

// Runs `body`, which is the work of a forked process. An error ends the process here, because the
// child must not unwind its parent's stack.
template <class Body>
auto in_child(const Body& body) {
  try {
    return body();
  } catch (const platform::CommandError& error) {
    platform::fatal(error.what(), error.exit_code());
  }
}

// Recovers one of the disk's possible states after a crash at this moment, and checks the recovered
// database. After some crashes, plays another life of the log. Returns the exit status.
int judge(const Life& life, uint32_t crash, bool in_a_file_call) {
  constexpr size_t kMostStates = 4;
  constexpr uint32_t kMostLives = 3;
  Draws draws(life.seed * platform::kGoldenRatio + crash);
  // If the crash is in a call on a file, any number of the steps of this call may have happened.
  const size_t steps = life.disk.steps();
  const size_t begun = in_a_file_call ? life.disk.steps_before_call() : steps;
  size_t step = begun + draws.below(steps - begun + 1);
  // A write that is durable when it returns has two steps. Only a crash between the two steps can
  // tear the write, so such a crash is the most frequent one here.
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
  const bool commands = life.had_commands || find_scheme(value_of_flag("log"))->traits.commands;
  Life next = {life.of, draws.below(~uint64_t{0}), life.number + 1, commands, after};
  copy_history(life, next);
  empty_output(life.of);
  std::printf("crash                  of life %u after %s: %s\n", life.number,
              step == 0 ? "nothing" : life.disk.step(step - 1).c_str(), state.what.c_str());
  set_flag("history", next.history());
  set_flag("verify", "true");
  set_flag("replay", draws.below(8) == 0 && !commands ? "merge" : "");
  const std::string checkpoint = value_of_flag("checkpoint");
  set_flag("checkpoint", "");
  set_flag("continue", "false");
  const int status = recover_command();
  std::fflush(stdout);
  if (status != 0 || life.number == kMostLives || draws.below(6) != 0) return status;
  set_flag("checkpoint", checkpoint);
  live(next);
}

void set_flags(const Life& life) {
  const bool later = life.number > 1;
  if (later) std::printf("flags of life %u       ", life.number);
  for (auto [name, value] : life.of.flags_of(life.seed)) {
    if (later && stays_in_later_lives(name)) continue;
    // Each life executes the commands of the lives before it again.
    const bool executes = name == "cc" && life.had_commands;
    if (executes && !find_protocol(value)->serial_in_commit_order) value = "occ";
    set_flag(name, value);
    if (later && !value.empty()) std::printf(" --%s=%s", name.c_str(), value.c_str());
  }
  if (later) std::printf("\n");
  set_flag("history", life.history());
  set_flag("continue", later ? "true" : "false");
}

// Makes the disk fail or become full in some rounds. Returns whether the disk may do so.
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

// Writes the schedule into the file `path`. Ends the process with an error message if this fails.
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

// Adds the results of a life to the report of its round, and ends the process.
[[noreturn]] void end_life(const Life& life, const platform::Explored& explored) {
  const auto put = [](auto& to, const std::string& text) {
    std::strncpy(to, text.c_str(), sizeof to - 1);
  };
  RoundReport& report = *life.of.report;
  const std::string& record = life.of.options.files.at("record");
  const bool first = life.number == 1;
  report.steps += explored.steps;
  report.switches += explored.switches;
  report.crashes += explored.crashes;
  report.weakened += explored.weakened;
  if (first) report.hash = explored.hash;
  if (first) put(report.order, explored.order);
  if (!explored.what.empty()) put(report.what, explored.what);
  if (explored.judged != 0) report.judged = explored.judged;
  report.ended = true;
  const bool found = !explored.what.empty() || explored.judged != 0;
  if (first && found && !record.empty()) write_schedule(record, explored);
  if (found && !explored.turns_in_words.empty()) {
    std::printf("turns                 %s\n", explored.turns_in_words.c_str());
    std::fflush(stdout);
  }
  _exit(found ? platform::kExitViolation : 0);
}

void live(const Life& life) {
  LJ_ASSERT(life.number >= 1);
  set_flags(life);
  const bool first = life.number == 1;
  Draws draws(~life.seed);
  platform::Schedule schedule;
  schedule.seed = life.seed;
  schedule.most_crashes = first ? draws.one_of({1, 2, 8}) : 1;
  schedule.mean_crash_steps = draws.one_of({1'000, 10'000, 30'000});
  // Recoveries take many steps, most of which only read files. So few rounds explore recoveries.
  schedule.from_start = first || draws.below(16) == 0;
  schedule.late_stores = draws.below(4) != 0;
  // With late stores, threads may see different values of a variable, so data races cannot be
  // detected. So watches for races only if no store is late.
  schedule.watches_races = !schedule.late_stores;
  schedule.late_disk = draws.below(4) == 0;
  // Of the timeouts in a round, only LogConfig::safety_timeout_ns is longer than this number.
  constexpr uint64_t kLongestTimeoutNs = 15'000'000;
  if (draws.below(2) == 0) schedule.longest_timeout_ns = kLongestTimeoutNs;
  schedule.judge = [&](uint32_t crash, bool in_a_file_call) {
    return in_child([&] { return judge(life, crash, in_a_file_call); });
  };
  if (!life.of.weakened.empty()) {
    schedule.late_stores = false;
    schedule.watches_races = true;
    schedule.weakened = life.of.weakened;
    schedule.most_crashes = 0;
    schedule.mean_crash_steps = 0;
  }
  if (first) {
    life.of.report->disk_fails = let_disk_fail(draws, life.disk);
    schedule.records = !life.of.options.files.at("record").empty();
    schedule.recorded = life.of.recorded.recorded;
    schedule.turns = life.of.recorded.turns;
    schedule.crash = life.of.recorded.crash;
  }
  schedule.ended = [&](const platform::Explored& explored) { end_life(life, explored); };
  platform::explore(schedule, [] { run_command(); });
  platform::fatal("the schedule has no end");
}

// Returns a file's content. Refuses a file that cannot be read, or is larger than any output.
std::istringstream read_or_refuse(const std::string& what, const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  std::string text;
  if (const int error = platform::read_file(path, &text, kMostBytes); error != 0) {
    platform::refuse(what + " " + path + " cannot be read: " + platform::error_text(error));
  }
  return std::istringstream(std::move(text));
}

// Returns the schedule's turns and crash from the file. Refuses a file that is no schedule.
platform::Schedule read_schedule(const std::string& path) {
  platform::Schedule schedule;
  schedule.recorded = true;
  std::istringstream file = read_or_refuse("the schedule", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "turn") {
      platform::Turn& turn = schedule.turns.emplace_back();
      words >> turn.thread >> turn.steps >> turn.waits >> turn.next >> turn.late >> turn.timers;
    } else if (kind == "crash") {
      platform::CrashPoint& crash = schedule.crash.emplace();
      words >> crash.thread >> crash.steps >> crash.in_a_file_call >> crash.before_step >>
          crash.number;
    } else {
      words.setstate(std::ios::failbit);
    }
    if (!words) platform::refuse("the schedule " + path + " has the line \"" + line + "\"");
  }
  return schedule;
}

// Returns the addresses in a file with a hexadecimal number in each line. Refuses other files.
std::vector<uint64_t> read_addresses(const std::string& path) {
  std::istringstream file = read_or_refuse("the file", path);
  std::vector<uint64_t> addresses;
  for (uint64_t address = 0; file >> std::hex >> address;) addresses.push_back(address);
  if (!file.eof() || addresses.empty()) {
    platform::refuse("the file " + path + " has no addresses of atomic operations");
  }
  return addresses;
}

Campaign::Campaign(ExploreOptions given) : options(std::move(given)), again_(options.given) {
  if (const std::string& file = options.files.at("play"); !file.empty()) {
    recorded = read_schedule(file);
    again_ += "play=" + file + " ";
  }
  if (const std::string& file = options.files.at("weaken"); !file.empty()) {
    weakened = read_addresses(file);
    again_ += "weaken=" + file + " ";
  }
  if (const std::string& file = options.files.at("record"); !file.empty()) {
    claim_replaced("record", file, "a schedule", {"turn ", "crash "});
  }
  if (const std::string& file = options.files.at("blocks"); !file.empty())
    claim_file("blocks", file);
  char made[] = "/dev/shm/logjam-explore-XXXXXX";
  if (mkdtemp(made) == nullptr) platform::fatal("/dev/shm has no room for a directory");
  directory = made;
  output = memfd_create("logjam-explore", MFD_CLOEXEC);
  void* shared =
      mmap(nullptr, sizeof(RoundReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // Several processes append to the file, and each round empties it. So each write goes to the
  // file's end at that moment.
  if (output >= 0) fcntl(output, F_SETFL, O_APPEND);
  if (output < 0 || shared == MAP_FAILED) platform::fatal("the explorer has no shared memory");
  report = static_cast<RoundReport*>(shared);
  clock_gettime(CLOCK_MONOTONIC, &began_);
  platform::begin_coverage(options.files.at("blocks"));
}

Campaign::~Campaign() {
  std::error_code none;
  std::filesystem::remove_all(directory, none);
}

// Plays a round in this process, and ends the process.
[[noreturn]] void play_round(const Campaign& of, uint64_t seed) {
  dup2(of.output, STDOUT_FILENO);
  dup2(of.output, STDERR_FILENO);
  for (const auto& entry : std::filesystem::directory_iterator(of.directory)) {
    std::filesystem::remove(entry.path());
  }
  MemoryFiles disk;
  const platform::ReplaceFiles replace(disk);
  live({of, seed, 1, false, disk});
}

bool Campaign::play(uint64_t seed) {
  *report = {};
  empty_output(*this);
  const pid_t child = fork();
  if (child < 0) platform::fatal("the explorer cannot fork a round");
  if (child == 0) {
    alarm(kMostSeconds);
    in_child([&] { play_round(*this, seed); });
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  ++rounds_;
  steps_ += report->steps;
  switches_ += report->switches;
  crashes_ += report->crashes;
  weakened_operations_ += report->weakened;
  hash_ = platform::mix_bits(hash_ ^ report->hash);
  if (status == 0 && report->ended) return true;
  const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const bool refused =
      exit_status == platform::kExitFailed || exit_status == platform::kExitBadInput;
  if (refused && report->disk_fails && report->judged == 0) return true;
  print_found(seed, status);
  return false;
}

void Campaign::print_found(uint64_t seed, int status) const {
  std::printf("seed                   %" PRIu64 ": ", seed);
  if (WIFSIGNALED(status)) {
    std::printf("the run was ended by signal %d\n", WTERMSIG(status));
  } else if (report->what[0] != 0) {
    std::printf("%s\n", report->what);
  } else if (report->judged != 0) {
    std::printf("what a crash left fails a check\n");
  } else {
    std::printf("the run ended with status %d\n", WEXITSTATUS(status));
  }
  std::printf("schedule               %s; %" PRIu64 " steps, %" PRIu64 " crashes, hash %016" PRIx64
              "\nflags                 ",
              report->order, report->steps, report->crashes, report->hash);
  for (const auto& [name, value] : flags_of(seed)) {
    if (!value.empty()) std::printf(" --%s=%s", name.c_str(), value.c_str());
  }
  std::printf("\nagain                  logjam explore %s--seed=%" PRIu64 " --rounds=1\n",
              again_.c_str(), seed);
  char text[1 << 14];
  const ssize_t bytes = pread(output, text, sizeof text, 0);
  if (bytes > 0) std::fwrite(text, 1, static_cast<size_t>(bytes), stdout);
  std::fflush(stdout);
}

void Campaign::print_sum() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = static_cast<double>(now.tv_sec - began_.tv_sec) +
                         static_cast<double>(now.tv_nsec - began_.tv_nsec) * 1e-9;
  std::printf("explored               %" PRIu64 " schedules, %" PRIu64
              " crashes, %.3g steps, %.3g switches, %" PRIu64 " blocks; hash %016" PRIx64
              "; %.1f s, %.1f schedules/s\n",
              rounds_, crashes_, static_cast<double>(steps_), static_cast<double>(switches_),
              platform::blocks_covered(), hash_, seconds, static_cast<double>(rounds_) / seconds);
  if (weakened.empty()) return;
  std::printf("weakened               %" PRIu64 " atomic operations counted as relaxed\n",
              weakened_operations_);
}

}  // namespace

int explore_command(const std::vector<std::string>& words) {
  if (!platform::explores()) {
    platform::refuse("explore needs the simulated build: make sim; build-sim/logjam explore");
  }
  platform::placement();
  Campaign campaign(explore_options(words));
  bool good = true;
  for (uint64_t round = 0; round < campaign.options.rounds && good; ++round) {
    good = campaign.play(campaign.options.seed + round);
  }
  campaign.print_sum();
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
