// The power fails at each step of a log's life: when the log begins, when another run continues or
// replaces the log, and during checkpoints and truncation. For each state that the disk may then
// have, the tests recover the log, continue it, and recover it again.
//
// The worker counts (proof/rounds/counting_log.h). The recovered rows must be the rows after the
// last acknowledged transaction, or after a later one (R1 to R4). While a log is replaced, the rows
// are the last rows of the earlier log, or the rows of the new log.
//
// The method is ALICE's (Pillai et al., OSDI 2014): each life runs once without a crash, and
// proof/disk/crash_states.h derives the states of the disk. If a step has few states, the tests try
// all of these states. Otherwise a random generator with a fixed seed chooses some of them.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "proof/rounds/counting_log.h"
#include "tests/draw.h"

namespace logjam {
namespace {

using Begin = CountingLife::Begin;

constexpr uint64_t kNewLog = 1'000'000;  // added to the marks of a log that replaces another log

struct Scenario {
  const char* name;
  CountingLog log;
  std::vector<CountingLife> lives;
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

class DiskCuts : public testing::TestWithParam<Scenario> {
 protected:
  // Checks that the recovered log has every transaction acknowledged before the power cut. `before`
  // is the number of transactions from before the last life. `replaced` is the log that the last
  // life replaced, or 0. Sets `transactions` to the number of transactions in the log.
  static std::string check(const CrashState& state, const LogChain& chain,
                           const RecoveredChain& recovered, uint64_t before, uint64_t replaced,
                           uint64_t* transactions) {
    const auto found = counted(*recovered.database);
    if (!found) return "the rows are those after no transaction";
    *transactions = *found;
    const uint64_t last = state.marks.empty() ? 0 : state.marks.back();
    uint64_t acknowledged = std::max(before, last);
    if (replaced != 0 && chain.manifest.log != replaced) {
      acknowledged = last == 0 ? 0 : last - kNewLog;
    }
    if (*found >= acknowledged) return "";
    return "transaction " + std::to_string(acknowledged) + " is acknowledged, and " +
           std::to_string(*found) + " are recovered";
  }
};

TEST_P(DiskCuts, LeaveWhatWasAcknowledged) {
  const Scenario& scenario = GetParam();
  const bool thorough = tries_all();
  constexpr size_t kSteps = 30;
  const size_t most = thorough ? 8 : 2;
  CrashState content;
  uint64_t before = 0, steps = 0, states = 0, nothing = 0;
  // Tries the states that a power cut during the last life may leave. `replaced` is the log that
  // this life replaced, or 0. `damaged` is the file whose damage this life accepts, or empty.
  const auto cut = [&](const MemoryFiles& disk, uint64_t replaced, bool began,
                       const std::string& damaged) {
    const size_t stride = thorough ? 1 : std::max<size_t>(1, disk.steps() / kSteps);
    // Most cuts between two changes of file names have the same effect, so the test skips steps.
    const auto counts = [&](size_t step) {
      const std::string what = step == 0 ? "" : disk.step(step - 1);
      return step % stride == test_seed() % stride || what.find("manifest") != what.npos ||
             what.starts_with("punch");
    };
    for (size_t step = 0; step <= disk.steps(); ++step) {
      if (!counts(step)) continue;
      for (const CrashState& state : disk.states_after(step, most, step * 7 + 1)) {
        ++states;
        MemoryFiles after(state);
        const platform::ReplaceFiles replace(after);
        LogChain chain;
        RecoveredChain recovered;
        CountingLog reversed = scenario.log;
        std::ranges::reverse(reversed.directories);
        std::string wrong = reversed.recover(&chain, &recovered, false);
        if (!damaged.empty() && wrong == recovered.damage) wrong = "";  // not yet accepted
        if (!wrong.empty() && !began && state.marks.empty() &&
            wrong.starts_with("no log is in the log directories")) {
          ++nothing;
          continue;
        }
        uint64_t had = 0, has = 0;
        if (wrong.empty()) wrong = check(state, chain, recovered, before, replaced, &had);
        if (wrong.empty()) {
          CountingLife next{scenario.lives[0].scheme, Begin::kContinued, 2};
          next.damaged = damaged;
          wrong = reversed.live(next, [](uint64_t) {});
        }
        if (wrong.empty()) wrong = scenario.log.recover(&chain, &recovered, false);
        if (wrong.empty()) {
          has = counted(*recovered.database).value_or(0);
          if (has != had + 2) {
            wrong = "a continued log of " + std::to_string(had) + " + 2 transactions has " +
                    std::to_string(has);
          }
        }
        ASSERT_EQ(wrong, "") << "after step " << step << " of " << disk.steps() << ", "
                             << (step == 0 ? "" : disk.step(step - 1)) << ": " << state.what;
      }
    }
    steps += disk.steps();
  };
  for (size_t i = 0; i < scenario.lives.size(); ++i) {
    const CountingLife& life = scenario.lives[i];
    const bool overwrites = life.begin == Begin::kOverwrites;
    if (!life.damaged.empty()) {
      change_byte(&content.files.at(life.damaged), kLogHeaderBytes + 500, std::byte{1});
    }
    MemoryFiles disk(content);
    uint64_t replaced = 0, last = 0;
    {
      const platform::ReplaceFiles replace(disk);
      if (!life.damaged.empty()) {
        LogChain chain;
        RecoveredChain recovered;
        ASSERT_NE(scenario.log.recover(&chain, &recovered, false), "");
        before = counted(*recovered.database).value();
      }
      if (overwrites) replaced = find_manifest(scenario.log.directories).manifest.log;
      const uint64_t first_mark = overwrites ? kNewLog : 0;
      const auto acknowledged = [&](uint64_t n) {
        disk.mark(first_mark + n);
        last = n;
      };
      ASSERT_EQ(scenario.log.live(life, acknowledged), "");
      EXPECT_EQ(disk.open_files(), 0u);
    }
    cut(disk, replaced, i > 0, life.damaged);
    if (HasFatalFailure()) return;
    content = disk.now();
    before = last;
    if (!life.checkpoint_at_end) continue;
    MemoryFiles again(content);
    {
      const platform::ReplaceFiles replace(again);
      ASSERT_EQ(scenario.log.checkpoint(), "");
      EXPECT_EQ(again.open_files(), 0u);
    }
    cut(again, 0, true, "");
    if (HasFatalFailure()) return;
    content = again.now();
  }
  std::printf("%s: %lu steps, %lu states, of which %lu have no log yet\n", scenario.name, steps,
              states, nothing);
}

// A killed process leaves bytes that are not durable. A recovery reads these bytes, and the next
// run depends on them. So they must be durable before the manifest says how many bytes the log has.
TEST(DiskCutsOfAKilledRun, LeaveWhatItsSuccessorHasRead) {
  const CountingLog log{{"a", "b"}, 4096};
  MemoryFiles lived;
  {
    const platform::ReplaceFiles replace(lived);
    ASSERT_EQ(log.live({"pwal", Begin::kNew, 150}, [](uint64_t) {}), "");
  }
  const CrashState written = lived.now();
  CrashState durable = written;
  std::vector<std::string> streams;
  for (auto& [path, image] : durable.files) {
    if (path.find("stream") == path.npos) continue;
    streams.push_back(path);
    image = FileImage();
  }
  EXPECT_GT(streams.size(), 3u) << "some segments";
  MemoryFiles disk(durable);
  const platform::ReplaceFiles replace(disk);
  for (const std::string& path : streams) {
    const FileImage& image = written.files.at(path);
    const int file = platform::files().open(path, O_WRONLY);
    ASSERT_GE(file, 0);
    ASSERT_EQ(platform::files().resize(file, image.bytes()), 0);
    for (const uint64_t sector : image.filled_from(0)) {
      ASSERT_EQ(platform::write_all(file, sector * kSectorBytes, *image.sector(sector)), 0);
    }
    platform::files().close(file);
  }
  LogChain chain;
  RecoveredChain recovered;
  ASSERT_EQ(log.recover(&chain, &recovered, true), "");
  LogManifest(chain.directories, chain.manifest).change([&](Manifest& manifest) {
    settle(recovered, &manifest);
  });
  for (const CrashState& state : disk.states_after(disk.steps(), 64, 1)) {
    MemoryFiles after(state);
    const platform::ReplaceFiles replace_again(after);
    EXPECT_EQ(log.recover(&chain, &recovered, false), "") << state.what;
    EXPECT_EQ(counted(*recovered.database), 150u) << state.what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, DiskCuts,
    testing::Values(
        Scenario{"continued", {{"a"}}, {{"centr"}, {"centr", Begin::kContinued}}},
        Scenario{
            "continued_in_two_directories", {{"a", "b"}}, {{"centr"}, {"silo", Begin::kContinued}}},
        Scenario{"replaced_in_another_order",
                 {{"a", "b"}},
                 {{"centr"}, {"centr", Begin::kOverwrites, 12, false, false, true}}},
        Scenario{"replaced", {{"a"}}, {{"centr"}, {"centr", Begin::kOverwrites}}},
        Scenario{"replaced_after_it_was_continued",
                 {{"a", "b"}},
                 {{"pwal"}, {"centr", Begin::kContinued}, {"centr", Begin::kOverwrites}}},
        Scenario{
            "continued_from_damage",
            {{"a", "b"}},
            {{"centr"},
             {"centr", Begin::kContinued},
             {.scheme = "silo", .begin = Begin::kContinued, .damaged = "a/run-2/stream-0.log.db"},
             {"centr", Begin::kContinued}}},
        Scenario{"checkpointed", {{"a"}, 4096}, {{"centr", Begin::kNew, 60, true}}},
        Scenario{"checkpointed_often",
                 {{"a"}, 4096},
                 {{"centr", Begin::kNew, 1000, true, false, false, 4}}},
        Scenario{"checkpointed_and_continued",
                 {{"a", "b"}},
                 {{"centr", Begin::kNew, 12, false, true},
                  {"poplar", Begin::kContinued, 60, true, true},
                  {"centr", Begin::kContinued}}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace logjam
