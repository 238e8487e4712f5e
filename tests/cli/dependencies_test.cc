// `logjam dump --dependencies`: its file, its row, and its refusals.
#include <gtest/gtest.h>

#include <string>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class DumpDependencies : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  // Makes a run of 800 transactions, and then runs `script` in the run's directory.
  Ended after(const std::string& log, const std::string& script) {
    return shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
                 " && \"$LOGJAM\" run --wal_dir=log --overwrite --workload=tpcb --tpcb_branches=1 "
                 "--tpcb_accounts=5000 --threads=2 --warmup=0 --transactions=400 --seconds=3600 "
                 "--log_prealloc_mb=1 --log_buffer_mb=1 --log=" +
                 log + " >/dev/null 2>&1; " + script);
  }
  static constexpr char kDump[] = "\"$LOGJAM\" dump --wal_dir=log ";
};

// All transactions update the row of the only branch, so they form one chain.
constexpr char kCheck[] = R"( >/dev/null && python3 -c '
import csv, statistics
row = next(csv.DictReader(open("row.csv")))
edges = [{name: int(value) for name, value in edge.items()}
         for edge in csv.DictReader(open("e.csv"))]
assert row["transactions"] == row["log_transactions"] == row["longest_path"] == "800", row
assert sorted(e["to_order"] for e in edges if e["from_order"] + 1 == e["to_order"]) == \
    list(range(1, 800))
assert all(e["from_sequence"] < e["to_sequence"] for e in edges)
crossing = [e for e in edges if e["from_stream"] != e["to_stream"]]
assert len(edges) == int(row["edges"]) and len(crossing) == int(row["cross_stream_edges"])
assert len([e for e in crossing if e["since"] < 5]) == int(row["tight_edges"])
assert abs(100 * len(crossing) / len(edges) - float(row["cross_stream_pct"])) < 0.01
gaps = [e["to_sequence"] - e["from_sequence"] for e in edges]
assert statistics.median_high(gaps) == int(row["median_gap"])
streams = {e[end] for e in edges for end in ("from_stream", "to_stream")}
print(row["log"], row["log_records"], row["streams"], len(streams), len(crossing) > len(edges) // 2)
')";

TEST_F(DumpDependencies, TheFileAndTheRowAgree) {
  const std::string dump = std::string(kDump) + "--dependencies=e.csv --csv=row.csv" + kCheck;
  EXPECT_EQ(after("dlog-r --sockets=8", dump).output, "dlog-r txn,range 8 8 True\n");
  EXPECT_EQ(after("dlog-r --sockets=8 --log_records=op", "rm *.csv; " + dump).output,
            "dlog-r op 8 8 True\n");
  EXPECT_EQ(after("centr", "rm *.csv; " + dump).output, "centr txn,range 1 1 False\n");
}

TEST_F(DumpDependencies, AWindowIsAPartOfTheFile) {
  const Ended ended = after("silo", std::string(kDump) + "--dependencies=all >/dev/null; " + kDump +
                                        "--dependencies=part "
                                        "--range=from:100,count:50 | grep -E "
                                        "'^(dump_from|transactions|longest_path)'; "
                                        "awk -F, 'NR == 1 || ($3 >= 100 && $6 < 150)' all | "
                                        "cmp - part && wc -l < part");
  const std::string row =
      "dump_from              100\ntransactions           50\nlongest_path           50\n";
  ASSERT_EQ(ended.output.substr(0, row.size()), row);
  EXPECT_GE(std::stoi(ended.output.substr(row.size())), 50);
}

TEST_F(DumpDependencies, RefusesALogOfCommandsAndWhatIsBeyondTheLog) {
  EXPECT_EQ(after("command", std::string(kDump) + "--dependencies=e.csv 2>&1; echo $?; ls").output,
            "logjam: the log of scheme command holds commands, which do not say what rows they "
            "wrote: it has no dependencies to dump\n2\nlog\n");
  EXPECT_EQ(after("centr", std::string(kDump) + "--json --range=from:800 2>&1; echo $?").output,
            "logjam: --range=from:800 is beyond the log, of 800 transactions\n2\n");
  EXPECT_EQ(after("centr", std::string(kDump) + "--dependencies=no/e 2>&1; echo $?").output,
            "logjam: cannot write --dependencies=no/e: No such file or directory\n2\n");
}

TEST_F(DumpDependencies, RecordsArePrintedUnlessDependenciesAreWanted) {
  const std::string count = " | grep -c 'txn 0:'";
  EXPECT_EQ(after("centr", kDump + count + "; " + kDump + "--csv=row.csv" + count).output,
            "400\n0\n");
}

}  // namespace
}  // namespace logjam
