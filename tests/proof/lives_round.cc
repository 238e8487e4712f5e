#include "tests/proof/lives_round.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "logging/format/manifest_file.h"
#include "logging/scheme_registry.h"
#include "platform/text.h"
#include "proof/ledger/history.h"
#include "tests/proof/child.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr uint32_t kMost = 3;

// Returns how many directories the log of a life can have.
uint32_t most_directories(const LedgerFlags& flags) {
  const SchemeInfo& scheme = *find_scheme(flags.scheme);
  LogConfig config;
  config.workers = flags.threads;
  config.sockets = flags.sockets;
  const uint32_t streams = scheme.stream_count(kMost, config);
  if (streams == 1 && !scheme.traits.in_place) return kMost;  // striped
  return std::min(streams, kMost);
}

Life derive_life(uint64_t seed, std::mt19937_64& random) {
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  const CrashRound round = derive_round(seed);
  Life life{.flags = round.flags};
  if (!round.ends_by_itself) {
    life.kill_after_ms = static_cast<uint32_t>(below(4) == 0 ? 1 + below(100) : 50 + below(800));
  }
  LedgerFlags& flags = life.flags;
  flags.die_early = 0;  // that needs a round of its own
  flags.history_mb = 64;
  // Few keys may be fewer than a transfer of this life wants.
  flags.reads = 2, flags.writes = 4;
  flags.sockets = 2;
  if (!find_scheme(flags.scheme)->traits.commands && below(8) != 0) {
    const uint64_t often = below(3);
    if (often == 0) flags.checkpoint_mb = 1;
    if (often == 1) flags.checkpoint_s = 0.02;
    if (often == 2) flags.checkpoint_s = 0.1;
    if (below(3) == 0) flags.checkpoint_mb_s = 2;
  }
  if (below(4) == 0) life.checkpoint_for_ms = static_cast<uint32_t>(1 + below(400));
  life.overwrites = below(6) == 0;
  life.bad_checkpoint = below(4) == 0;
  return life;
}

// Runs the command and kills it after `kill_after_ms`; 0: it ends by itself. If `history` is not
// empty, the time begins when transactions run. Returns what went wrong, or an empty string.
std::string run_child(const std::vector<std::string>& command, const std::string& output,
                      uint64_t kill_after_ms, const std::string& history) {
  Child child(command, output);
  for (uint64_t ms = 0; !history.empty() && !ledger::open_history(history).started(); ms += 2) {
    if (child.ended(2)) break;
    if (ms > kPatienceMs) return "never started";
  }
  if (!child.ended(kill_after_ms == 0 ? kPatienceMs : kill_after_ms)) {
    child.kill();
    if (kill_after_ms == 0) return "did not end";
  }
  return child.was_killed() || child.exited_well() ? "" : "ended with " + child.how();
}

// Changes a byte of the latest checkpoint, unless it is the only one that is complete.
void spoil_checkpoint(const std::vector<std::string>& directories) {
  const FoundManifest found = find_manifest(directories);
  std::vector<Checkpoint> complete = found.manifest.checkpoints;
  std::erase_if(complete, [](const Checkpoint& one) { return !one.complete; });
  if (complete.size() < 2) return;
  std::string missing;
  const std::string path = paths_of(found.directories, complete.back(), &missing)[0];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(20);
  const char was = static_cast<char>(file.get());
  file.seekp(20).put(static_cast<char>(~was));
}

}  // namespace

std::string LivesRound::name() const { return derive_round(seed).name(); }

LivesRound derive_lives(uint64_t seed) {
  LivesRound round;
  round.seed = seed;
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + 17);
  const auto lives = kLeastLives + static_cast<uint32_t>(random() % (kMostLives - kLeastLives + 1));
  for (uint32_t i = 0; i < lives; ++i) {
    round.lives.push_back(derive_life(i == 0 ? seed : random() % (uint64_t{1} << 32), random));
  }
  uint32_t most = kMost;
  for (Life& life : round.lives) {
    life.flags.take_tables_of(round.lives[0].flags);
    most = std::min(most, most_directories(life.flags));
  }
  round.directories = 1 + static_cast<uint32_t>(random() % most);
  return round;
}

CrashResult play(const LivesRound& round, const std::string& binary) {
  TemporaryDirectory directory;
  const std::string history = directory.path_of("history"), output = directory.path_of("out");
  std::string log, reversed;
  std::vector<std::string> directories;
  for (uint32_t i = 0; i < round.directories; ++i) {
    const std::string one = directory.path_of("log" + std::to_string(i));
    std::filesystem::create_directories(one);
    directories.push_back(one);
    log += (i == 0 ? "" : ",") + one;
    reversed = one + (i == 0 ? "" : ",") + reversed;
  }
  CrashResult result;
  const auto run = [&](const std::vector<std::string>& command, uint64_t kill_after_ms,
                       const std::string& begins = "") {
    result.commands += "  " + platform::join(command, " ") + "\n";
    const std::string wrong = run_child(command, output, kill_after_ms, begins);
    if (!wrong.empty()) result.report = command[1] + " " + wrong + ":\n" + last_lines(output);
    return wrong.empty();
  };
  const std::vector<std::string> recover = {binary, "recover", "--wal_dir=" + reversed,
                                            "--threads=2"};
  bool good = true;
  for (const Life& life : round.lives) {
    const bool odd = (&life - round.lives.data()) % 2 == 1;
    std::vector<std::string> command = {binary, "run", "--wal_dir=" + (odd ? reversed : log),
                                        "--history=" + history};
    const std::vector<std::string> flags = life.flags.arguments();
    command.insert(command.end(), flags.begin(), flags.end());
    // The first life is killed when there is a log. Later ones are killed at any time.
    const bool first = &life == &round.lives.front();
    if (!first) command.emplace_back(life.overwrites ? "--overwrite" : "--continue");
    good = run(command, life.kill_after_ms, first ? history : "");
    if (!good) break;
    std::vector<std::string> prove = recover;
    prove.push_back("--history=" + history);
    good = run(prove, 0);
    if (good && life.checkpoint_for_ms != 0) {
      std::vector<std::string> checkpoint = recover;
      checkpoint.emplace_back("--checkpoint");
      good = run(checkpoint, life.checkpoint_for_ms) && run(prove, 0);
    }
    if (good && life.bad_checkpoint) {
      spoil_checkpoint(directories);
      good = run(prove, 0);
    }
    if (!good) break;
  }
  const ledger::History recorded = ledger::open_history(history);
  result.recorded = recorded.transactions.size();
  for (const auto& transaction : recorded.transactions) {
    result.acknowledged += transaction.acknowledged;
  }
  result.passed = good;
  if (good) {
    result.report = std::to_string(round.lives.size()) + " lives, " +
                    std::to_string(result.recorded) + " committing, " +
                    std::to_string(result.acknowledged) + " acknowledged, all proved";
  } else {
    directory.keep();
    result.report +=
        "\nkept: " + directory.path() +
        "\nreplay: proof/crash_rounds.py --lives --rounds=1 --seed=" + std::to_string(round.seed);
  }
  return result;
}

}  // namespace logjam
