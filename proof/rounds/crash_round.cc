#include "proof/rounds/crash_round.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <random>
#include <sstream>
#include <tuple>
#include <utility>

#include "engine/protocol.h"
#include "logging/format/manifest_file.h"
#include "logging/scheme_registry.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "proof/ledger/history.h"
#include "proof/rounds/child.h"
#include "tests/logging/usable_device.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// A scheme with log files, a record granularity and a protocol that it supports.
struct Combination {
  std::string scheme, records, protocol;
};

// Returns all combinations. A scheme that logs commands has one record for each transaction, and
// needs a protocol whose commits are in a serial order.
const std::vector<Combination>& combinations() {
  // Computed once, because each process of the tests calls the function some thousand times.
  static const auto all = [] {
    std::vector<Combination> found;
    for (const SchemeInfo& scheme : all_schemes()) {
      if (scheme.stream_count(1, LogConfig{}) == 0) continue;
      for (const char* records : {"txn", "op", "txn,range", "op,range"}) {
        for (const ProtocolInfo& protocol : all_protocols()) {
          if (scheme.traits.commands &&
              (records != std::string_view("txn") || !protocol.serial_in_commit_order))
            continue;
          found.push_back({std::string(scheme.name), records, std::string(protocol.name)});
        }
      }
    }
    return found;
  }();
  return all;
}

const std::vector<std::string> kCommits = {"sync", "pipelined", "async"};
constexpr uint32_t kMostDirectories = 3;

// Returns how many streams the log has. A scheme has a stream for each directory, each socket, or
// each worker. There are at most as many directories as streams.
uint32_t most_streams(const SchemeInfo& scheme, const LedgerFlags& flags) {
  LogConfig config;
  config.workers = flags.threads;
  config.sockets = flags.sockets;
  return scheme.stream_count(kMostDirectories, config);
}

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
  flags->epoch_ms = random.one_of({1.0, 0.05});
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
    case 3:  // rare flushes leave many records that are not durable yet
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
  // With few slots, transactions often erase and insert the same row right after each other. With
  // many slots, a slot's tuple is reclaimed before the next insert into it.
  flags->slots = random.one_of({8, 64, 1000});
  flags->cells = flags->slots + 56;
}

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

// Makes the process die at an early acknowledgement (CrashPoint). If the acknowledgement is wrong,
// a transaction is lost. Slow devices and short transactions give many early acknowledgements.
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

std::vector<std::string> LedgerFlags::arguments() const {
  std::vector<std::string> all;
  const auto give = [&all](const char* name, const auto& value) {
    std::ostringstream flag;
    flag << std::boolalpha << "--" << name << '=' << value;
    all.push_back(flag.str());
  };
  const auto give_unless_0 = [&give](const char* name, auto value) {
    if (value != 0) give(name, value);
  };
  const auto give_list = [&give](const char* name,
                                 std::initializer_list<std::pair<const char*, double>> keys) {
    std::ostringstream list;
    for (const auto& [key, value] : keys) {
      if (value != 0) list << (list.tellp() == 0 ? "" : ",") << key << ':' << value;
    }
    if (list.tellp() != 0) give(name, list.str());
  };
  give("workload", "ledger");
  give("log", scheme);
  give("cc", protocol);
  give("commit", commit);
  give("log_records", log_records);
  give("device", device);
  if (device_traits(device).has_sync_methods) give("sync", sync);
  give("seed", seed);
  give("seconds", 20);
  give_unless_0("transactions", transactions);
  if (transactions == 0) give("warmup", 0);
  give("threads", threads);
  give("sockets", sockets);
  give("pipeline_depth", pipeline_depth);
  give("locks", locks);
  if (!log_parts.empty()) give("log_parts", log_parts);
  if (!snapshot.empty()) give("snapshot", snapshot);
  give("log_buffer_mb", log_buffer_mb);
  give("log_prealloc_mb", 1);  // segments of 1 MiB, the next one made while the log is written
  give_unless_0("stripe_kb", stripe_kb);
  give("io_depth", io_depth);
  give("flush_help", flush_help);
  give_list("flush", {{"txns", flush_txns}, {"bytes", flush_bytes}, {"us", flush_us}});
  give("flush_gap_us", flush_gap_us);
  give("silo_epoch_ms", epoch_ms);
  give("pwal_ngroup", pwal_ngroup);
  give("eleda_store_sdl", store_sdl);
  give_list("checkpoint", {{"s", checkpoint_s}, {"mb", checkpoint_mb}, {"mb_s", checkpoint_mb_s}});
  std::ostringstream ledger;
  ledger << "keys:" << keys << ",cells:" << cells << ",slots:" << slots << ",reads:" << reads
         << ",writes:" << writes << ",theta:" << theta;
  give("ledger", ledger.str());
  give_list("test", {{"ledger_readers", readers},
                     {"ledger_yield", yield},
                     {"ledger_dawdle", dawdle},
                     {"ledger_die_after", die_after},
                     {"ledger_die_early", die_early},
                     {"no_io_uring", no_io_uring ? 1 : 0}});
  give("history_mb", history_mb);
  return all;
}

std::string CrashRound::name() const {
  std::string name =
      flags.scheme + "_" + flags.protocol + "_" + flags.commit + "_" + flags.log_records;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ','; }, '_');
  return name;
}

uint64_t crash_combinations() { return combinations().size() * kCommits.size(); }

CrashRound derive_round(uint64_t seed) {
  CrashRound round;
  round.seed = seed;
  LedgerFlags& flags = round.flags;
  const uint64_t number = seed % crash_combinations();
  flags.seed = seed;
  flags.commit = kCommits[number % kCommits.size()];
  const Combination& combination = combinations()[number / kCommits.size()];
  flags.scheme = combination.scheme;
  flags.log_records = combination.records;
  flags.protocol = combination.protocol;
  const SchemeInfo& scheme = *find_scheme(flags.scheme);

  RoundDraws random(seed * 0x9e3779b97f4a7c15 + 1);
  draw_commit_path(random, &flags);
  draw_transactions(random, &flags);
  const uint32_t streams = most_streams(scheme, flags);
  draw_devices(random, scheme, streams, &round);
  round.replay = scheme.traits.commands
                     ? "parallel"
                     : random.one_of({"parallel", "merge", "parallel,mb:1", "merge,mb:1"});

  round.kill_after_ms = static_cast<uint32_t>(50 + random.below(551));
  round.ends_by_itself = random.one_in(8);
  if (round.ends_by_itself) {
    // Limits transactions, not time: a loaded machine may give the run no core for a while.
    flags.transactions = 300;
  } else if (streams > 1 && !scheme.traits.in_place && random.one_in(3)) {
    die_early(streams, &round);
  } else if (random.one_in(2)) {
    // A kill from outside usually finds the workers waiting, above all on a loaded machine. So some
    // runs kill themselves right after an acknowledgement, when other work is not durable yet.
    const uint64_t magnitude = uint64_t{1} << random.below(14);
    flags.die_after = magnitude + random.below(magnitude);
  }
  flags.sync = random.one_of({"dsync", "fdatasync", "fsync"});
  flags.no_io_uring = random.one_in(3);
  flags.log_parts = random.one_of({"", "none", "all"});
  if (find_protocol(flags.protocol)->keeps_old_versions) {
    flags.snapshot = flags.commit == "async"
                         ? random.one_of({"acknowledged", "committed"})
                         : random.one_of({"acknowledged", "durable", "committed"});
  }
  return round;
}

namespace {

// A temporary directory in which a round runs its commands: the directories of a log, and the
// history of its runs. The directory stays if the round fails. One thread uses it.
class RoundSite {
 public:
  // The event from which kill_after_ms counts.
  enum class From : uint8_t { kStart, kFirstTransaction };

  RoundSite(const std::string& binary, uint32_t count)
      : binary_(binary), history_(directory_.path_of("history")) {
    for (uint32_t i = 0; i < count; ++i) {
      directories_.push_back(directory_.path_of("log" + std::to_string(i)));
      std::filesystem::create_directory(directories_.back());
    }
  }

  const std::string& history() const { return history_; }
  const std::vector<std::string>& directories() const { return directories_; }

  // Returns the beginning of a command on the log: "binary name --wal_dir=...".
  std::vector<std::string> command(const char* name, bool reversed) const {
    std::vector<std::string> directories = directories_;
    if (reversed) std::ranges::reverse(directories);
    return {binary_, name, "--wal_dir=" + platform::join(directories, ",")};
  }
  std::vector<std::string> run_command(const LedgerFlags& flags, bool reversed) const {
    std::vector<std::string> run = command("run", reversed);
    run.push_back("--history=" + history_);
    const std::vector<std::string> given = flags.arguments();
    run.insert(run.end(), given.begin(), given.end());
    return run;
  }

  // Runs the command, and kills it `kill_after_ms` after the event `from`. If `kill_after_ms` is 0,
  // the command ends by itself. If it failed, adds a sentence to the report and returns false.
  bool run(const std::vector<std::string>& command, uint64_t kill_after_ms,
           From from = From::kStart) {
    result_.commands += "  " + platform::join(command, " ") + "\n";
    const std::string output = directory_.path_of(command[1] + ".out");
    const std::string wrong = wait_and_kill(command, output, kill_after_ms, from);
    if (!wrong.empty()) result_.report = command[1] + " " + wrong + ":\n" + last_lines(output);
    return wrong.empty();
  }
  const std::string& ending() const { return ending_; }

  // Returns the result of a round. `what` describes the round; the flags `again` repeat it.
  CrashResult result(bool passed, const std::string& what, const std::string& again) {
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

 private:
  // Returns what went wrong, or an empty string.
  std::string wait_and_kill(const std::vector<std::string>& command, const std::string& output,
                            uint64_t kill_after_ms, From from) {
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

  TemporaryDirectory directory_;
  const std::string binary_, history_;
  std::vector<std::string> directories_;
  std::string ending_;
  CrashResult result_;
};

}  // namespace

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

namespace {

uint32_t most_directories(const LedgerFlags& flags) {
  const SchemeInfo& scheme = *find_scheme(flags.scheme);
  const uint32_t streams = most_streams(scheme, flags);
  if (streams == 1 && !scheme.traits.in_place) return kMostDirectories;  // striped
  return std::min(streams, kMostDirectories);
}

Life derive_life(uint64_t seed, std::mt19937_64& random) {
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  const CrashRound round = derive_round(seed);
  Life life{.flags = round.flags};
  if (!round.ends_by_itself) {
    life.kill_after_ms = static_cast<uint32_t>(below(4) == 0 ? 1 + below(100) : 50 + below(800));
  }
  LedgerFlags& flags = life.flags;
  flags.die_early = 0;  // an early death needs a round of its own
  flags.history_mb = 64;
  // Transfers stay small, because the log of an earlier life may have few keys.
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

// Changes a byte of the latest checkpoint, unless it is the only complete checkpoint.
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
  const auto lives = 3 + static_cast<uint32_t>(random() % 3);
  for (uint32_t i = 0; i < lives; ++i) {
    round.lives.push_back(derive_life(i == 0 ? seed : random() % (uint64_t{1} << 32), random));
  }
  uint32_t most = kMostDirectories;
  bool commands = false;  // the log has commands, which this life executes again
  for (Life& life : round.lives) {
    LedgerFlags& flags = life.flags;
    flags.take_tables_of(round.lives[0].flags);
    most = std::min(most, most_directories(flags));
    commands &= !life.overwrites;
    if (commands && !find_protocol(flags.protocol)->serial_in_commit_order) {
      flags.protocol = "occ", flags.snapshot = "";
    }
    commands |= find_scheme(flags.scheme)->traits.commands;
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
    // Kills the first life when the log exists, and kills later lives at any time.
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
