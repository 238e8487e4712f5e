// `run --continue`, checkpoints and `recover --checkpoint` on the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/proof/child.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class Lives : public testing::Test {
 protected:
  Lives() : log_(directory_.path_of("log")) { std::filesystem::create_directory(log_); }

  // Runs logjam, and returns its output.
  std::string logjam(std::vector<std::string> words, int* status = nullptr) {
    words.insert(words.begin(), binary_under_test());
    words.push_back("--wal_dir=" + log_);
    const std::string output = directory_.path_of("out");
    Child child(words, output);
    EXPECT_TRUE(child.ended(kPatienceMs));
    if (status != nullptr) *status = child.exited_well() ? 0 : 1;
    if (status == nullptr) {
      EXPECT_TRUE(child.exited_well()) << child.how();
    }
    std::ifstream in(output);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string refused(const std::vector<std::string>& words) {
    int status = 0;
    const std::string output = logjam(words, &status);
    EXPECT_NE(status, 0);
    return output;
  }
  static std::vector<std::string> run(std::vector<std::string> more) {
    std::vector<std::string> words = {"run",
                                      "--workload=ycsb",
                                      "--ycsb_records=1000",
                                      "--ycsb_workload=poplar-write-only",
                                      "--threads=2",
                                      "--transactions=500",
                                      "--log_prealloc_mb=1",
                                      "--log_buffer_mb=1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  const TemporaryDirectory directory_;
  const std::string log_;
};

TEST_F(Lives, ARunGoesOnWithAnotherScheme) {
  logjam(run({"--log=centr"}));
  EXPECT_TRUE(has(logjam(run({"--log=silo", "--continue"})), "recovered              1000"));
  const std::string recovered = logjam({"recover"});
  EXPECT_TRUE(has(recovered, "run 1                  scheme centr")) << recovered;
  EXPECT_TRUE(has(recovered, "run 2                  scheme silo")) << recovered;
  EXPECT_TRUE(has(recovered, "recovered              2000 transactions")) << recovered;
  EXPECT_TRUE(has(logjam({"dump", "--range=count:1"}), "scheme silo"));
  EXPECT_TRUE(has(logjam({"dump", "--range=run:1,count:1"}), "scheme centr"));
}

TEST_F(Lives, ACheckpointOfWhatIsRecoveredStandsForTheLog) {
  logjam(run({"--log=poplar"}));
  EXPECT_TRUE(has(logjam({"recover", "--checkpoint"}), "checkpoint             1 written"));
  const std::string again = logjam({"recover", "--checkpoint"});
  EXPECT_TRUE(has(again, "recovered              0 transactions")) << again;
  EXPECT_TRUE(has(again, "1 holds all of the log already")) << again;
  logjam(run({"--log=eleda", "--continue"}));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
  // The checkpoint is damaged: the whole log is still there.
  std::ofstream(log_ + "/checkpoint-1/rows-0", std::ios::in | std::ios::out).seekp(99).put('x');
  const std::string all = logjam({"recover"});
  EXPECT_TRUE(has(all, "note: checkpoint 1 cannot be used")) << all;
  EXPECT_TRUE(has(all, "recovered              2000 transactions")) << all;
  // The damaged checkpoint must not count as the second chance of a later one.
  logjam(run({"--log=eleda", "--continue"}));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/checkpoint-1"));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              3000 transactions"));
}

TEST_F(Lives, AfterACorruptLastCheckpointTheOneBeforeIsContinued) {
  logjam(run({"--log=poplar"}));
  logjam({"recover", "--checkpoint"});
  logjam(run({"--log=poplar", "--continue"}));
  logjam({"recover", "--checkpoint"});
  std::ofstream(log_ + "/checkpoint-2/rows-0", std::ios::in | std::ios::out).seekp(99).put('x');
  EXPECT_TRUE(has(logjam({"recover", "--checkpoint"}), "checkpoint             2 written"))
      << "in the place of the corrupt one";
  EXPECT_TRUE(std::filesystem::exists(log_ + "/checkpoint-1"));
  std::ofstream(log_ + "/checkpoint-2/rows-0", std::ios::in | std::ios::out).seekp(99).put('x');
  const std::string next = logjam(run({"--log=poplar", "--continue"}));
  EXPECT_TRUE(has(next, "note: checkpoint 2 cannot be used")) << next;
  EXPECT_TRUE(has(next, "recovered              1000 transactions")) << next;
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              2000 transactions"));
}

TEST_F(Lives, ARunThatGoesOnDrawsItsOwnInputsFromTheSameSeed) {
  logjam(run({"--threads=1", "--transactions=10"}));
  logjam(run({"--threads=1", "--transactions=10", "--continue"}));
  const auto writes = [&](int ordinal) {
    std::istringstream dumped(logjam({"dump", "--range=run:" + std::to_string(ordinal)}));
    std::string all;
    for (std::string line; std::getline(dumped, line);) {
      if (has(line, "update table")) all += line + "\n";
    }
    return all;
  };
  EXPECT_EQ(std::ranges::count(writes(2), '\n'), 10);
  EXPECT_NE(writes(1), writes(2));
}

TEST_F(Lives, ARunWithoutAHistoryBetweenTwoWithOneIsRefused) {
  const std::string history = "--history=" + directory_.path_of("history");
  logjam(run({"--log=poplar", history, "--history_mb=4"}));
  logjam(run({"--log=centr", history, "--history_mb=4", "--continue"}));
  EXPECT_TRUE(has(logjam({"recover", history}), "recovered              2000 transactions"));
  logjam(run({"--log=centr", "--continue"}));
  const std::string why =
      "its last life is run 2 of the log, which goes on to run 3: a run without --history";
  for (const auto& words : {run({"--log=centr", history, "--history_mb=4", "--continue"}),
                            std::vector<std::string>{"recover", history}}) {
    const std::string said = refused(words);
    EXPECT_TRUE(has(said, why)) << said;
  }
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              3000 transactions"));
}

TEST_F(Lives, ARunThatHasLostItsEndSinceIsDamaged) {
  logjam(run({"--threads=1", "--log_prealloc_mb=0", "--device=sim:0"}));
  logjam(run({"--threads=1", "--continue"}));
  std::filesystem::resize_file(log_ + "/stream-0.log.db", 100 * 1000);
  const std::string said = refused({"recover"});
  EXPECT_TRUE(has(said, "the streams of run 1 end after ")) << said;
  EXPECT_TRUE(has(said, " bytes, and had 524000 when run 2 began")) << said;
}

TEST_F(Lives, ALogOfCommandsGoesOnAndTakesNoCheckpointBesideTransactions) {
  const std::string why = refused(run({"--log=command", "--checkpoint=s:1"}));
  EXPECT_TRUE(has(why, "recover --checkpoint")) << why;
  logjam(run({"--log=command"}));
  logjam(run({"--log=command", "--continue"}));
  logjam({"recover", "--checkpoint"});
  logjam(run({"--log=centr", "--continue"}));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
}

TEST_F(Lives, WhatDoesNotFitIsRefusedInOneSentence) {
  EXPECT_TRUE(has(refused(run({"--continue"})), "no log is in the log directories"));
  logjam(run({"--log=centr"}));
  EXPECT_TRUE(has(refused(run({"--continue", "--overwrite"})), "--overwrite drops"));
  EXPECT_TRUE(has(refused(run({"--continue", "--ycsb_records=7"})), "contradicts the log"));
  EXPECT_TRUE(has(refused(run({"--continue", "--device=null"})), "cannot continue a log"));
  EXPECT_TRUE(
      has(refused(run({"--overwrite", "--device=null", "--checkpoint=s:1"})), "keeps none"));
  EXPECT_TRUE(has(refused(run({"--overwrite", "--checkpoint=s:-1"})), "s needs a number from 0"));
  EXPECT_TRUE(has(refused({"dump", "--range=run:4"}), "does not read run 4 of the log"));
}

TEST_F(Lives, AnOverwrittenLogLeavesNoRunAndNoCheckpoint) {
  logjam(run({"--log=centr"}));
  logjam({"recover", "--checkpoint"});
  logjam(run({"--log=centr", "--continue"}));
  EXPECT_TRUE(has(refused(run({"--log=centr"})), "--overwrite replaces it"));
  logjam(run({"--log=centr", "--overwrite"}));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-2"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/checkpoint-1"));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
}

}  // namespace
}  // namespace logjam
