// `run --continue`, checkpoints and `recover --checkpoint` on the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "logging/format/manifest_file.h"
#include "logging/format/remove_files.h"
#include "proof/rounds/child.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class Lives : public testing::Test {
 protected:
  Lives() : log_(directory_.path_of("log")) { std::filesystem::create_directory(log_); }

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
  Manifest manifest() const { return find_manifest({log_}).manifest; }
  bool has_checkpoint() const {
    return std::ranges::any_of(manifest().checkpoints, &Checkpoint::complete);
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  // On a busy machine a short run may take no checkpoint. Then the tests try longer runs.
  static constexpr const char* kLonger[] = {"--seconds=0.2", "--seconds=2", "--seconds=20",
                                            "--seconds=60"};

  const TemporaryDirectory directory_;
  const std::string log_;
};

TEST_F(Lives, ARunGoesOnWithAnotherScheme) {
  logjam(run({"--log=centr"}));
  const std::string rows = directory_.path_of("rows.json");
  EXPECT_TRUE(has(logjam(run({"--log=silo", "--continue", "--json=" + rows})),
                  "recovered              1000"));
  std::ifstream row(rows);
  const std::string json(std::istreambuf_iterator<char>(row), {});
  EXPECT_TRUE(has(json, "\"run_ordinal\": 2")) << json;
  const std::string recovered = logjam({"recover"});
  EXPECT_TRUE(has(recovered, "run 1                  scheme centr")) << recovered;
  EXPECT_TRUE(has(recovered, "run 2                  scheme silo")) << recovered;
  EXPECT_TRUE(has(recovered, "recovered              2000 transactions")) << recovered;
  EXPECT_TRUE(has(logjam({"dump", "--range=count:1"}), "scheme silo"));
  EXPECT_TRUE(has(logjam({"dump", "--range=run:1,count:1"}), "scheme centr"));
}

// A recovery reads the workload's mix from the log's header, and uses the mix only in its report.
TEST_F(Lives, ARecoverySaysTheMixAndTheFlagsOfItsRun) {
  logjam({"run", "--workload=tpcc", "--tpcc_warehouses=1", "--tpcc_items=1000",
          "--tpcc_customers=30", "--tpcc_mix=np", "--threads=1", "--transactions=20",
          "--log_prealloc_mb=1", "--log_buffer_mb=1"});
  const std::string rows = directory_.path_of("rows.csv");
  const std::string said = logjam({"recover", "--csv=" + rows});
  std::ifstream in(rows);
  const std::string row{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& text : {said, row}) {
    EXPECT_NE(text.find("new-order 50 %, payment 50 %, order-status 0 %"), std::string::npos)
        << text;
    EXPECT_NE(text.find("--tpcc_mix=np"), std::string::npos) << text;
  }
}

TEST_F(Lives, ACheckpointOfWhatIsRecoveredStandsForTheLog) {
  logjam(run({"--log=poplar"}));
  EXPECT_TRUE(has(logjam({"recover", "--checkpoint"}), "checkpoint             1 written"));
  const std::string again = logjam({"recover", "--checkpoint"});
  EXPECT_TRUE(has(again, "recovered              0 transactions")) << again;
  EXPECT_TRUE(has(again, "1 holds all of the log already")) << again;
  logjam(run({"--log=eleda", "--continue"}));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
  // After the checkpoint is damaged, a recovery can still use the whole log.
  std::ofstream(log_ + "/checkpoint-1/rows-0", std::ios::in | std::ios::out).seekp(99).put('x');
  const std::string all = logjam({"recover"});
  EXPECT_TRUE(has(all, "note: checkpoint 1 cannot be used")) << all;
  EXPECT_TRUE(has(all, "recovered              2000 transactions")) << all;
  // A later checkpoint must not rely on the damaged checkpoint.
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
  EXPECT_TRUE(has(logjam({"recover", "--checkpoint"}), "checkpoint             3 written"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/checkpoint-2")) << "it was corrupt";
  EXPECT_TRUE(std::filesystem::exists(log_ + "/checkpoint-1"));
  std::ofstream(log_ + "/checkpoint-3/rows-0", std::ios::in | std::ios::out).seekp(99).put('x');
  const std::string next = logjam(run({"--log=poplar", "--continue"}));
  EXPECT_TRUE(has(next, "note: checkpoint 3 cannot be used")) << next;
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
  EXPECT_TRUE(has(said, "stream 0 of run 1 ends after ")) << said;
  EXPECT_TRUE(has(said, " bytes, and had 524000 when the log was continued")) << said;
}

void damage(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char was = static_cast<char>(file.get());
  file.seekp(at).put(static_cast<char>(~was));
}

// In the next three tests, --accept_damage notes in the manifest where the damaged log ends.
TEST_F(Lives, ACheckpointOfWhatIsLeftIsContinued) {
  logjam(run({"--threads=1", "--log_prealloc_mb=0", "--device=sim:0"}));
  logjam(run({"--threads=1", "--continue"}));
  std::filesystem::resize_file(log_ + "/stream-0.log.db", 100 * 1000);
  const std::string accepted = logjam({"recover", "--accept_damage", "--checkpoint"});
  EXPECT_TRUE(has(accepted, "of run 2 nothing is used")) << accepted;
  logjam(run({"--threads=1", "--transactions=60", "--continue"}));
  const std::string recovered = logjam({"recover", "--export=" + directory_.path_of("rows")});
  EXPECT_TRUE(has(recovered, "recovered              60 transactions")) << recovered;
  std::map<std::string, std::string> last;  // by key: the beginning of the last row in run 3
  std::istringstream dumped(logjam({"dump", "--range=run:3"}));
  for (std::string line; std::getline(dumped, line);) {
    const size_t key = line.find(" key "), after = line.find(" after=");
    if (key == line.npos || after == line.npos) continue;
    last[line.substr(key + 5, line.find(' ', key + 5) - key - 5)] = line.substr(after + 7, 32);
  }
  EXPECT_GT(last.size(), 20u);
  std::ifstream rows(directory_.path_of("rows") + "/usertable.csv");
  for (std::string line; std::getline(rows, line);) {
    const size_t comma = line.find(',');
    const auto wrote = last.find(line.substr(0, comma));
    if (wrote == last.end()) continue;
    EXPECT_EQ(line.substr(comma + 2, 32), wrote->second) << wrote->first;
    last.erase(wrote);
  }
  EXPECT_TRUE(last.empty());
}

TEST_F(Lives, ARunThatFollowsAcceptedDamageIsRecovered) {
  logjam(run({"--threads=1", "--log_prealloc_mb=0", "--device=sim:0"}));
  logjam(run({"--threads=1", "--continue"}));
  std::filesystem::resize_file(log_ + "/stream-0.log.db", 100 * 1000);
  EXPECT_TRUE(has(refused(run({"--threads=1", "--continue"})), "--accept_damage"));
  const std::string next = logjam(run({"--threads=1", "--continue", "--accept_damage"}));
  EXPECT_TRUE(has(next, "of run 2 nothing is used")) << next;
  const std::string recovered = logjam({"recover"});
  EXPECT_FALSE(has(recovered, "damaged")) << recovered;
  EXPECT_TRUE(has(recovered, "recovered              591 transactions")) << recovered;
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-2")) << "it is dropped";
  EXPECT_TRUE(std::filesystem::exists(log_ + "/run-3"));
}

TEST_F(Lives, DamageThatHealsIsNotUsed) {
  logjam(run({"--threads=1", "--transactions=5000", "--log_prealloc_mb=4:1"}));
  const std::string segment = log_ + "/stream-0.log.db.1", away = directory_.path_of("away");
  std::filesystem::rename(segment, away);
  logjam(run({"--threads=1", "--continue", "--accept_damage"}));
  const std::string first = logjam({"recover"});
  std::filesystem::rename(away, segment);
  const std::string second = logjam({"recover"});
  EXPECT_TRUE(has(second, "has valid records after the end that the log was continued from"))
      << second;
  const auto line = [](const std::string& said) {
    const size_t at = said.find("recovered    ");
    return said.substr(at, said.find('\n', at) - at);
  };
  EXPECT_EQ(line(first), line(second));
}

TEST_F(Lives, ALastRunThatIsLostIsDamage) {
  logjam(run({"--threads=1", "--log_prealloc_mb=4:1"}));
  logjam(run({"--threads=1", "--transactions=3000", "--log_prealloc_mb=4:1", "--continue"}));
  std::filesystem::remove(log_ + "/run-2/stream-0.log.db");
  EXPECT_TRUE(has(refused({"recover"}), "run-2/stream-0.log.db is missing"));
  EXPECT_TRUE(has(refused(run({"--continue"})), "run-2/stream-0.log.db is missing"));
  std::filesystem::remove_all(log_ + "/run-2");
  EXPECT_TRUE(has(refused({"recover"}), "run 2: "));
  EXPECT_TRUE(has(logjam({"recover", "--accept_damage"}), "recovered              500 trans"));
}

TEST_F(Lives, ALostRunIsDamageAlthoughACheckpointOfItIsThere) {
  for (const char* seconds : kLonger) {
    logjam(run({"--threads=1", "--overwrite"}));
    logjam(run({"--threads=1", seconds, "--transactions=0", "--continue", "--checkpoint=s:0.01"}));
    if (has_checkpoint()) break;
  }
  ASSERT_TRUE(has_checkpoint());
  logjam({"recover"});
  std::filesystem::remove_all(log_ + "/run-2");
  EXPECT_TRUE(has(refused({"recover"}), "run 2: "));
}

TEST_F(Lives, AReleasedLogWithoutACheckpointIsDamage) {
  for (const char* seconds : kLonger) {
    logjam(run({"--threads=1", seconds, "--transactions=0", "--log_prealloc_mb=0", "--device=sim:0",
                "--checkpoint=s:0.01", "--overwrite"}));
    if (!manifest().runs.at(0).released.empty()) break;
  }
  ASSERT_FALSE(manifest().runs.at(0).released.empty());
  for (const auto& entry : std::filesystem::directory_iterator(log_)) {
    if (!has(entry.path().filename(), "checkpoint-")) continue;
    damage(entry.path().native() + "/rows-0", 50);
  }
  EXPECT_TRUE(has(refused({"recover"}), "cannot be used"));
  EXPECT_TRUE(has(refused(run({"--threads=1", "--continue"})), "cannot be used"));
  for (const auto& entry : std::filesystem::directory_iterator(log_)) {
    if (has(entry.path().filename(), "checkpoint-")) std::filesystem::remove_all(entry.path());
  }
  const std::string said = refused({"recover"});
  EXPECT_TRUE(has(said, "the log before it has been released")) << said;
}

TEST_F(Lives, ARunBeforeACheckpointAtItsEndStaysAsLongAsItWas) {
  logjam(run({"--threads=1", "--log_prealloc_mb=0", "--device=sim:0"}));
  logjam({"recover", "--checkpoint"});
  logjam(run({"--threads=1", "--continue"}));
  damage(log_ + "/stream-0.log.db", 50000);
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              500 transactions"));
  damage(log_ + "/checkpoint-1/rows-0", 99);
  const std::string said = refused({"recover"});
  EXPECT_TRUE(has(said, "bytes, and had 524000 when the log was continued")) << said;
}

// Scripts of experiments may create files in a log directory, even with names like the log's.
TEST_F(Lives, WhatIsNotOfTheLogIsLeftAlone) {
  const auto write = [&](const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "mine";
  };
  for (const char* path : {"/run-1/thesis", "/run-2/thesis", "/checkpoint-1/rows-0", "/run-4"}) {
    write(log_ + path);
  }
  logjam(run({}));
  logjam({"recover", "--checkpoint"});
  const std::string next = logjam(run({"--continue"}));
  EXPECT_TRUE(has(next, "run-2 is not of this log, and is left alone")) << next;
  logjam(run({"--continue", "--seconds=1", "--transactions=0", "--checkpoint=s:0.05"}));
  EXPECT_TRUE(has(logjam({"recover"}), "run 5 "));
  logjam(run({"--overwrite"}));
  for (const char* path : {"/run-1/thesis", "/run-2/thesis", "/checkpoint-1/rows-0", "/run-4"}) {
    EXPECT_TRUE(std::filesystem::exists(log_ + path)) << path;
  }
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-3"));
}

TEST_F(Lives, ARefusedRunLeavesTheHistoryOfTheLog) {
  const std::string file = directory_.path_of("history"), history = "--history=" + file;
  logjam(run({history, "--history_mb=4"}));
  logjam(run({history, "--history_mb=4", "--continue"}));
  EXPECT_TRUE(has(refused(run({"--threads=8", "--overwrite", history, "--history_mb=1"})),
                  "--history_mb=1 is too small for 8 workers"));
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  EXPECT_TRUE(has(logjam({"recover", history}), "recovered              2000 transactions"));
}

TEST_F(Lives, ARunThatFillsItsHistorySaysSo) {
  const std::string history = "--history=" + directory_.path_of("history");
  constexpr const char* kNote = "note: a worker ended early because its part of --history was full";
  for (const char* warm_up : {"--warmup=0", "--warmup=60"}) {
    const std::vector<std::string> fills = {"--seconds=60", warm_up, history, "--history_mb=1",
                                            "--overwrite"};
    for (const std::vector<std::string>& load :
         {std::vector<std::string>{"--workload=tpcb", "--tpcb_accounts=100"},
          std::vector<std::string>{"--workload=ledger", "--ledger=keys:50"}}) {
      std::vector<std::string> words = {"run", "--log_prealloc_mb=1", "--log_buffer_mb=1"};
      words.insert(words.end(), load.begin(), load.end());
      words.insert(words.end(), fills.begin(), fills.end());
      EXPECT_TRUE(has(logjam(words), kNote)) << load[0] << " " << warm_up;
    }
  }
  EXPECT_FALSE(has(logjam(run({history, "--history_mb=4", "--overwrite"})), kNote));
}

TEST_F(Lives, ARefusedRunLeavesNoDirectory) {
  logjam(run({}));
  refused(run({"--continue", "--history=/none/history", "--history_mb=4"}));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-2"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/manifest.new"));
}

TEST_F(Lives, AFileOfAnotherHistoryIsNotOfThisOne) {
  const std::string file = directory_.path_of("history"), history = "--history=" + file;
  logjam(run({history, "--history_mb=4"}));
  logjam(run({history, "--history_mb=4", "--continue"}));
  const std::string kept = directory_.path_of("kept");
  std::filesystem::copy_file(file, kept);
  std::filesystem::remove(file);
  logjam(run({history, "--history_mb=4", "--overwrite"}));
  EXPECT_TRUE(has(logjam({"recover", history}), "recovered              1000 transactions"));
  EXPECT_TRUE(has(refused({"recover", "--history=" + kept}), "it is of another log"));
}

TEST_F(Lives, ALostManifestGivesWayToItsCopyIfTheDamageIsAccepted) {
  logjam(run({}));
  std::ofstream(log_ + "/manifest") << "no manifest";
  EXPECT_TRUE(has(refused({"recover"}), "--accept_damage uses its copy"));
  const std::string recovered = logjam({"recover", "--accept_damage"});
  EXPECT_TRUE(has(recovered, "recovered              1000 transactions")) << recovered;
  EXPECT_TRUE(has(recovered, "may be one generation old")) << recovered;
}

TEST_F(Lives, AKilledCheckpointAndARunThatNeverBeganAreTrimmed) {
  logjam(run({}));
  // The manifest is that of two killed processes: the first was killed during a checkpoint, and the
  // second before its run began.
  const FoundManifest found = find_manifest({log_});
  LogManifest manifest(found.directories, found.manifest);
  Checkpoint checkpoint;
  checkpoint.number = 1;
  checkpoint.id = 11;
  ManifestRun never;
  never.header.ordinal = 2;
  never.header.run = 22;
  manifest.change([&](Manifest& changed) {
    changed.checkpoints.push_back(checkpoint);
    changed.runs.push_back(never);
    changed.last_ordinal = 2;
    changed.last_checkpoint = 1;
  });
  ASSERT_EQ(make_directory_of(checkpoint_directory(log_, 1), 11), 0);
  std::ofstream(log_ + "/checkpoint-1/rows-0") << std::string(5000, 'x');
  std::filesystem::create_directory(log_ + "/run-2");
  std::ofstream(log_ + "/run-2/stream-0.log.db") << std::string(9000, '\0');
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
  const auto copy = directory_.path_of("copy");
  std::filesystem::copy(log_, copy, std::filesystem::copy_options::recursive);
  const std::string trimmed = logjam({"trim"});
  EXPECT_TRUE(has(trimmed, "trimmed                2 runs and checkpoints, 14")) << trimmed;
  EXPECT_TRUE(has(logjam({"trim"}), "trimmed                0 runs and checkpoints, 0 bytes"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-2"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/checkpoint-1"));
  // The next run removes the same files, too.
  std::filesystem::remove_all(log_);
  std::filesystem::rename(copy, log_);
  logjam(run({"--continue"}));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/run-2"));
  EXPECT_FALSE(std::filesystem::exists(log_ + "/checkpoint-1"));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              2000 transactions"));
}

TEST_F(Lives, ACheckpointOfARunThatNeverBeganMayBeCutShort) {
  logjam(run({}));
  const FoundManifest found = find_manifest({log_});
  LogManifest manifest(found.directories, found.manifest);
  manifest.change([](Manifest& changed) {
    changed.runs[0].begun = false;
    changed.checkpoints.emplace_back().number = 1;
    changed.last_checkpoint = 1;
  });
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              0 transactions"));
  logjam({"recover", "--checkpoint"});
  logjam(run({"--continue"}));
  EXPECT_TRUE(has(logjam({"recover"}), "recovered              1000 transactions"));
}

TEST_F(Lives, OneBadHeaderIsDamageAndItsRecordsCanBeUsed) {
  logjam(run({"--log=pwal"}));
  damage(log_ + "/stream-1.log.db", 20);
  EXPECT_TRUE(has(refused({"recover"}), "stream-1.log.db is not a log file"));
  EXPECT_TRUE(has(logjam({"recover", "--accept_damage"}), "recovered              1000 trans"));
}

// Only a file's header is damaged, so the continued log has all records.
TEST_F(Lives, ARunThatFollowsABadHeaderIsRecovered) {
  logjam(run({"--log=pwal"}));
  damage(log_ + "/stream-1.log.db", 20);
  logjam(run({"--continue", "--accept_damage"}));
  const std::string recovered = logjam({"recover"});
  EXPECT_TRUE(has(recovered, "recovered              2000 transactions")) << recovered;
  EXPECT_TRUE(has(recovered, "stream-1.log.db is not a log file")) << recovered;
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

// A recovery executes the logged commands of one run on the rows of an earlier run or of a
// checkpoint. The checks of the recovery must count the changes of all commands.
TEST_F(Lives, ARecoveryCountsCommandsFromTheRowsThatTheyFound) {
  const auto run_tpcb = [&](const std::string& scheme, const std::string& more) {
    logjam({"run", "--workload=tpcb", "--tpcb_branches=2", "--tpcb_accounts=50", "--threads=2",
            "--transactions=50", "--log_buffer_mb=1", "--log=" + scheme, more});
  };
  const auto recovers = [&](const std::vector<std::string>& words) {
    const std::string recovered = logjam(words);
    EXPECT_FALSE(has(recovered, "FAIL")) << recovered;
    return recovered;
  };
  run_tpcb("silo", "--overwrite");
  run_tpcb("command", "--continue");
  EXPECT_TRUE(has(recovers({"recover"}), "200 found, 200 recovered and acknowledged"));
  run_tpcb("poplar", "--continue");
  EXPECT_TRUE(has(recovers({"recover"}), "rows history           300"));
  recovers({"recover", "--checkpoint"});
  run_tpcb("command", "--continue");
  EXPECT_TRUE(has(recovers({"recover"}), "400 found, 400 recovered and acknowledged"));
}

TEST_F(Lives, WhatDoesNotFitIsRefusedInOneSentence) {
  logjam(run({"--log=centr"}));
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
