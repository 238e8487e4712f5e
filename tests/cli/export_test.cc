// `logjam recover --export` and `--export_history`: their files, and their refusals.
#include <gtest/gtest.h>

#include <string>

#include "cli/recovered_log.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class Export : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  // Runs the workload, and then `script` in the run's directory.
  Ended after(const std::string& workload, const std::string& script) {
    return shell(
        "LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
        " && mkdir log && \"$LOGJAM\" run --wal_dir=log --device=file --threads=1 "
        "--warmup=0 --transactions=50 --seconds=3600 --log_prealloc_mb=4 --log_buffer_mb=1 " +
        workload + " >/dev/null 2>&1 && " + script);
  }
  static constexpr char kTpcb[] = "--workload=tpcb --tpcb_branches=1 --tpcb_accounts=500";
  static constexpr char kLedger[] = "--workload=ledger --ledger=keys:20 --history=history";
  static constexpr char kRecover[] = "\"$LOGJAM\" recover --wal_dir=log --threads=1 ";
};

TEST_F(Export, WritesEveryTableWithAHeader) {
  const Ended ended = after(kTpcb, std::string(kRecover) +
                                       "--export=tables | grep '^exported' && cd tables && "
                                       "for table in *; do head -n 1 $table; "
                                       "wc -l < $table; done");
  EXPECT_EQ(ended.output,
            "exported               4 tables to tables\n"
            "a_id,a_b_id,a_balance\n501\n"
            "b_id,b_balance\n2\n"
            "h_t_id,h_b_id,h_a_id,h_delta,h_time\n51\n"
            "t_id,t_b_id,t_balance\n11\n");
}

TEST(ExportOfAnotherProgramsLog, IsRefusedWithTheRemedy) {
  const LogDirectory directory;
  LogOptions options = log_options(*find_scheme("centr"), directory, "file", 1);
  options.header.flags["workload"] = "gone";
  Log(options).stop();  // a log that is open makes open_log() wait
  RecoveryOptions recovery;
  recovery.directories = {directory.path()};
  EXPECT_REFUSED(open_log(recovery),
                 "^the log is of the workload gone, which this logjam does not have: recover it "
                 "with a logjam that is built with the workload's file$");
}

TEST_F(Export, RefusesADirectoryThatHoldsSomething) {
  const Ended ended = after(kTpcb, std::string("mkdir tables && touch tables/mine && ") + kRecover +
                                       "--export=tables 2>&1 >/dev/null; echo $?; ls tables");
  EXPECT_EQ(ended.output, "logjam: cannot export to tables, which is not empty\n2\nmine\n");
}

TEST_F(Export, RefusesADirectoryThatTheLogMayWant) {
  const Ended ended =
      after(kTpcb, std::string("ls log > before; ") + kRecover +
                       "--export=log/run-2 2>&1 >/dev/null; echo $?; ls log | cmp - before");
  EXPECT_EQ(ended.output,
            "logjam: cannot export to log/run-2, which is inside a log's directory\n2\n");
}

// The shell limits the size of files. A write beyond this limit fails, as on a full disk.
TEST_F(Export, AFullDiskIsOneSentence) {
  const Ended ended = after(kTpcb, std::string("trap '' XFSZ; ulimit -f 8; ") + kRecover +
                                       "--export=tables 2>&1 >/dev/null; echo $?");
  EXPECT_EQ(ended.output, "logjam: cannot write tables/account.csv: File too large\n3\n");
}

TEST_F(Export, TheHistoryEndsWithTheRecoveredRows) {
  const Ended ended =
      after(kLedger, std::string(kRecover) +
                         "--history=history --export_history=out >/dev/null && "
                         "grep -c ':type :ok' out; tail -n 1 out | grep -o ':r [0-9]*' | wc -l");
  EXPECT_EQ(ended.output, "51\n84\n") << "20 rows of the ledger, 64 cells";
}

TEST_F(Export, RefusesWhatIsNoHistory) {
  const Ended ended = after(
      kTpcb, std::string(kRecover) + "--export_history=out 2>&1 >/dev/null; echo $?; " + kRecover +
                 "--history=log --export_history=out 2>&1 >/dev/null; echo $?; " +
                 "\"$LOGJAM\" run --workload=tpcb --tpcb_branches=1 --tpcb_accounts=500 "
                 "--transactions=10 --history=history --history_mb=4 --wal_dir=log "
                 "--log_prealloc_mb=1 --overwrite >/dev/null 2>&1; " +
                 kRecover + "--history=history --export_history=out 2>&1 >/dev/null; echo $?");
  EXPECT_EQ(ended.output,
            "logjam: --export_history exports the file of --history, which is missing\n2\n"
            "logjam: cannot use the history log: not a file\n2\n"
            "logjam: only the ledger's history says what was read: history cannot be exported\n"
            "2\n");
}

}  // namespace
}  // namespace logjam
