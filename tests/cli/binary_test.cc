// What build/logjam prints where, and how it ends: help, refusals, diagnostics, signals.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/shell.h"

namespace logjam {
namespace {

constexpr char kRun[] =
    "\"$LOGJAM\" run --workload=ycsb --ycsb_records=1000 --device=null --threads=1 --warmup=0 "
    "--v=1 ";

TEST(Binary, EveryWayToAskForHelpPrintsTheSame) {
  const Ended help = shell("\"$LOGJAM\" help 2>&1");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.output.find("logjam run "), 0u);
  EXPECT_LT(help.output.find("    -wal_dir ("), help.output.find("    -log_dir ("));
  EXPECT_EQ(shell("\"$LOGJAM\" --help 2>&1").output, help.output);
  EXPECT_EQ(shell("\"$LOGJAM\" run --help 2>&1").output, help.output);
}

TEST(Binary, ARefusalIsOneSentence) {
  const Ended refused = shell("\"$LOGJAM\" run --threads=0 2>&1 >/dev/null");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output, "logjam: --threads=0 is outside 1 to 1024\n");
}

TEST(Binary, DiagnosticsSayHowSevereAndWhenOnStderr) {
  const Ended ran = shell(std::string(kRun) + "--seconds=0.05 2>&1 >/dev/null");
  EXPECT_EQ(ran.status, 0);
  for (const char* phase : {"load: ", "loaded ycsb", "warm-up: ", "measure: ", "drain: "}) {
    const std::regex line(std::string(R"(\nI\d{8} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.cc:\d+\] )") +
                          phase);
    EXPECT_TRUE(std::regex_search("\n" + ran.output, line)) << phase << "\n" << ran.output;
  }
}

// Sends the signal while the run measures. Returns what the run printed, and "status N". The
// shell's own stderr, where it names the signal, is thrown away.
std::string signalled(const std::string& signal) {
  return shell("exec 2>/dev/null; said=$(mktemp); trap 'rm -f \"$said\"' EXIT; " +
               std::string(kRun) +
               "--seconds=100 2>\"$said\" & pid=$!\n"
               "until grep -q 'measure: ' \"$said\"; do kill -0 $pid || break; sleep 0.02; done\n"
               "kill -" +
               signal + " $pid; wait $pid; echo status $?; cat \"$said\"")
      .output;
}

TEST(CrashSignals, CtrlCEndsARunInOrder) {
  for (const char* signal : {"INT", "TERM"}) {
    const std::string output = signalled(signal);
    EXPECT_TRUE(std::regex_search(output, std::regex("interrupted +true\n"))) << output;
    EXPECT_NE(output.find("status 0\n"), std::string::npos) << output;
  }
}

TEST(CrashSignals, ADeadlySignalLeavesAStackTrace) {
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
