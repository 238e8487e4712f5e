// `run --record` and `run --workload=trace`, as their users run them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/code_blocks.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class TraceCommands : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  // Runs the script in a directory of the test. $RUN runs one thread, on logs that are replaced.
  Ended in_directory(const std::string& script) const {
    return shell(
        "LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
        "; RUN=\"$LOGJAM run --wal_dir=log --overwrite --threads=1 --warmup=0 "
        "--seconds=3600 --log_prealloc_mb=1 --log_buffer_mb=1 --history_mb=4\"; mkdir -p log; " +
        script);
  }
  void write(const char* name, const std::string& text) const {
    std::ofstream(directory_.path_of(name)) << text;
  }
};

TEST_F(TraceCommands, ThePagesTraceRunsAndIsProved) {
  const auto blocks = code_blocks("docs/WORKLOADS.md", "## A trace");
  ASSERT_GE(blocks.size(), 2u);
  write("trace.csv", blocks[0]);
  std::string commands = std::regex_replace(blocks[1], std::regex("build/logjam"), "$LOGJAM");
  commands = std::regex_replace(commands, std::regex("/var/tmp/logjam"), "log");
  commands = std::regex_replace(commands, std::regex("build/"), "");
  const Ended ended = in_directory("{ set -e; " + commands + "} >out 2>&1; echo $?; " +
                                   "grep -c '^ok' out; grep -E '^(transactions|warmup_s) ' out | "
                                   "tr -s ' '; sort tables/account.csv; wc -l <tables/history.csv");
  EXPECT_EQ(ended.output,
            "0\n6\nwarmup_s 0.000000\ntransactions 3\n"
            "1,\"5a\"\n2,\"3c\"\nkey,value\n2\n")
      << shell("cat " + directory_.path_of("out")).output;
}

// Both logs are continued by runs without transactions, which record the recovered rows.
TEST_F(TraceCommands, ARecordedTpccReplayedLeavesTheSameRowsAfterRecovery) {
  const Ended ended = in_directory(
      "mkdir a b; rows() { grep ^row, $1 | sort | md5sum; }; "
      "small=\"--workload=tpcc --tpcc_items=200 --tpcc_customers=20 --tpcc_warehouses=2\"; "
      "$RUN $small --wal_dir=a --threads=3 --transactions=300 --record=one.csv >out 2>&1 || cat "
      "out; "
      "$RUN --workload=trace --trace=one.csv --wal_dir=b --history=h >out 2>&1 || cat out; "
      "$LOGJAM recover --wal_dir=b --verify --history=h >out 2>&1 || cat out; "
      "go_on=\"--overwrite=false --continue --transactions=1\"; "
      "$RUN --workload=tpcc --wal_dir=a $go_on --record=two.csv >out 2>&1 || cat out; "
      "$RUN --workload=trace --wal_dir=b $go_on --record=three.csv >out 2>&1 || cat out; "
      "[ $(grep -c ^row, one.csv) -gt 800 ] && [ $(grep -c ^row, two.csv) -gt 1500 ] && "
      "[ \"$(rows two.csv)\" = \"$(rows three.csv)\" ] && [ \"$(rows one.csv)\" != \"$(rows "
      "two.csv)\" ] "
      "&& echo same; ls | grep -c new");
  EXPECT_EQ(ended.output, "same\n0\n");
}

TEST_F(TraceCommands, ARecordingReplacesOnlyARecording) {
  write("mine", "my text\n");
  const Ended ended = in_directory(
      "RUN=\"$RUN --workload=tpcb --tpcb_branches=1 --tpcb_accounts=5 --log=none "
      "--transactions=9\"; "
      "$RUN --record=mine 2>&1 >out; cat mine; mkfifo pipe; $RUN --record=pipe 2>&1 >out; $RUN "
      "--record=/dev/stdout 2>&1 >out; "
      "$RUN --record=no/where 2>&1 >out; $RUN --record=f --history=f 2>&1 >out; "
      "for i in 1 2; do $RUN --record=f >out 2>&1; grep -c begin f; done; "
      "ln -s mine f.new; $RUN --record=f 2>&1 >out; cat mine; rm f.new; "
      "trap '' XFSZ; ulimit -f 64; $RUN --record=f --transactions=500 >out 2>&1; echo $?; grep "
      "^logjam: out");
  EXPECT_EQ(
      ended.output,
      "logjam: --record=mine is not a recorded trace, and is not replaced; name another file\n"
      "my text\n"
      "logjam: --record=pipe is no regular file; name another file\n"
      "logjam: --record=/dev/stdout is no regular file; name another file\n"
      "logjam: cannot write --record=no/where: No such file or directory\n"
      "logjam: --history=f and --record=f are one file; two outputs need two files\n"
      "9\n9\n"
      "logjam: --record=f.new is not a recorded trace, and is not replaced; name another file\n"
      "my text\n"
      "3\nlogjam: cannot write f.new: File too large\n");
}

TEST_F(TraceCommands, TransactionsBeginAtTheirTimes) {
  write("times.csv", "op,table,key,time_us\nput,a,1,7000000\nput,a,2,7100000\nput,a,3,7400000\n");
  const Ended ended = in_directory(
      "RUN=\"$RUN --workload=trace --trace=times.csv --log=none\"; "
      "field() { grep \"^$1 \" out | tr -s ' ' | cut -d' ' -f2; }; "
      "$RUN --trace_speed=2 >out 2>&1 || cat out; field transactions; field backlog; "
      "awk -v s=$(field seconds) 'BEGIN { print (s >= 0.2 && s < 60) }'; "
      "$RUN --trace_speed=0.001 --seconds=0.2 >out 2>&1 || cat out; field transactions; "
      "$RUN --trace_speed=1 --rate=10 2>&1 >/dev/null; echo $?");
  EXPECT_EQ(
      ended.output,
      "3\n0\n1\n1\n"
      "logjam: the transactions of --workload=trace have times of their own, so --rate cannot "
      "go with them\n2\n");
}

// A recovery needs the file, which has the initial rows, from any directory.
TEST_F(TraceCommands, ARecoveryRefusesAnotherTrace) {
  write("t.csv", "op,table,key\nrow,a,1\nput,a,2\n");
  const Ended ended = in_directory(
      "$RUN --workload=trace --trace=t.csv >out 2>&1 || cat out; LOG=$PWD/log; T=$PWD; "
      "(cd /; $LOGJAM recover --wal_dir=$LOG --verify | grep ^ok | wc -l); "
      "mv t.csv u.csv; $LOGJAM recover --wal_dir=log 2>&1 >/dev/null | sed \"s:$T:T:\"; "
      "echo 'op,table,key\nrow,a,3\nput,a,2\n' >t.csv; "
      "$LOGJAM recover --wal_dir=log 2>&1 >/dev/null | sed \"s:$T:T:; s:[0-9a-f]\\{16\\}:SUM:g\"");
  EXPECT_EQ(ended.output,
            "2\n"
            "logjam: --trace=T/t.csv: No such file or directory\n"
            "logjam: --trace=T/t.csv: the file has changed: its checksum is SUM, not SUM\n");
}

// Four workers leave other rows than one, but a log of commands has the order of their commits.
TEST_F(TraceCommands, ALogOfCommandsLeavesTheRowsOfTheRun) {
  const std::string trace = std::filesystem::absolute("proof/small_trace.csv");
  const Ended ended = in_directory(
      "RUN=\"$RUN --workload=trace --log=command --threads=4 --history=h\"; "
      "recovered() { $LOGJAM recover --wal_dir=log --verify --history=h --export=$1 --threads=$2 "
      ">out 2>&1 || cat out; grep -c ^ok out; }; "
      "$RUN --trace=" +
      trace +
      " >out 2>&1 || cat out; recovered a 1; recovered b 3; "
      "$RUN --overwrite=false --continue >out 2>&1 || cat out; recovered c 3; "
      "$RUN --overwrite=false --continue --log=silo >out 2>&1 || cat out; recovered d 3; "
      "diff -r a b && echo same; [ $(cat a/*.csv | wc -l) -gt 50 ] && echo rows");
  EXPECT_EQ(ended.output, "3\n3\n3\n3\nsame\nrows\n");
}

}  // namespace
}  // namespace logjam
