// The files of a history that spans lives: the files that a run writes, removes, reads and refuses.
// Every workload continues the history of the earlier lives.
#include "proof/history/history_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/run/run.h"
#include "proof/history/with_history.h"
#include "tests/command_error.h"
#include "tests/forwarding_scheme.h"
#include "tests/scoped_flags.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

class HistoryFilesTest : public testing::Test {
 protected:
  HistoryFilesTest() { flags_.set("history_mb", 1); }

  // Plays a life that records a transaction of worker 1. If `starts` is false, the life is killed
  // before it does so.
  void live(bool continues, bool starts = true) {
    parameters_.ordinal = continues ? parameters_.ordinal + 1 : 1;
    parameters_.after = parameters_.ordinal - 1;
    const StartedHistory started = start_life(path_, 2, parameters_);
    keep_life(path_, parameters_, *started.writer);
    if (!starts) return;
    started.writer->record_start();
    HistoryArea& area = started.writer->area(1);
    const uint64_t count = started.counts.size() < 2 ? 0 : started.counts[1];
    area.intend(make_id(1, count + 1), 0);
    area.acknowledge(make_id(1, count + 1));
  }
  // Plays a life that is killed before the life's history file gets its name.
  void killed_life(uint32_t life) {
    const std::string unfinished = unfinished_history(file_of_life(path_, life));
    const std::string kept = path_ + ".killed";
    {
      const StartedHistory started = start_life(path_, 2, parameters_);
      std::filesystem::copy_file(unfinished, kept);
    }
    EXPECT_FALSE(std::filesystem::exists(unfinished)) << "a life that ends leaves nothing";
    std::filesystem::rename(kept, unfinished);
  }
  std::vector<uint32_t> lives_of_entries() {
    const HistoryFiles history = open_history_files(path_);
    EXPECT_EQ(history.error, "");
    std::vector<uint32_t> lives;
    for (const HistoryEntry& entry : history.entries) lives.push_back(entry.life);
    return lives;
  }
  bool there(const std::string& end) { return std::filesystem::exists(path_ + end); }

  ScopedFlags flags_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
  HistoryFileParameters parameters_{"made", 3, {7, 8, 9}, "", 1, 0, 5};
};

using Lives = std::vector<uint32_t>;
constexpr double kNever = 3600;  // seconds: a run ends after a number of transactions

TEST_F(HistoryFilesTest, EachHasAFileAndIdsGoOn) {
  live(false);
  live(true);
  live(true);
  EXPECT_EQ(lives_of_entries(), (Lives{0, 1, 2}));
  EXPECT_TRUE(there(".3"));
  EXPECT_EQ(open_history_files(path_).counts(), (std::vector<uint64_t>{0, 3}));
}

TEST_F(HistoryFilesTest, OneKilledBeforeItsFirstTransactionNeverWas) {
  live(false);
  live(true, false);
  EXPECT_EQ(open_history_files(path_).files.size(), 1u);
  live(true);
  EXPECT_EQ(lives_of_entries(), (Lives{0, 1}));
  EXPECT_FALSE(there(".3"));
}

TEST_F(HistoryFilesTest, TheFirstMayHaveHadNoTransaction) {
  live(false, false);
  EXPECT_EQ(open_history_files(path_).files.size(), 1u);
  live(true);
  EXPECT_EQ(lives_of_entries(), (Lives{1}));
}

TEST_F(HistoryFilesTest, ANewRunRemovesTheFilesOfLaterLives) {
  live(false);
  live(true);
  live(true);
  std::filesystem::copy_file(path_, unfinished_history(path_ + ".4"));
  live(false);
  EXPECT_EQ(lives_of_entries(), (Lives{0}));
  for (const char* end : {".2", ".3", ".4.new"}) EXPECT_FALSE(there(end)) << end;
}

TEST_F(HistoryFilesTest, AMissingOrDamagedFileIsAnErrorOfTheWhole) {
  live(false);
  live(true);
  std::filesystem::resize_file(path_ + ".2", 100);
  EXPECT_EQ(open_history_files(path_).error,
            "cannot use the history " + path_ + ".2: too short to be one (100 bytes)");
  std::filesystem::remove(path_);
  EXPECT_EQ(open_history_files(path_).error,
            "cannot use the history " + path_ + ": No such file or directory");
}

TEST_F(HistoryFilesTest, AFileOfAnotherHistoryIsAnError) {
  live(false);
  live(true);
  std::filesystem::rename(path_ + ".2", path_ + ".kept");
  parameters_.keys = {7, 8, 10};
  live(false);
  std::filesystem::rename(path_ + ".kept", path_ + ".2");
  EXPECT_EQ(open_history_files(path_).error,
            "cannot use the history " + path_ + ".2: it is of other keys");
}

using HistoryFilesDeathTest = HistoryFilesTest;

TEST_F(HistoryFilesDeathTest, AHistoryThatCannotGoOnIsRefusedInOneSentence) {
  const auto expect_refused = [this](const std::string& why) {
    EXPECT_REFUSED(live(true),
                   "^--continue goes on with the history of the lives before: cannot use the "
                   "history [^ ]*/history: " +
                       why + "$");
  };
  expect_refused("No such file or directory");
  live(false);
  const HistoryFileParameters good = parameters_;
  parameters_.workload = "other";
  expect_refused("it is of the workload \"made\"");
  parameters_ = good;
  parameters_.keys[2] = 10;
  expect_refused("it is of other keys");
  parameters_ = good;
  parameters_.counters = 4;
  expect_refused("it is of a workload of other types");
  parameters_ = good;
  parameters_.ordinal = 2;
  expect_refused(
      "its last life is run 1 of the log, which goes on to run 2: a run without --history");
  parameters_ = good;
  std::filesystem::resize_file(path_, 100);
  expect_refused("too short to be one .100 bytes.");
}

TEST_F(HistoryFilesTest, ARunThatKeptNoHistoryLeavesAGap) {
  EXPECT_EQ(gap_in_history(path_, 1), "") << "there is no file, which others say";
  live(false);
  live(true);
  EXPECT_EQ(gap_in_history(path_, 2), "");
  EXPECT_EQ(gap_in_history(path_, 1), "") << "the run was killed before its log began";
  EXPECT_EQ(gap_in_history(path_, 3),
            "cannot use the history " + path_ +
                ": its last life is run 2 of the log, which goes on to run 3: a run without "
                "--history");
  live(true, false);
  EXPECT_EQ(gap_in_history(path_, 3), "") << "a run without a transaction";
  live(true);
  EXPECT_EQ(gap_in_history(path_, 4), "");
}

TEST_F(HistoryFilesTest, ALifeThatWasKilledBeforeItsFileGotItsNameIsFound) {
  live(false);
  parameters_.ordinal = 2;
  parameters_.after = 1;
  killed_life(2);
  EXPECT_EQ(adopt_history(path_, parameters_.log, 1), "");
  EXPECT_FALSE(there(".2")) << "the log does not have its run";
  EXPECT_EQ(adopt_history(path_, parameters_.log, 2), "");
  EXPECT_TRUE(there(".2"));
  EXPECT_EQ(gap_in_history(path_, 2), "");
  // The earlier runs have no records, so the third run begins a new history.
  parameters_.ordinal = 3;
  parameters_.after = 0;
  killed_life(1);
  EXPECT_EQ(adopt_history(path_, parameters_.log, 3), "");
  EXPECT_FALSE(there(".2"));
  EXPECT_EQ(gap_in_history(path_, 3), "");
}

TEST(EveryHistory, SpansLives) {
  const TemporaryDirectory directory;
  for (const WorkloadInfo& info : all_workloads()) {
    for (const Flags& scale : small_scales(info.name)) {
      ScopedFlags flags;
      for (const auto& [name, value] : scale) flags.set(name.c_str(), value);
      flags.set("history", directory.path_of("history"));
      flags.set("history_mb", 4);
      SCOPED_TRACE(std::string(info.name) + " --" + scale.back().first + "=" + scale.back().second);
      Database database;
      for (uint32_t life = 1; life <= 3; ++life) {
        const uint32_t workers = life == 2 ? 1 : 3;
        const auto workload = make_with_history(info);
        if (life == 1) {
          load(*workload, database, 1);
        } else {
          workload->resume(database);
        }
        workload->start_history(workers, {.ordinal = life, .after = life - 1});
        workload->keep_history();
        ForwardingScheme scheme(workers);
        run(*workload, database, *find_protocol("occ"), scheme,
            {.threads = workers,
             .seconds = kNever,
             .transactions = 60,
             .pipeline_depth = 8,
             .pin = false});
        expect_consistent(*workload, database);
      }
      EXPECT_EQ(open_history_files(directory.path_of("history")).files.size(), 3u);
    }
  }
}

}  // namespace
}  // namespace logjam
