// A log's life on a disk that is cut at any step: a log begins, is continued, replaced,
// checkpointed and truncated, and at each step the power fails. Each state that the disk may then
// have is recovered, continued, and recovered again.
//
// The workload has one worker, whose transaction n gives a row the number n. So the recovered rows
// must be those after some transaction, and not after an earlier one than the last that was
// acknowledged (R1 to R4). While a log is replaced, the rows are those of the earlier log as it
// ended, or of the new one.
//
// The model is ALICE (Pillai et al., OSDI 2014): each life runs once, uncut, and
// tests/crash_states.h derives the states of the disk. At each step all states are tried if they
// are few, and seeded choices if they are many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "engine/checkpoint/checkpointer.h"
#include "engine/recovery/recover_chain.h"
#include "engine/run/run.h"
#include "logging/log.h"
#include "tests/memory_files.h"

namespace logjam {
namespace {

constexpr Key kKeys = 5;
constexpr uint64_t kNewLog = 1'000'000;  // the marks of the log that replaces the first one

// The rows by key. Transaction n writes n into row n % kKeys.
using Rows = std::vector<uint64_t>;

Rows rows_after(uint64_t transactions) {
  Rows rows(kKeys);
  for (uint64_t n = 1; n <= transactions; ++n) rows[n % kKeys] = n;
  return rows;
}

// Returns how many transactions are in the rows, or nothing if they are not those after any number
// of transactions.
std::optional<uint64_t> transactions_in(const Rows& rows) {
  const uint64_t last = *std::ranges::max_element(rows);
  if (rows != rows_after(last)) return std::nullopt;
  return last;
}

// Writes `transactions` rows, from the one after those that are there, and marks on `disk` what is
// acknowledged.
class Counting final : public Workload {
 public:
  Counting(uint64_t transactions, MemoryFiles* disk, uint64_t first_mark)
      : transactions_(transactions), disk_(disk), first_mark_(first_mark) {}

  void create_tables(Database& database) override {
    database.create_table({.name = "rows", .row_bytes = 8, .expected_rows = kKeys});
  }
  void load(Database& database, uint32_t part, uint32_t, Arena& arena) override {
    const uint64_t zero = 0;
    for (Key key = 0; part == 0 && key < kKeys; ++key)
      database.table("rows").load(key, &zero, arena);
  }
  void resume(Database& database) override { done_ = transactions_in(rows_of(database)).value(); }
  Specification spec() const override { return {.description = "counting", .types = {{"count"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Counter>(*this, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }

  static Rows rows_of(Database& database) {
    Rows rows(kKeys);
    database.table("rows").for_each_row(
        [&](Key key, const std::byte* row) { std::memcpy(&rows[key], row, sizeof rows[key]); });
    return rows;
  }

 private:
  struct Counter final : Client {
    Counter(Counting& workload, Database& database)
        : counting(workload), table(database.table("rows")), number(workload.done_) {}
    uint32_t next() override {
      ++number;
      return 0;
    }
    Status execute(Transaction& txn) override {
      uint64_t* row;
      const Status status = txn.update(table, number % kKeys, &row);
      if (status == Status::kOk) *row = number;
      return status;
    }
    uint64_t committing() override { return number; }
    void acknowledged(uint64_t n) override {
      if (counting.disk_ != nullptr) counting.disk_->mark(counting.first_mark_ + n);
    }
    bool exhausted() const override { return number >= counting.done_ + counting.transactions_; }

    Counting& counting;
    Table& table;
    uint64_t number;
  };

  const uint64_t transactions_;
  MemoryFiles* const disk_;
  const uint64_t first_mark_;
  uint64_t done_ = 0;
};

struct Life {
  const char* scheme;
  enum class Begin { kNew, kContinued, kOverwrites } begin = Begin::kNew;
  uint64_t transactions = 12;
  bool checkpoints = false;  // while it runs
  bool checkpoint_at_end = false;
  bool reversed = false;  // names the directories in the other order
};

struct Scenario {
  const char* name;
  std::vector<std::string> directories;
  uint64_t segment_bytes;
  std::vector<Life> lives;
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

class DiskCuts : public testing::TestWithParam<Scenario> {
 protected:
  static LogOptions log_options(const Life& life, const std::vector<std::string>& directories) {
    LogOptions options;
    options.scheme = find_scheme(life.scheme);
    options.directories = directories;
    options.overwrite = life.begin == Life::Begin::kOverwrites;
    options.device = "sync";
    options.config.workers = 1;
    options.config.buffer_bytes = 65536;
    options.config.stripe_bytes = 4096;
    options.preallocate_bytes = 2 * GetParam().segment_bytes;
    options.segment_bytes = GetParam().segment_bytes;
    options.header.workers = 1;
    options.header.log_records = "txn";
    options.header.flags["workload"] = "counting";
    return options;
  }

  // Recovers the log. Returns what is wrong, or an empty string.
  static std::string recover(const std::vector<std::string>& directories, LogChain* chain,
                             RecoveredChain* recovered, bool goes_on) {
    *chain = find_log_chain(directories);
    if (!chain->error.empty()) return chain->error;
    ChainOptions options;
    options.goes_on = goes_on;
    options.make_workload = [] { return std::make_unique<Counting>(0, nullptr, 0); };
    *recovered = recover_chain(*chain, options);
    return recovered->error.empty() ? recovered->damage : recovered->error;
  }

  // Plays a life on the disk in place. Returns what is wrong, or an empty string.
  static std::string live(const Life& life, const std::vector<std::string>& directories,
                          MemoryFiles* disk, uint64_t first_mark) {
    auto workload = std::make_unique<Counting>(life.transactions, disk, first_mark);
    LogOptions options = log_options(life, directories);
    std::unique_ptr<Database> database = std::make_unique<Database>();
    LogChain chain;
    RecoveredChain recovered;
    std::optional<LogManifest> manifest;
    ContinuedLog continued;
    if (life.begin == Life::Begin::kContinued) {
      if (std::string wrong = recover(directories, &chain, &recovered, true); !wrong.empty()) {
        return wrong;
      }
      manifest.emplace(chain.directories, chain.manifest);
      continued = {&*manifest, [&](Manifest& found) { settle(recovered, &found); }};
      options.continued = &continued;
      options.directories = chain.directories;
      database = std::move(recovered.database);
      workload->resume(*database);
    } else {
      load(*workload, *database, 1);
    }
    Log log(options);
    CheckpointOptions checkpoints;
    checkpoints.manifest = log.manifest();
    checkpoints.about.ordinal = log.header().ordinal;
    checkpoints.about.flags = log.header().flags;
    checkpoints.release_log = [&log](const auto& positions) { log.release(positions); };
    checkpoints.every_bytes = 512;
    RunOptions run_options{
        .threads = 1, .seconds = 60, .commit = CommitPolicy::kSync, .pin = false};
    if (life.checkpoints) run_options.checkpoints = &checkpoints;
    log.start();
    run(*workload, *database, *find_protocol("occ"), log.scheme(), run_options);
    log.drain();
    log.stop();
    return "";
  }

  // As `recover --checkpoint` does.
  static std::string checkpoint(const std::vector<std::string>& directories) {
    LogChain chain;
    RecoveredChain recovered;
    if (std::string wrong = recover(directories, &chain, &recovered, true); !wrong.empty()) {
      return wrong;
    }
    LogManifest log(chain.directories, chain.manifest);
    log.change([&recovered](Manifest& manifest) { settle(recovered, &manifest); });
    CheckpointOptions options;
    options.manifest = &log;
    options.about.ordinal = chain.ordinal;
    options.about.flags = chain.flags;
    checkpoint_at_end(*recovered.database, options);
    return "";
  }

  // Checks that the recovered log has all that was acknowledged when the disk was cut. The last
  // life began with `before` transactions, or replaced the log `replaced`. Sets `transactions` to
  // how many the log has.
  static std::string check(const CrashState& state, const LogChain& chain,
                           const RecoveredChain& recovered, uint64_t before, uint64_t replaced,
                           uint64_t* transactions) {
    const auto found = transactions_in(Counting::rows_of(*recovered.database));
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
  const bool thorough = std::getenv("LOGJAM_TEST_ALL") != nullptr;
  constexpr size_t kSteps = 30;
  const size_t most = thorough ? 8 : 2;
  CrashState content;
  uint64_t before = 0, steps = 0, states = 0, nothing = 0;
  // Tries all that a cut of the last life may leave. `replaced`: the log that it replaced, or 0.
  const auto cut = [&](const MemoryFiles& disk, uint64_t replaced, bool began) {
    const size_t stride = thorough ? 1 : std::max<size_t>(1, disk.steps() / kSteps);
    // Between two changes of names most cuts are alike.
    const auto counts = [&](size_t step) {
      const std::string what = step == 0 ? "" : disk.step(step - 1);
      return step % stride == 0 || what.find("manifest") != what.npos || what.starts_with("punch");
    };
    for (size_t step = 0; step <= disk.steps(); ++step) {
      if (!counts(step)) continue;
      for (const CrashState& state : disk.states_after(step, most, step * 7 + 1)) {
        ++states;
        MemoryFiles after(state);
        const platform::ReplaceFiles replace(after);
        LogChain chain;
        RecoveredChain recovered;
        std::vector<std::string> reversed(scenario.directories.rbegin(),
                                          scenario.directories.rend());
        std::string wrong = recover(reversed, &chain, &recovered, false);
        if (!wrong.empty() && !began && state.marks.empty() &&
            wrong.starts_with("no log is in the log directories")) {
          ++nothing;
          continue;
        }
        uint64_t had = 0, has = 0;
        if (wrong.empty()) wrong = check(state, chain, recovered, before, replaced, &had);
        if (wrong.empty()) {
          wrong =
              live({scenario.lives[0].scheme, Life::Begin::kContinued, 2}, reversed, nullptr, 0);
        }
        if (wrong.empty()) wrong = recover(scenario.directories, &chain, &recovered, false);
        if (wrong.empty()) {
          has = transactions_in(Counting::rows_of(*recovered.database)).value_or(0);
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
    const Life& life = scenario.lives[i];
    const bool overwrites = life.begin == Life::Begin::kOverwrites;
    MemoryFiles disk(content);
    uint64_t replaced = 0;
    {
      const platform::ReplaceFiles replace(disk);
      if (overwrites) replaced = find_manifest(scenario.directories).manifest.log;
      std::vector<std::string> named = scenario.directories;
      if (life.reversed) std::ranges::reverse(named);
      ASSERT_EQ(live(life, named, &disk, overwrites ? kNewLog : 0), "");
    }
    cut(disk, replaced, i > 0);
    if (HasFatalFailure()) return;
    content = disk.now();
    before = overwrites ? life.transactions : before + life.transactions;
    if (!life.checkpoint_at_end) continue;
    MemoryFiles again(content);
    {
      const platform::ReplaceFiles replace(again);
      ASSERT_EQ(checkpoint(scenario.directories), "");
    }
    cut(again, 0, true);
    if (HasFatalFailure()) return;
    content = again.now();
  }
  std::printf("%s: %lu steps, %lu states, of which %lu have no log yet\n", scenario.name, steps,
              states, nothing);
}

using Begin = Life::Begin;

INSTANTIATE_TEST_SUITE_P(
    Scenarios, DiskCuts,
    testing::Values(Scenario{"continued", {"a"}, 0, {{"centr"}, {"centr", Begin::kContinued}}},
                    Scenario{"continued_in_two_directories",
                             {"a", "b"},
                             0,
                             {{"centr"}, {"silo", Begin::kContinued}}},
                    Scenario{"replaced_in_another_order",
                             {"a", "b"},
                             0,
                             {{"centr"}, {"centr", Begin::kOverwrites, 12, false, false, true}}},
                    Scenario{"replaced", {"a"}, 0, {{"centr"}, {"centr", Begin::kOverwrites}}},
                    Scenario{
                        "replaced_after_it_was_continued",
                        {"a", "b"},
                        0,
                        {{"pwal"}, {"centr", Begin::kContinued}, {"centr", Begin::kOverwrites}}},
                    Scenario{"checkpointed", {"a"}, 4096, {{"centr", Begin::kNew, 60, true}}},
                    Scenario{"checkpointed_and_continued",
                             {"a", "b"},
                             0,
                             {{"centr", Begin::kNew, 12, false, true},
                              {"poplar", Begin::kContinued, 60, true, true},
                              {"centr", Begin::kContinued}}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace logjam
