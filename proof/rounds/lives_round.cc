#include "proof/rounds/lives_round.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "logging/format/manifest_file.h"
#include "logging/scheme_registry.h"

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
  using From = RoundSite::From;
  RoundSite site(binary, round.directories);
  std::vector<std::string> recover = site.command("recover", true);
  recover.emplace_back("--threads=2");
  std::vector<std::string> prove = recover, checkpoint = recover;
  prove.push_back("--history=" + site.history());
  checkpoint.emplace_back("--checkpoint");
  bool passed = true;
  for (size_t i = 0; passed && i < round.lives.size(); ++i) {
    const Life& life = round.lives[i];
    std::vector<std::string> command = site.run_command(life.flags, i % 2 == 1);
    if (i > 0) command.emplace_back(life.overwrites ? "--overwrite" : "--continue");
    // The first life is killed when there is a log. Later ones are killed at any time.
    passed = site.run(command, life.kill_after_ms, i == 0 ? From::kFirstTransaction : From::kStart);
    passed = passed && site.run(prove, 0);
    if (passed && life.checkpoint_for_ms != 0) {
      passed = site.run(checkpoint, life.checkpoint_for_ms) && site.run(prove, 0);
    }
    if (passed && life.bad_checkpoint) {
      spoil_checkpoint(site.directories());
      passed = site.run(prove, 0);
    }
  }
  return site.result(passed, std::to_string(round.lives.size()) + " lives",
                     "--lives --seed=" + std::to_string(round.seed));
}

}  // namespace logjam
