// logjam explore: rounds in which a seed draws the order of all steps, and where the process
// crashes.
#include "cli/explore.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "platform/exploration.h"
#include "platform/fatal.h"
#include "platform/placement.h"
#include "platform/random.h"

DECLARE_uint64(rounds);
DECLARE_uint64(seed);

namespace logjam {
namespace {

constexpr unsigned kMostSeconds = 300;  // of a round

struct ExploreOptions {
  uint64_t seed = 0, rounds = 0;
  std::string scheme, protocol;              // "every" if the flag was not given
  std::map<std::string, std::string> files;  // by the words after the command
};

// Returns the flag's value; "every" if it was not given.
std::string given_or_every(const char* flag) {
  const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(flag);
  return info.is_default ? "every" : info.current_value;
}

// Returns the files that the words after the command name.
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

// Returns the flags that were given, without --seed and --rounds, each with a space after it.
std::string flags_for_again() {
  std::string text;
  for (const gflags::CommandLineFlagInfo& flag : own_flags()) {
    if (flag.is_default || flag.name == "seed" || flag.name == "rounds") continue;
    text += "--" + flag.name + "=" + value_of(flag) + " ";
  }
  return text;
}

// The rounds of this process. Between two rounds a Campaign takes and frees no memory of the
// simulated machine: each round finds the same addresses, whatever rounds came before.
class Campaign {
 public:
  explicit Campaign(const ExploreOptions& options);
  ~Campaign();
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  // Plays the round of a seed. Returns whether nothing was found.
  bool play(uint64_t seed);
  void print_sum() const;

 private:
  void print_found(uint64_t seed, int status) const;

  const ExploreOptions options_;
  std::string again_ = flags_for_again();
  platform::Schedule recorded_;  // of the file that is played
  std::vector<uint64_t> weakened_;
  std::string directory_;
  int output_;
  RoundReport* report_;
  uint64_t rounds_ = 0, steps_ = 0, switches_ = 0, crashes_ = 0, hash_ = 0;
  uint64_t weakened_operations_ = 0;
  timespec began_{};
};

Campaign::Campaign(const ExploreOptions& options) : options_(options) {
  if (const std::string& file = options_.files.at("play"); !file.empty()) {
    read_schedule(file, &recorded_);
    again_ += "play=" + file + " ";
  }
  if (const std::string& file = options_.files.at("weaken"); !file.empty()) {
    weakened_ = read_addresses(file);
    again_ += "weaken=" + file + " ";
  }
  if (const std::string& file = options_.files.at("record"); !file.empty()) claim_schedule(file);
  if (const std::string& file = options_.files.at("blocks"); !file.empty())
    claim_file("blocks", file);
  char directory[] = "/dev/shm/logjam-explore-XXXXXX";
  if (mkdtemp(directory) == nullptr) platform::fatal("/dev/shm has no room for a directory");
  directory_ = directory;
  output_ = memfd_create("logjam-explore", MFD_CLOEXEC);
  void* shared =
      mmap(nullptr, sizeof(RoundReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // Several processes write to its end, and each round empties it.
  if (output_ >= 0) fcntl(output_, F_SETFL, O_APPEND);
  if (output_ < 0 || shared == MAP_FAILED) platform::fatal("the explorer has no shared memory");
  report_ = static_cast<RoundReport*>(shared);
  clock_gettime(CLOCK_MONOTONIC, &began_);
  platform::begin_coverage(options_.files.at("blocks"));
}

Campaign::~Campaign() {
  std::error_code none;
  std::filesystem::remove_all(directory_, none);
}

bool Campaign::play(uint64_t seed) {
  *report_ = {};
  if (ftruncate(output_, 0) != 0) platform::fatal("the output of a round cannot be kept");
  const pid_t child = fork();
  if (child < 0) platform::fatal("the explorer cannot fork a round");
  if (child == 0) {
    alarm(kMostSeconds);
    play_round({seed, options_.scheme, options_.protocol, directory_, output_, report_, recorded_,
                weakened_, options_.files.at("record")});
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  ++rounds_;
  steps_ += report_->steps;
  switches_ += report_->switches;
  crashes_ += report_->crashes;
  weakened_operations_ += report_->weakened;
  hash_ = platform::mix_bits(hash_ ^ report_->hash);
  if (status == 0 && report_->ended) return true;
  const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const bool refused =
      exit_status == platform::kExitFailed || exit_status == platform::kExitBadInput;
  if (refused && report_->disk_fails && report_->judged == 0) return true;
  print_found(seed, status);
  return false;
}

void Campaign::print_found(uint64_t seed, int status) const {
  std::printf("seed                   %" PRIu64 ": ", seed);
  if (WIFSIGNALED(status)) {
    std::printf("the run was ended by signal %d\n", WTERMSIG(status));
  } else if (report_->what[0] != 0) {
    std::printf("%s\n", report_->what);
  } else if (report_->judged != 0) {
    std::printf("what a crash left fails a check\n");
  } else {
    std::printf("the run ended with status %d\n", WEXITSTATUS(status));
  }
  std::printf("schedule               %s; %" PRIu64 " steps, %" PRIu64 " crashes, hash %016" PRIx64
              "\n",
              report_->order, report_->steps, report_->crashes, report_->hash);
  std::string flags;
  for (const auto& [name, value] : flags_of_round(seed, options_.scheme, options_.protocol)) {
    if (!value.empty()) flags += " --" + name + "=" + value;
  }
  std::printf("flags                 %s\n", flags.c_str());
  std::printf("again                  logjam explore %s--seed=%" PRIu64 " --rounds=1\n",
              again_.c_str(), seed);
  char text[1 << 14];
  const ssize_t bytes = pread(output_, text, sizeof text, 0);
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
  if (weakened_.empty()) return;
  std::printf("weakened               %" PRIu64 " atomic operations counted as relaxed\n",
              weakened_operations_);
}

}  // namespace

int explore_command(const std::vector<std::string>& words) {
  if (!platform::explores()) {
    platform::refuse("explore needs the simulated build: make sim; build-sim/logjam explore");
  }
  platform::placement();
  const ExploreOptions options = {.seed = FLAGS_seed,
                                  .rounds = FLAGS_rounds,
                                  .scheme = given_or_every("log"),
                                  .protocol = given_or_every("cc"),
                                  .files = files_of(words)};
  flags_of_round(options.seed, options.scheme, options.protocol);  // refuses what it must
  Campaign campaign(options);
  bool good = true;
  for (uint64_t round = 0; round < options.rounds && good; ++round) {
    good = campaign.play(options.seed + round);
  }
  campaign.print_sum();
  return good ? 0 : platform::kExitViolation;
}

}  // namespace logjam
