#include "tests/proof/crash_round.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "engine/protocol.h"
#include "logging/scheme_registry.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "proof/ledger/history.h"
#include "tests/logging/usable_device.h"
#include "tests/proof/child.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// The schemes with log files, each with the record granularities that it supports. A scheme that
// logs commands supports only one record per transaction.
std::vector<std::pair<std::string, std::string>> schemes_and_records() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const SchemeInfo& scheme : all_schemes()) {
    if (scheme.stream_count(1, LogConfig{}) == 0) continue;
    pairs.emplace_back(scheme.name, "txn");
    if (!scheme.traits.commands) pairs.emplace_back(scheme.name, "op");
  }
  return pairs;
}

const std::vector<std::string> kCommits = {"sync", "pipelined", "async"};

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::string one_of(const std::vector<std::string>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
};

// Returns what went wrong, or an empty string.
std::string run_and_kill(const CrashRound& round, const std::vector<std::string>& command,
                         const std::string& history, const std::string& output,
                         std::string* ending) {
  Child child(command, output);
  const uint64_t start = platform::now_ns();
  while (!ledger::open_history(history).started()) {
    if (child.ended(2)) break;
    if (platform::now_ns() - start > kPatienceMs * 1'000'000) return "the run never started";
  }
  const bool ended = child.ended(round.ends_by_itself ? kPatienceMs : round.kill_after_ms);
  if (!ended) {
    if (round.ends_by_itself) return "the run did not end";
    child.kill();
  }
  *ending = !child.was_killed() ? "ended by itself"
            : ended             ? "killed itself"
                                : "killed after " + std::to_string(round.kill_after_ms) + " ms";
  // A run may end before the kill, when its history is full.
  if (!child.was_killed() && !child.exited_well()) return "the run ended with " + child.how();
  return "";
}

}  // namespace

std::string CrashRound::name() const {
  std::string name = scheme + "_" + protocol + "_" + commit + "_" + log_records;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

uint64_t crash_combinations() {
  return schemes_and_records().size() * all_protocols().size() * kCommits.size();
}

std::vector<uint64_t> seeds_of_each_scheme_and_protocol() {
  std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> candidates;
  for (uint64_t seed = 0; seed < crash_combinations(); ++seed) {
    const CrashRound round = derive_round(seed);
    candidates[{round.scheme, round.protocol}].push_back(seed);
  }
  std::vector<uint64_t> seeds;
  for (const auto& [pair, of_pair] : candidates) {
    seeds.push_back(of_pair[seeds.size() % of_pair.size()]);
  }
  return seeds;
}

std::vector<std::string> as_flags(const KeyLists& lists) {
  std::vector<std::string> flags;
  for (const auto& [flag, keys] : lists) {
    std::string list;
    for (const auto& [key, value] : keys) list += (list.empty() ? "" : ",") + key + ":" + value;
    flags.push_back("--" + flag + "=" + list);
  }
  return flags;
}

CrashRound derive_round(uint64_t seed) {
  CrashRound round;
  auto &ledger = round.lists["ledger"], &test = round.lists["test"];
  round.seed = seed;
  uint64_t combination = seed % crash_combinations();
  const auto take = [&combination](size_t choices) {
    const uint64_t choice = combination % choices;
    combination /= choices;
    return choice;
  };
  round.commit = kCommits[take(kCommits.size())];
  round.protocol = all_protocols()[take(all_protocols().size())].name;
  const auto pairs = schemes_and_records();
  std::tie(round.scheme, round.log_records) = pairs[take(pairs.size())];

  Random random(seed * 0x9e3779b97f4a7c15 + 1);
  round.ends_by_itself = random.below(8) == 0;
  round.kill_after_ms = static_cast<uint32_t>(50 + random.below(551));
  const uint64_t threads = 1 + random.below(4);
  const std::string keys = random.one_of({"16", "200", "5000"});
  round.run_flags = {
      "--workload=ledger",
      "--log=" + round.scheme,
      "--cc=" + round.protocol,
      "--commit=" + round.commit,
      "--log_records=" + round.log_records,
      "--locks=" + random.one_of({"early", "early", "write", "all"}),
      "--device=" +
          usable_device(*find_scheme(round.scheme),
                        random.one_of({"sync", "file", "faulty:sync", "faulty:file", "sim:200",
                                       "faulty:sim:100:20", "nvm", "nvm:2000", "faulty:nvm"})),
      "--threads=" + std::to_string(threads),
      "--pipeline_depth=" + random.one_of({"1", "16", "1024", "16384"}),
      "--log_buffer_mb=" + random.one_of({"1", "1", "4"}),
      "--log_prealloc_mb=1",  // segments of 1 MiB, the next one made while the log is written
      "--flush_help=" + random.one_of({"true", "false"}),
      "--io_depth=" + random.one_of({"1", "4", "4", "8"}),
      "--flush_gap_us=" + random.one_of({"0", "0", "200"}),
      "--history_mb=256",
      "--seed=" + std::to_string(seed),
      "--seconds=20",
      // A run that ends by itself ends after some transactions: a loaded machine may give it no
      // core for a given time.
      round.ends_by_itself ? "--transactions=300" : "--warmup=0",
  };
  ledger["keys"] = keys;
  ledger["reads"] = std::to_string(random.below(5));
  ledger["writes"] = random.one_of({"1", "2", "4", keys == "16" ? "8" : "40"});
  ledger["theta"] = random.one_of({"0", "0.9"});
  test["ledger_readers"] = std::to_string(random.below(std::min<uint64_t>(threads, 3)));
  test["ledger_yield"] = random.one_of({"0", "7"});
  // A kill from outside usually finds the workers waiting, above all on a loaded machine. A kill
  // from inside, right after an acknowledgement, finds work that is not yet durable.
  if (!round.ends_by_itself && random.below(2) == 0) {
    const uint64_t magnitude = uint64_t{1} << random.below(14);
    test["ledger_die_after"] = std::to_string(magnitude + random.below(magnitude));
  }
  switch (random.below(5)) {
    case 0:
      round.run_flags.emplace_back("--flush=txns:8,us:500");
      break;
    case 1:
      round.run_flags.emplace_back("--flush=bytes:65536,us:2000");
      break;
    case 2:
      round.run_flags.emplace_back("--flush=us:300");
      break;
    case 3:  // rare flushes leave much that is not yet durable
      round.run_flags.emplace_back("--flush=us:20000");
      break;
    default:
      break;  // flush whenever the device is idle
  }
  // Schemes have a stream for each directory, socket, or worker. There are at most as many
  // directories as streams.
  constexpr uint32_t kMostDirectories = 3;
  LogConfig config;
  config.workers = static_cast<uint32_t>(threads);
  config.sockets = static_cast<uint32_t>(2 + random.below(2));
  round.run_flags.push_back("--sockets=" + std::to_string(config.sockets));
  const uint32_t streams = find_scheme(round.scheme)->stream_count(kMostDirectories, config);
  round.run_flags.push_back("--silo_epoch_ms=" + random.one_of({"1", "5"}));
  round.directories = 1 + static_cast<uint32_t>(random.below(std::min(streams, kMostDirectories)));
  // In one round of three, a single stream is striped over several directories.
  const bool in_place = find_scheme(round.scheme)->traits.in_place;
  if (streams == 1 && !in_place && random.below(3) == 0) {
    round.directories = static_cast<uint32_t>(2 + random.below(kMostDirectories - 1));
    round.run_flags.push_back("--stripe_kb=" + random.one_of({"4", "64", "512"}));
    // A write to this device takes time in proportion to its size, so the striped devices finish
    // their writes in any order.
    if (random.below(2) == 0) round.run_flags.emplace_back("--device=faulty:sim:100:20");
  }
  // On a slow device the streams' ends lie far apart.
  if (streams > 1 && round.directories > 1 && !in_place && random.below(3) == 0) {
    round.run_flags.emplace_back("--device=faulty:sim:100:20");
  }
  round.replay = random.one_of({"parallel", "merge"});
  if (find_scheme(round.scheme)->traits.commands) round.replay = "parallel";
  round.run_flags.push_back("--pwal_ngroup=" + random.one_of({"0", "2", "16"}));
  // With few slots rows come and go at once, with many their tuples are reclaimed in between.
  ledger["slots"] = random.one_of({"8", "64", "1000"});
  ledger["cells"] = std::to_string(std::stoul(ledger["slots"]) + 56);
  test["ledger_dawdle"] = random.one_of({"0", "100"});
  // One round in three, where there are several streams, kills the process when an acknowledgement
  // has come early, for then a wrong one does harm. Slow devices and short transactions give many
  // such moments.
  if (streams > 1 && !in_place && !round.ends_by_itself && random.below(3) == 0) {
    round.directories = std::min(streams, kMostDirectories);
    round.kill_after_ms = 3000;
    round.run_flags.insert(round.run_flags.end(),
                           {"--threads=4", "--device=faulty:sim:100:20", "--flush=us:2000",
                            "--locks=early", "--pipeline_depth=1024"});
    ledger.insert_or_assign("keys", "200");
    ledger.insert_or_assign("writes", "1");
    ledger.insert_or_assign("slots", "8");
    ledger.insert_or_assign("cells", "64");
    test = {{"ledger_die_early", "1"}, {"ledger_dawdle", "1000"}, {"ledger_yield", "7"}};
  }
  return round;
}

CrashResult play(const CrashRound& round, const std::string& binary) {
  TemporaryDirectory directory;
  const std::string history = directory.path_of("history");
  const std::string run_output = directory.path_of("run.out");
  const std::string recover_output = directory.path_of("recover.out");
  std::string log, log_reversed;
  for (uint32_t i = 0; i < round.directories; ++i) {
    const std::string one = directory.path_of("log" + std::to_string(i));
    std::filesystem::create_directories(one);
    log += (i == 0 ? "" : ",") + one;
    log_reversed = one + (i == 0 ? "" : ",") + log_reversed;
  }
  std::vector<std::string> run = {binary, "run", "--wal_dir=" + log, "--history=" + history};
  run.insert(run.end(), round.run_flags.begin(), round.run_flags.end());
  const std::vector<std::string> lists = as_flags(round.lists);
  run.insert(run.end(), lists.begin(), lists.end());
  const std::vector<std::string> recover = {
      binary,     "recover",     "--wal_dir=" + log_reversed, "--history=" + history,
      "--verify", "--threads=2", "--replay=" + round.replay};

  CrashResult result;
  result.commands = "  " + platform::join(run, " ") + "\n  " + platform::join(recover, " ") + "\n";
  std::string wrong, ending;
  wrong = run_and_kill(round, run, history, run_output, &ending);
  if (!wrong.empty()) {
    result.report = wrong + ":\n" + last_lines(run_output);
  } else {
    Child child(recover, recover_output);
    if (!child.ended(kPatienceMs)) {
      child.kill();
      wrong = "the recovery did not end";
    } else if (!child.exited_well()) {
      wrong = "the recovery ended with " + child.how();
    }
    result.report =
        ending + (wrong.empty() ? "" : "; " + wrong) + ":\n" + last_lines(recover_output);
  }
  const ledger::History recorded = ledger::open_history(history);
  result.recorded = recorded.transactions.size();
  for (const auto& transaction : recorded.transactions) {
    result.acknowledged += transaction.acknowledged;
  }
  result.passed = wrong.empty();
  if (result.passed) {
    result.report = ending + ", " + std::to_string(result.recorded) + " committing, " +
                    std::to_string(result.acknowledged) + " acknowledged, all proved";
  } else {
    directory.keep();
    result.report +=
        "\nkept: " + directory.path() +
        "\nreplay: proof/crash_rounds.py --rounds=1 --seed=" + std::to_string(round.seed);
  }
  return result;
}

}  // namespace logjam
