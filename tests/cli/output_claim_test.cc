// Commands write their rows even if stdout is a closed pipe, and never replace another file.
#include <gtest/gtest.h>

#include <string>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class KeptOutput : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  // Runs `script` in the directory. $RUN is a short run, without a log.
  Ended in_directory(const std::string& script) {
    return shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
                 "; RUN=\"$LOGJAM run " + std::string(kShort) + "--log=none --device=null \"; " +
                 script);
  }
  // Writes a log of two streams to the directory `log`.
  static constexpr char kLog[] =
      "$LOGJAM run --wal_dir=log --log=pwal --log_prealloc_mb=1 --log_buffer_mb=1 "
      "--history=history --history_mb=1 --workload=ledger --ledger=keys:50 --threads=2 --warmup=0 "
      "--transactions=50 --seconds=3600 >/dev/null 2>&1; ";
  static constexpr char kShort[] =
      "--workload=tpcb --tpcb_branches=1 --tpcb_accounts=500 --threads=1 --warmup=0 "
      "--transactions=20 --seconds=3600 ";
  // Prints the number of lines of a CSV file, and 1 if all lines have the same number of cells.
  static constexpr char kIsTable[] =
      "python3 -c 'import csv, sys; rows = list(csv.reader(sys.stdin)); "
      "print(len(rows), len(set(map(len, rows))))' ";
};

TEST_F(KeptOutput, AReaderOfStdoutThatIsGoneCostsNothing) {
  // The pipe is closed before the run begins. With `| true`, the pipe might stay open during the
  // whole run.
  const Ended ended = in_directory(
      "mkfifo gone; exec 3<>gone 4>gone; exec 3>&-; "
      "$RUN --csv=r.csv --json=r.json --cdf=cdf >&4 2>/dev/null; echo $?; wc -l < r.csv; "
      "wc -l < r.json; wc -l < cdf; $RUN --csv=- >&4 2>/dev/null; echo $?; "
      "$RUN --timeline=/dev/stdout >&4 2>/dev/null; echo $?");
  EXPECT_EQ(ended.output, "0\n2\n1\n55\n0\n0\n");
}

TEST_F(KeptOutput, AFullStdoutIsTheMachinesFailure) {
  const Ended ended = in_directory(
      kLog + std::string("for command in \"$RUN\" \"$LOGJAM recover --wal_dir=log\" "
                         "\"$LOGJAM dump --wal_dir=log\" \"$LOGJAM dump --wal_dir=log --json=x\" "
                         "\"$LOGJAM trim --wal_dir=log\" \"$LOGJAM list\" "
                         "\"$LOGJAM list --json\" \"$LOGJAM help\" \"$LOGJAM help columns\" "
                         "\"$LOGJAM run --help\" \"$LOGJAM --version\" "
                         "\"$LOGJAM micro --device=null --threads=1 --transactions=9\" "
                         "\"$RUN --csv=-\" \"$RUN --csv=/dev/stdout\"; do "
                         "$command 2>&1 >/dev/full | grep -c '^logjam: cannot write [s/]'; "
                         "$command >/dev/full 2>/dev/null; echo $?; done | "
                         "sort | uniq -c | tr -s ' '"));
  EXPECT_EQ(ended.output, " 14 1\n 14 3\n");
  EXPECT_EQ(in_directory("$LOGJAM list 2>&1 >&-; echo $?").output,
            "logjam: cannot write stdout: Bad file descriptor\n3\n");
}

TEST_F(KeptOutput, WhatKeepsNoTextGetsRowsAndIsNeverRead) {
  for (const char* way :
       {"--csv=- 2>/dev/null |", "--csv=/dev/stdout 2>/dev/null | grep -E '^(workload|tpcb),' |",
        "--csv=/dev/fd/3 3>&1 >/dev/null 2>&1 |"}) {
    EXPECT_EQ(in_directory(std::string("$RUN ") + way + kIsTable).output, "2 1\n") << way;
  }
  EXPECT_EQ(in_directory(std::string("mkfifo f; cat f > read & $RUN --csv=f >/dev/null 2>&1; "
                                     "echo $?; wait; ") +
                         kIsTable + "< read")
                .output,
            "0\n2 1\n");
  EXPECT_EQ(
      in_directory("for to in csv json cdf timeline; do $RUN --$to=/dev/null >/dev/null 2>&1; "
                   "echo $?; done")
          .output,
      "0\n0\n0\n0\n");
  // A command that writes several rows writes one header.
  EXPECT_EQ(in_directory(std::string("mkdir d; $LOGJAM device --wal_dir=d --seconds=0.001 --csv=- "
                                     "2>/dev/null | ") +
                         "grep -c ^device,")
                .output,
            "1\n");
}

TEST_F(KeptOutput, AFileThatIsStdoutKeepsTheRowAndTheSummary) {
  EXPECT_EQ(in_directory("$RUN --csv=/dev/stdout > out 2>/dev/null; "
                         "$RUN --cdf=/dev/fd/1 >> out 2>/dev/null; grep -c '^workload,' out; "
                         "grep -c '^tpcb,' out; grep -c '^tps ' out; grep -c '^1.000,' out")
                .output,
            "1\n1\n2\n1\n");
}

TEST_F(KeptOutput, ALineWithoutItsNewlineIsCompletedAndACutOneRefused) {
  const std::string two = "$RUN --csv=r.csv --json=r.json >/dev/null 2>&1; ";
  EXPECT_EQ(in_directory(two + "truncate -s -1 r.csv r.json; " + two + kIsTable +
                         "< r.csv; wc -l < r.json; head -n 1 r.csv | tr -d '\\n' > h.csv; "
                         "$RUN --csv=h.csv >/dev/null 2>&1; " +
                         kIsTable + "< h.csv")
                .output,
            "3 1\n2\n2 1\n");
  const auto refused = [&](const std::string& harm) {
    return in_directory("rm -f r.*; " + two + harm +
                        "; cp r.csv a; cp r.json b; $RUN --csv=r.csv 2>&1; $RUN --json=r.json 2>&1;"
                        " cmp r.csv a && cmp r.json b")
        .output;
  };
  EXPECT_EQ(
      refused("sed -i '2s/,[^,]*,[^,]*$//' r.csv; truncate -s -1 r.csv; truncate -s -9 r.json"),
      "logjam: --csv=r.csv ends within a row; remove that row, or name a new file\n"
      "logjam: --json=r.json ends within a JSON object; remove that line, or name a new "
      "file\n");
  EXPECT_EQ(refused("truncate -s 100 r.csv; echo '[]' > r.json"),
            "logjam: --csv=r.csv ends within the names of its columns; remove it, or name a new "
            "file\n"
            "logjam: --json=r.json holds no lines of JSON objects; name a new file\n");
  EXPECT_EQ(refused("sed -i 's/$/\\r/' r.csv; sed -i '1s/^/\\xef\\xbb\\xbf/' r.json"),
            "logjam: --csv=r.csv has lines that end in CR LF, as other programs write them; name a "
            "new file\n"
            "logjam: --json=r.json begins with a byte-order mark, which other programs add; name a "
            "new file\n");
  EXPECT_EQ(refused("sed -i '1s/^/\\xef\\xbb\\xbf/' r.csv; sed -i 's/}$/\\\"/' r.json; "
                    "truncate -s -1 r.json"),
            "logjam: --csv=r.csv begins with a byte-order mark, which other programs add; name a "
            "new file\n"
            "logjam: --json=r.json ends within a JSON object; remove that line, or name a new "
            "file\n");
}

// The shell limits the size of files. As on a full disk, only a part of the last row fits.
TEST_F(KeptOutput, ARowThatDoesNotFitIsTakenBack) {
  const Ended ended = in_directory(
      "trap '' XFSZ; $RUN --csv=r.csv >/dev/null 2>&1; cp r.csv before; ulimit -f 16; "
      "while true; do $RUN --csv=r.csv 2>err >/dev/null; status=$?; [ $status = 0 ] || break; "
      "cp r.csv before; done; echo $status; "
      "tail -n 1 err; cmp r.csv before && " +
      std::string(kIsTable) + "< r.csv | sed 's/^[0-9]* //'");
  EXPECT_EQ(ended.output, "3\nlogjam: cannot write r.csv: File too large\n1\n");
}

TEST_F(KeptOutput, NoFileOfAnotherKindIsReplaced) {
  const std::string outputs =
      "for to in timeline cdf history; do $RUN --$to=f 2>&1; echo $?; done; "
      "$LOGJAM dump --wal_dir=log --dependencies=f 2>&1; echo $?; "
      "$LOGJAM recover --wal_dir=log --history=history --export_history=f 2>&1; echo $?; ";
  const std::string refusals =
      "logjam: --timeline=f is not a time line, and is not replaced; name another file\n2\n"
      "logjam: --cdf=f is not a distribution of latencies, and is not replaced; name another "
      "file\n2\n"
      "logjam: --history=f is not a history, and is not replaced; name another file\n2\n"
      "logjam: --dependencies=f is not a list of dependencies, and is not replaced; name another "
      "file\n2\n"
      "logjam: --export_history=f is not an exported history, and is not replaced; name another "
      "file\n2\n";
  EXPECT_EQ(in_directory(kLog + std::string("echo precious > f; ") + outputs + "cat f").output,
            refusals + "precious\n");
  EXPECT_EQ(in_directory("mv f g; ln -s g f; " + outputs + "cat g").output,
            refusals + "precious\n");
  // A second run with one of these flags replaces the file of the first run.
  EXPECT_EQ(in_directory("for turn in 1 2; do for to in timeline cdf history; do "
                         "$RUN --$to=$to --history_mb=1 >/dev/null 2>&1; echo $?; done; "
                         "$LOGJAM dump --wal_dir=log --dependencies=d >/dev/null; echo $?; done | "
                         "sort | uniq -c | tr -s ' '")
                .output,
            " 8 0\n");
}

TEST_F(KeptOutput, AHistoryReplacesNoDeviceAndFollowsNoLink) {
  const Ended ended = in_directory(
      "echo mine > victim; ln -s victim h.new; $RUN --history=h 2>&1; cat victim; rm h.new; "
      "ln -s nothing h.new; $RUN --history=h --history_mb=1 >/dev/null 2>&1; echo $?; ls h nothing "
      "2>/dev/null; echo mine > h.2; $RUN --history=h 2>&1; cat h.2; "
      "ln -s /dev/null n; $RUN --history=n 2>&1; mkfifo p; $RUN --history=p 2>&1");
  EXPECT_EQ(ended.output,
            "logjam: --history=h.new is not a history, and is not replaced; name another file\n"
            "mine\n0\nh\n"
            "logjam: --history=h.2 is not a history, and is not replaced; name another file\n"
            "mine\n"
            "logjam: --history=n is no regular file; name another file\n"
            "logjam: --history=p is no regular file; name another file\n");
}

TEST_F(KeptOutput, TwoOutputsHaveTwoFiles) {
  const Ended ended = in_directory(
      "ln -s r.csv link; $RUN --csv=r.csv --cdf=./r.csv 2>&1; $RUN --json=r.csv --timeline=link "
      "2>&1; $RUN --csv=link --history=r.csv 2>&1; "
      "$RUN --csv=- --json=- 2>&1 | cat; ls");
  EXPECT_EQ(ended.output,
            "logjam: --cdf=./r.csv and --csv=r.csv are one file; two outputs need two files\n"
            "logjam: --timeline=link and --json=r.csv are one file; two outputs need two files\n"
            "logjam: --history=r.csv and --csv=link are one file; two outputs need two files\n"
            "logjam: --json=- and --csv=- are one file; two outputs need two files\n"
            "link\n")
      << "a refused command leaves no file";
}

TEST_F(KeptOutput, NoOutputHasTheNameOfALogsFile) {
  const Ended ended = in_directory(
      "mkdir w; ln -s w/manifest link; for flag in csv history; do "
      "for file in w/manifest w/stream-0.log.db.7 ./manifest.copy link; do "
      "[ $flag$file = historylink ] || $RUN --$flag=$file 2>&1; done; done; ls w");
  std::string expected;
  for (const char* output :
       {"csv=w/manifest", "csv=w/stream-0.log.db.7", "csv=./manifest.copy", "csv=link",
        "history=w/manifest", "history=w/stream-0.log.db.7", "history=./manifest.copy"}) {
    expected +=
        "logjam: --" + std::string(output) + " has the name of a log's file; name another file\n";
  }
  EXPECT_EQ(ended.output, expected);
}

TEST_F(KeptOutput, ARowSaysNumbersAsTheyWereGiven) {
  const Ended ended = in_directory(
      "$LOGJAM run --workload=ycsb --ycsb_records=100 --ycsb_distribution=zipf --log=none "
      "--device=null --threads=1 --ycsb_theta=0.999999 --seconds=0.1 --warmup=0.2 --rate=100000 "
      "2>/dev/null | grep -oE 'theta [0-9.]*|--(seconds|warmup|ycsb_theta|rate)=[^ ]*'");
  EXPECT_EQ(ended.output,
            "theta 0.999999\n--rate=100000\n--seconds=0.1\n--warmup=0.2\n--ycsb_theta=0.999999\n");
}

}  // namespace
}  // namespace logjam
