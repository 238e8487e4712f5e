#include "proof/rounds/crash_round.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <tuple>
#include <utility>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "proof/ledger/history.h"
#include "proof/rounds/child.h"
#include "tests/logging/usable_device.h"

namespace logjam {
namespace {

// Returns the schemes with log files, each with the record granularities that it supports. A scheme
// that logs commands supports only one record for each transaction.
std::vector<std::pair<std::string, std::string>> find_schemes_and_records() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const SchemeInfo& scheme : all_schemes()) {
    if (scheme.stream_count(1, LogConfig{}) == 0) continue;
    pairs.emplace_back(scheme.name, "txn");
    if (scheme.traits.commands) continue;
    for (const char* records : {"op", "txn,range", "op,range"}) {
      pairs.emplace_back(scheme.name, records);
    }
  }
  return pairs;
}
// Returns the same, found once: every process of the tests, also each child of a death test,
// derives some thousand rounds when it starts.
const std::vector<std::pair<std::string, std::string>>& schemes_and_records() {
  static const auto pairs = find_schemes_and_records();
  return pairs;
}

const std::vector<std::string> kCommits = {"sync", "pipelined", "async"};
constexpr uint32_t kMostDirectories = 3;

class RoundDraws {
 public:
  explicit RoundDraws(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class Choice>
  Choice one_of(std::initializer_list<Choice> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
};

void draw_commit_path(RoundDraws& random, LedgerFlags* flags) {
  flags->threads = 1 + static_cast<uint32_t>(random.below(4));
  flags->sockets = 2 + static_cast<uint32_t>(random.below(2));
  flags->pipeline_depth = random.one_of({1u, 16u, 1024u, 16384u});
  flags->locks = random.one_of({"early", "early", "write", "all"});
  flags->log_buffer_mb = random.one_of({1u, 1u, 4u});
  flags->flush_help = random.one_in(2);
  flags->io_depth = random.one_of({1u, 4u, 4u, 8u});
  flags->flush_gap_us = random.one_of({0u, 0u, 200u});
  flags->epoch_ms = random.one_of({1u, 5u});
  flags->pwal_ngroup = random.one_of({0u, 2u, 16u});
  flags->store_sdl = flags->scheme.starts_with("eleda") && random.one_in(2);
  switch (random.below(5)) {
    case 0:
      flags->flush_txns = 8, flags->flush_us = 500;
      break;
    case 1:
      flags->flush_bytes = 65536, flags->flush_us = 2000;
      break;
    case 2:
      flags->flush_us = 300;
      break;
    case 3:  // rare flushes leave much that is not yet durable
      flags->flush_us = 20000;
      break;
    default:
      break;  // flush whenever the device is idle
  }
}

void draw_transactions(RoundDraws& random, LedgerFlags* flags) {
  flags->keys = random.one_of({16, 200, 5000});
  flags->reads = random.below(5);
  flags->writes = random.one_of({1, 2, 4, flags->keys == 16 ? 8 : 40});
  flags->readers = static_cast<uint32_t>(random.below(std::min(flags->threads, 3u)));
  flags->theta = random.one_of({0.0, 0.9});
  flags->yield = random.one_of({0, 7});
  flags->dawdle = random.one_of({0, 100});
  // With few slots, transactions erase and insert a row at once; with many slots, its tuple is
  // reclaimed before the next insert.
  flags->slots = random.one_of({8, 64, 1000});
  flags->cells = flags->slots + 56;
}

// Draws the directories of the log, and a device.
void draw_devices(RoundDraws& random, const SchemeInfo& scheme, uint32_t streams,
                  CrashRound* round) {
  const bool in_place = scheme.traits.in_place;
  const char* slow = "faulty:sim:100:20";  // a write takes time in proportion to its size
  round->flags.device =
      usable_device(scheme, random.one_of({"sync", "file", "faulty:sync", "faulty:file", "sim:200",
                                           slow, "nvm", "nvm:2000", "faulty:nvm"}));
  round->directories = 1 + static_cast<uint32_t>(random.below(std::min(streams, kMostDirectories)));
  if (in_place || !random.one_in(3)) return;
  if (streams == 1) {  // stripes the stream over several directories
    round->directories = 2 + static_cast<uint32_t>(random.below(kMostDirectories - 1));
    round->flags.stripe_kb = random.one_of({4u, 64u, 512u});
    // Slow striped devices finish their writes in any order.
    if (random.one_in(2)) round->flags.device = slow;
  } else if (round->directories > 1) {
    round->flags.device = slow;  // the streams' ends lie far apart
  }
}

// Makes the process die at an early acknowledgement, which does harm if it is wrong. Slow devices
// and short transactions give many such moments.
void die_early(uint32_t streams, CrashRound* round) {
  round->directories = std::min(streams, kMostDirectories);
  round->kill_after_ms = 3000;
  LedgerFlags& flags = round->flags;
  flags.die_early = 1, flags.die_after = 0;
  flags.threads = 4, flags.readers = 0, flags.pipeline_depth = 1024;
  flags.locks = "early";
  flags.device = "faulty:sim:100:20";
  flags.flush_txns = 0, flags.flush_bytes = 0, flags.flush_us = 2000;
  flags.keys = 200, flags.slots = 8, flags.cells = 64;
  flags.writes = 1, flags.dawdle = 1000, flags.yield = 7;
}

}  // namespace

std::string CrashRound::name() const {
  std::string name =
      flags.scheme + "_" + flags.protocol + "_" + flags.commit + "_" + flags.log_records;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ','; }, '_');
  return name;
}

uint64_t crash_combinations() {
  return schemes_and_records().size() * all_protocols().size() * kCommits.size();
}

CrashRound derive_round(uint64_t seed) {
  CrashRound round;
  round.seed = seed;
  LedgerFlags& flags = round.flags;
  uint64_t combination = seed % crash_combinations();
  const auto take = [&combination](size_t choices) {
    const uint64_t choice = combination % choices;
    combination /= choices;
    return choice;
  };
  flags.seed = seed;
  flags.commit = kCommits[take(kCommits.size())];
  flags.protocol = all_protocols()[take(all_protocols().size())].name;
  const auto& pairs = schemes_and_records();
  std::tie(flags.scheme, flags.log_records) = pairs[take(pairs.size())];
  const SchemeInfo& scheme = *find_scheme(flags.scheme);

  RoundDraws random(seed * 0x9e3779b97f4a7c15 + 1);
  draw_commit_path(random, &flags);
  draw_transactions(random, &flags);
  // Schemes have a stream for each directory, socket, or worker. There are at most as many
  // directories as streams.
  LogConfig config;
  config.workers = flags.threads;
  config.sockets = flags.sockets;
  const uint32_t streams = scheme.stream_count(kMostDirectories, config);
  draw_devices(random, scheme, streams, &round);
  round.replay = scheme.traits.commands
                     ? "parallel"
                     : random.one_of({"parallel", "merge", "parallel,mb:1", "merge,mb:1"});

  round.kill_after_ms = static_cast<uint32_t>(50 + random.below(551));
  round.ends_by_itself = random.one_in(8);
  if (round.ends_by_itself) {
    // The run ends after some transactions: a loaded machine may give it no core for a given time.
    flags.transactions = 300;
  } else if (streams > 1 && !scheme.traits.in_place && random.one_in(3)) {
    die_early(streams, &round);
  } else if (random.one_in(2)) {
    // A kill from outside usually finds the workers waiting, above all on a loaded machine. A kill
    // from inside, right after an acknowledgement, finds work that is not yet durable.
    const uint64_t magnitude = uint64_t{1} << random.below(14);
    flags.die_after = magnitude + random.below(magnitude);
  }
  return round;
}

RoundSite::RoundSite(const std::string& binary, uint32_t count)
    : binary_(binary), history_(directory_.path_of("history")) {
  for (uint32_t i = 0; i < count; ++i) {
    directories_.push_back(directory_.path_of("log" + std::to_string(i)));
    std::filesystem::create_directory(directories_.back());
  }
}

std::vector<std::string> RoundSite::command(const char* name, bool reversed) const {
  std::vector<std::string> directories = directories_;
  if (reversed) std::ranges::reverse(directories);
  return {binary_, name, "--wal_dir=" + platform::join(directories, ",")};
}

std::vector<std::string> RoundSite::run_command(const LedgerFlags& flags, bool reversed) const {
  std::vector<std::string> run = command("run", reversed);
  run.push_back("--history=" + history_);
  const std::vector<std::string> given = flags.arguments();
  run.insert(run.end(), given.begin(), given.end());
  return run;
}

bool RoundSite::run(const std::vector<std::string>& command, uint64_t kill_after_ms, From from) {
  result_.commands += "  " + platform::join(command, " ") + "\n";
  const std::string output = directory_.path_of(command[1] + ".out");
  const std::string wrong = wait_and_kill(command, output, kill_after_ms, from);
  if (!wrong.empty()) result_.report = command[1] + " " + wrong + ":\n" + last_lines(output);
  return wrong.empty();
}

std::string RoundSite::wait_and_kill(const std::vector<std::string>& command,
                                     const std::string& output, uint64_t kill_after_ms, From from) {
  Child child(command, output);
  const uint64_t start = platform::now_ns();
  while (from == From::kFirstTransaction && !ledger::open_history(history_).started()) {
    if (child.ended(2)) break;
    if (platform::now_ns() - start > kPatienceMs * 1'000'000) return "never started";
  }
  const bool ended = child.ended(kill_after_ms == 0 ? kPatienceMs : kill_after_ms);
  if (!ended) {
    child.kill();
    if (kill_after_ms == 0) return "did not end";
  }
  ending_ = !child.was_killed() ? "ended by itself"
            : ended             ? "killed itself"
                                : "killed after " + std::to_string(kill_after_ms) + " ms";
  return child.was_killed() || child.exited_well() ? "" : "ended with " + child.how();
}

CrashResult RoundSite::result(bool passed, const std::string& what, const std::string& again) {
  const ledger::History recorded = ledger::open_history(history_);
  result_.recorded = recorded.transactions.size();
  for (const auto& transaction : recorded.transactions) {
    result_.acknowledged += transaction.acknowledged;
  }
  result_.passed = passed;
  if (passed) {
    result_.report = what + ", " + std::to_string(result_.recorded) + " committing, " +
                     std::to_string(result_.acknowledged) + " acknowledged, all proved";
  } else {
    directory_.keep();
    result_.report +=
        "\nkept: " + directory_.path() + "\nreplay: proof/crash_rounds.py --rounds=1 " + again;
  }
  return result_;
}

CrashResult play(const CrashRound& round, const std::string& binary) {
  RoundSite site(binary, round.directories);
  std::vector<std::string> recover = site.command("recover", true);
  recover.insert(recover.end(), {"--history=" + site.history(), "--verify", "--threads=2",
                                 "--replay=" + round.replay});
  bool passed =
      site.run(site.run_command(round.flags, false), round.ends_by_itself ? 0 : round.kill_after_ms,
               RoundSite::From::kFirstTransaction);
  const std::string ending = site.ending();
  passed = passed && site.run(recover, 0);
  return site.result(passed, ending, "--seed=" + std::to_string(round.seed));
}

}  // namespace logjam
