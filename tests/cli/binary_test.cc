// The output and the exit status of build/logjam: help, refusals, diagnostics, signals.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "logging/format/log_file.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr char kRun[] =
    "\"$LOGJAM\" run --workload=ycsb --ycsb_records=1000 --device=null --threads=1 --warmup=0 "
    "--v=1 ";

TEST(Binary, HelpIsAboutTheCommandsAndThatOfACommandAboutItsFlags) {
  const Ended help = shell("\"$LOGJAM\" help 2>&1");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.output.find("logjam run "), 0u);
  EXPECT_EQ(shell("\"$LOGJAM\" --help 2>&1").output, help.output);
  const Ended run = shell("\"$LOGJAM\" run --help 2>&1");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find("logjam run: "), 0u);
  EXPECT_EQ(shell("\"$LOGJAM\" help run 2>&1").output, run.output);
  const Ended all = shell("\"$LOGJAM\" run --help=all 2>&1");
  EXPECT_EQ(all.status, 0);
  EXPECT_LT(all.output.find("\n  --wal_dir="), all.output.find("\n  --log_dir="));
}

TEST(Binary, DiagnosticsSayHowSevereAndWhenOnStderr) {
  const Ended ran = shell(std::string(kRun) + "--warmup=0.05 --seconds=0.05 2>&1 >/dev/null");
  EXPECT_EQ(ran.status, 0);
  for (const char* phase : {"load: ", "loaded ycsb", "warm-up: ", "measure: ", "drain: "}) {
    const std::regex line(std::string(R"(\nI\d{8} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.cc:\d+\] )") +
                          phase);
    EXPECT_TRUE(std::regex_search("\n" + ran.output, line)) << phase << "\n" << ran.output;
  }
}

TEST(Binary, RecoverEndsWithStatusFourOnADamagedLogUnlessToldToAcceptIt) {
  const TemporaryDirectory directory;
  const std::string log = " --wal_dir=" + directory.path() + " ";
  ASSERT_EQ(shell("\"$LOGJAM\" run --workload=ledger --ledger=keys:50 --log=nvmd --threads=1 "
                  "--device=sync --log_prealloc_mb=1 --log_buffer_mb=1 --transactions=200 "
                  "--seconds=3600 --warmup=0" +
                  log + ">/dev/null 2>&1")
                .status,
            0);
  const std::string recover = "\"$LOGJAM\" recover --verify --threads=1" + log;
  EXPECT_EQ(shell(recover).status, 0);

  std::fstream file(log_file_path(directory.path(), 0),
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(kLogHeaderBytes + 40);
  const auto byte = static_cast<char>(file.get() ^ 16);
  file.seekp(kLogHeaderBytes + 40);
  file.put(byte);
  file.close();

  const Ended refused = shell(recover);
  EXPECT_EQ(refused.status, 4);
  const std::regex sentence(
      "\nFAIL recovery: the log is damaged: stream 0 ends at byte 0 and was once durable up to "
      "byte "
      "[0-9]+, says the record at byte [0-9]+ of stream [01] \\(--accept_damage .*\\)\n");
  EXPECT_TRUE(std::regex_search(refused.output, sentence)) << refused.output;
  const Ended accepted = shell(recover + "--accept_damage");
  EXPECT_EQ(accepted.status, 0) << accepted.output;
  EXPECT_NE(accepted.output.find("\nWARNING recovery: the log is damaged: "), std::string::npos);
  EXPECT_EQ(shell("\"$LOGJAM\" dump" + log + ">/dev/null").status, 0);
}

TEST(Binary, RecoverKeepsToItsMemory) {
  const TemporaryDirectory directory;
  const std::string log = " --wal_dir=" + directory.path() + " ";
  ASSERT_EQ(shell("\"$LOGJAM\" run --workload=ycsb --ycsb_records=100 --ycsb_workload=A "
                  "--ycsb_value_bytes=1000 --log=silo --log_records=txn --threads=2 "
                  "--transactions=8000 --seconds=3600 "
                  "--warmup=0 --log_prealloc_mb=1" +
                  log + ">/dev/null 2>&1")
                .status,
            0);
  for (const char* replay : {"parallel", "merge"}) {
    const Ended ended = shell("\"$LOGJAM\" recover --verify --threads=1 --replay=mb:1," +
                              std::string(replay) + log);
    EXPECT_EQ(ended.status, 0) << ended.output;
    std::smatch found;
    ASSERT_TRUE(
        std::regex_search(ended.output, found, std::regex("\nrecovered .* ([0-9]+) bytes\n")));
    EXPECT_GT(std::stod(found[1]), 4e6) << "the log is too short for this test";
    ASSERT_TRUE(
        std::regex_search(ended.output, found, std::regex("\nreplay_memory_mb +([0-9.]+)\n")));
    EXPECT_LE(std::stod(found[1]), 1.1) << ended.output;
  }
}

// Runs logjam, and sends it the signal after the worker has begun. The main thread blocks signals
// until then, so an earlier signal could reach the worker's thread before this thread calls a
// function of logjam. Returns the run's output and "status N", without the stderr of the shell.
std::string signalled(const std::string& signal) {
  return shell(
             "exec 2>/dev/null; said=$(mktemp); trap 'rm -f \"$said\"' EXIT; "
             "env --default-signal=HUP " +  // nohup lets its child processes ignore SIGHUP
             std::string(kRun) +
             "--seconds=100 2>\"$said\" & pid=$!\n"
             "until grep -q 'measure: ' \"$said\" && grep -q worker-0 /proc/$pid/task/*/comm; do "
             "kill -0 $pid || break; sleep 0.02; done\n"
             "sleep 0.1; kill -" +
             signal + " $pid; wait $pid; echo status $?; cat \"$said\"")
      .output;
}

TEST(CrashSignals, CtrlCEndsARunInOrder) {
  for (const char* signal : {"INT", "TERM", "HUP"}) {
    const std::string output = signalled(signal);
    EXPECT_TRUE(std::regex_search(output, std::regex("interrupted +true\n"))) << output;
    EXPECT_NE(output.find("status 0\n"), std::string::npos) << output;
  }
}

TEST(CrashLiveLog, ARefusedCommandDoesNotHarmTheLogOfARunningOne) {
  const std::string output = shell(R"(
exec 2>/dev/null; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
"$LOGJAM" run --workload=ledger --ledger=keys:500 --log=pwal --threads=4 --commit=sync --warmup=0 \
  --seconds=100 --device=sync --log_prealloc_mb=1 --log_buffer_mb=1 --wal_dir="$d/log" \
  --history="$d/history" --v=1 2>"$d/said" & pid=$!
until grep -q 'measure: ' "$d/said"; do kill -0 $pid || break; sleep 0.02; done
other="--device=sync --threads=1 --wal_dir=$d/log"
for overwrite in false true; do
  "$LOGJAM" run --log=centr $other --overwrite=$overwrite 2>&1; echo "refused: status $?"
done
"$LOGJAM" micro --log=centr $other --overwrite 2>&1; echo "refused: status $?"
"$LOGJAM" recover --wal_dir="$d/log" 2>&1; echo "refused: status $?"
sleep 0.1; kill -9 $pid; wait $pid; echo "killed: status $?"
"$LOGJAM" recover --wal_dir="$d/log" --history="$d/history" --verify; echo "recovered: status $?"
"$LOGJAM" run --log=centr $other 2>&1; echo "refused: status $?"
)")
                                 .output;
  const auto count = [&output](const std::string& pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(output.begin(), output.end(), regex), {});
  };
  EXPECT_EQ(count("is in use by another process, a run or a recovery\nrefused: status 2\n"), 3)
      << output;
  EXPECT_EQ(count("is in use by another process, a run\nrefused: status 2\n"), 1) << output;
  EXPECT_EQ(count("killed: status 137\n"), 1) << output;
  EXPECT_EQ(count("ok   history: "), 1) << output;
  EXPECT_EQ(count("recovered +[1-9]"), 1) << output;
  EXPECT_EQ(count("recovered: status 0\n"), 1) << output;
  EXPECT_EQ(count("holds a log of scheme pwal, run .*--overwrite replaces it\nrefused: status 2\n"),
            1)
      << output;
}

TEST(CrashOverwrite, ARefusedCommandLeavesTheLogThatItWasToReplace) {
  const std::string output = shell(R"(
exec 2>/dev/null; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
run="$LOGJAM run --workload=ledger --ledger=keys:500 --device=sync --log_prealloc_mb=1 --threads=2"
run="$run --transactions=500 --warmup=0 --log_buffer_mb=1 --history_mb=1 --wal_dir=$d/log"
$run --log=pwal --history="$d/history" >"$d/said"; echo "first: status $?"
$run --log=centr --overwrite --history="$d/none/history" 2>&1; echo "refused: status $?"
$run --log=centr --overwrite --csv="$d/none/csv" 2>&1; echo "refused: status $?"
$run --log=centr --history="$d/history" 2>&1; echo "refused: status $?"
"$LOGJAM" recover --wal_dir="$d/log" --history="$d/history" --verify; echo "recovered: status $?"
)")
                                 .output;
  const auto found = [&output](const std::string& pattern) {
    return std::regex_search(output, std::regex(pattern));
  };
  EXPECT_TRUE(found("first: status 0\n")) << output;
  EXPECT_TRUE(found("cannot create --history=.*\nrefused: status 2\n")) << output;
  EXPECT_TRUE(found("cannot write --csv=.*\nrefused: status 2\n")) << output;
  EXPECT_TRUE(found("--overwrite replaces it\nrefused: status 2\n")) << output;
  EXPECT_TRUE(found("log +scheme pwal")) << output;
  EXPECT_TRUE(found("ok   history: ")) << output;
  EXPECT_TRUE(found("recovered: status 0\n")) << output;
}

TEST(CrashSignals, ARunThatEndsInItsWarmUpSaysThatItMeasuredNothing) {
  const std::string output =
      shell("exec 2>/dev/null; said=$(mktemp); trap 'rm -f \"$said\"' EXIT; " + std::string(kRun) +
            "--warmup=100 2>\"$said\" & pid=$!\n"
            "until grep -q 'warm-up: ' \"$said\"; do kill -0 $pid || break; sleep 0.02; done\n"
            "sleep 0.1; kill -INT $pid; wait $pid; echo status $?")
          .output;
  EXPECT_FALSE(std::regex_search(output, std::regex("\ntps "))) << output;
  for (const char* line :
       {"transactions +0\n", "seconds +0\\.000\n",
        "note: unsteady: the run ended in its warm-up, so nothing was measured\n",
        "interrupted +true\n", "status 0\n"}) {
    EXPECT_TRUE(std::regex_search(output, std::regex(line))) << line << output;
  }
}

TEST(Binary, ACountOfTransactionsIsMeasuredFromTheFirstOn) {
  const Ended ran = shell(
      "\"$LOGJAM\" run --workload=ycsb --ycsb_records=1000 --device=null --threads=2 "
      "--transactions=500 2>/dev/null");
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("\ntransactions +1000\n"))) << ran.output;
}

TEST(CrashSignals, ADeadlySignalLeavesAStackTrace) {
  for (const char* options : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (std::getenv(options) != nullptr) GTEST_SKIP() << "the sanitizer handles the signal itself";
  }
  const std::string output = signalled("SEGV");
  EXPECT_NE(output.find("status 139\n"), std::string::npos) << output;
  EXPECT_NE(output.find("*** SIGSEGV "), std::string::npos) << output;
  EXPECT_NE(output.find("logjam::run_command()"), std::string::npos) << output;
}

TEST(CrashSignals, ATerminatedProgramLeavesNoTrace) {
  const std::string output = shell(
                                 "exec 2>/dev/null; \"$LOGJAM\" micro --device=null --threads=1 "
                                 "--seconds=100 2>&1 & pid=$!\n"
                                 "sleep 0.3; kill -TERM $pid; wait $pid; echo status $?")
                                 .output;
  EXPECT_EQ(output.find("***"), std::string::npos) << output;
  EXPECT_NE(output.find("status 143\n"), std::string::npos) << output;
}

}  // namespace
}  // namespace logjam
