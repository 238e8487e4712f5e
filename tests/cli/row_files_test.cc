// The files that the commands write for scripts: --csv, --json and --cdf.
#include <gtest/gtest.h>

#include <string>

#include "platform/placement.h"
#include "tests/logging/watchdog.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr char kTpcb[] = "--workload=tpcb --tpcb_branches=1 --tpcb_accounts=500 ";
constexpr char kShort[] =
    "--threads=2 --warmup=0 --transactions=200 --seconds=3600 --log_buffer_mb=1 ";

class RowFiles : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  // Runs `script` in the directory. $RUN is a run that writes a log into the directory.
  Ended in_directory(const std::string& script, const std::string& run_flags = kTpcb) {
    return shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
                 "; RUN=\"$LOGJAM run --wal_dir=log --overwrite --log_prealloc_mb=4 " + kShort +
                 run_flags + "\"; " + script);
  }
};

// Compares the last rows of a.csv and of a.json, column by column.
constexpr char kSame[] = R"( && python3 -c '
import csv, json
row = list(csv.DictReader(open("a.csv")))[-1]
loaded = json.loads(open("a.json").readlines()[-1])
assert list(row) == list(loaded), (list(row), list(loaded))
kinds = set()
for name, value in loaded.items():
    kinds.add(type(value).__name__)
    text = row[name]
    if value is None: assert text == "", name
    elif isinstance(value, bool): assert text == str(value).lower(), name
    elif isinstance(value, (int, float)): assert float(text) == value, name
    elif isinstance(value, dict):
        assert text == " ".join(f"{key}={count:.2f}" for key, count in value.items()), name
    elif isinstance(value, list): assert text == " ".join(f"{one:.2f}" for one in value), name
    else: assert text == value, name
print(" ".join(sorted(kinds)), row["flags"].count("--json=a.json"))
')";

TEST_F(RowFiles, JsonHasTheColumnsAndValuesOfCsv) {
  const std::string files = " --csv=a.csv --json=a.json >/dev/null 2>&1";
  EXPECT_EQ(in_directory("$RUN --log=eleda" + files + kSame).output,
            "NoneType bool dict float int list str 1\n");
  // The facts of a disk are bools, and a file system in memory has none.
  EXPECT_EQ(in_directory("rm a.*; \"$LOGJAM\" recover --wal_dir=log" + files + kSame +
                         " | sed 's/ bool//'")
                .output,
            "NoneType float int str 1\n");
  EXPECT_EQ(
      in_directory("rm a.*; \"$LOGJAM\" micro --log=aether-cd --device=null --transactions=100 "
                   "--logs_per_commit=2" +
                   files + kSame)
          .output,
      "NoneType bool dict float int str 1\n");
}

TEST_F(RowFiles, JsonAloneLeavesNothingElseOnStdout) {
  for (const char* flag : {"--json", "--json=-"}) {
    const Ended ended = in_directory(std::string("$RUN ") + flag + " 2>said; cat said | wc -l");
    const size_t line = ended.output.find('\n');
    ASSERT_NE(line, std::string::npos);
    EXPECT_EQ(ended.output[0], '{');
    EXPECT_EQ(ended.output.substr(line - 1, 2), "}\n");
    EXPECT_GT(std::stoi(ended.output.substr(line + 1)), 40) << "the summary is on stderr";
  }
}

// The percentiles of the row must lie on the curve that --cdf writes.
TEST_F(RowFiles, TheDistributionIsThatOfTheRow) {
  const std::string check = R"( >/dev/null 2>&1 && python3 -c '
import csv
row = next(csv.DictReader(open("a.csv")))
curve = [(p["fraction"], p["latency_us"]) for p in csv.DictReader(open("cdf.csv"))]
tail = [0.95, 0.96, 0.98, 0.99, 0.995, 0.999, 1]
assert [f for f, _ in curve] == ["%.3f" % f for f in [i / 100 for i in range(2, 95, 2)] + tail]
latencies = [float(us) for _, us in curve]
assert latencies == sorted(latencies)
at = dict(curve)
for name, fraction in (("p50", "0.500"), ("p95", "0.950"), ("p99", "0.990"), ("max", "1.000")):
    assert row["commit_%s_us" % name] == at[fraction], name
print("same", latencies[0] > 0)
')";
  EXPECT_EQ(in_directory("$RUN --csv=a.csv --cdf=cdf.csv" + check).output, "same True\n");
  EXPECT_EQ(in_directory("rm *.csv; \"$LOGJAM\" micro --device=sim:100 --wal_dir=log --overwrite "
                         "--threads=1 --transactions=100 --logs_per_commit=1 --log_prealloc_mb=1 "
                         "--log_buffer_mb=1 "
                         "--csv=a.csv --cdf=cdf.csv" +
                         check)
                .output,
            "same True\n");
}

// The run has two workers on one core. The row has the mean of the flush gaps in the run, of which
// the first is 200 us.
TEST_F(RowFiles, AGapThatTheRunChoosesFollowsItsLatencyAndItsCost) {
  const auto mean_gap = [&](const std::string& wanted, double seconds) {
    return std::stod(
        in_directory("taskset -c $(taskset -pc $$ | sed 's/.*[ ,-]//') $LOGJAM run --wal_dir=log "
                     "--overwrite --log_prealloc_mb=64 --threads=2 "
                     "--device=sim:50 --warmup=0.2 --noverify --seconds=" +
                     std::to_string(seconds) + " --flush_gap_us=" + wanted + " --csv=a.csv " +
                     kTpcb + R"( >/dev/null 2>&1 && python3 -c '
import csv
row = next(csv.DictReader(open("a.csv")))
print(dict(pair.split("=") for pair in row["scheme_counters"].split())["gap_us_mean"])
'; rm a.csv)")
            .output);
  };
  // A run needs many writes to choose its gap. On a busy core a run makes few writes per second, so
  // the loop tries longer runs.
  const auto until = [&](const std::string& wanted, const auto& is_there) {
    const Watchdog watchdog("a run does not choose the gap that it should");
    for (double seconds = 0.4; !is_there(mean_gap(wanted, seconds)); seconds *= 2) continue;
  };
  EXPECT_EQ(mean_gap("70", 0.1), 70);
  until("auto:1", [](double us) { return us < 150; });
  until("auto:100000", [](double us) { return us > 300; });
  // Each write delays a worker, so the run must choose a long gap.
  until("auto", [](double us) { return us > 300; });
}

// A run of TPC-B may insert 200 MB per second. Before the start, the run allocates memory for
// inserts at this rate during its whole time. If --transactions limits the inserts to less memory,
// it allocates only this memory.
TEST_F(RowFiles, ARunHasTheMemoryForItsInsertsWhenItStarts) {
  const auto memory_mb = [&](const std::string& length) {
    return std::stod(in_directory("$LOGJAM run --log=none --warmup=0 --noverify " + length +
                                  " --csv=a.csv " + kTpcb +
                                  R"( >/dev/null 2>&1 && python3 -c '
import csv
print(list(csv.DictReader(open("a.csv")))[-1]["memory_start_mb"])
')")
                         .output);
  };
  const Watchdog watchdog("a run takes no memory for its inserts");
  const double least = memory_mb("--threads=1 --seconds=0.5 --transactions=1");
  // On a busy core, --seconds may be too short for the allocation, so the loop tries longer runs.
  for (double seconds = 0.5;
       memory_mb("--threads=1 --seconds=" + std::to_string(seconds)) < least + 20; seconds *= 2) {
  }
  const std::string more_than_cores = std::to_string(platform::core_count() + 1);
  EXPECT_LT(memory_mb("--seconds=0.5 --threads=" + more_than_cores), least + 20);
}

// The streams' bandwidths do not count bytes that are flushed after the measured time, and have two
// decimals. On a busy machine the bandwidths are small, so rounding errors are large. The test
// allows for both.
TEST_F(RowFiles, TheStreamsBandwidthsAddUpToTheLogs) {
  const Ended ended = in_directory(
      "\"$LOGJAM\" run --log=dlog-r --sockets=3 --wal_dir=log --threads=1 --warmup=0 "
      "--transactions=5000 --seconds=600 --device=sim:0 --log_prealloc_mb=1 --log_buffer_mb=1 "
      "--commit=sync --csv=a.csv " +
      std::string(kTpcb) + R"(>/dev/null 2>&1; python3 -c '
import csv
row = next(csv.DictReader(open("a.csv")))
streams = [float(mb_s) for mb_s in row["log_mb_s_streams"].split()]
written = dict(pair.split("=") for pair in row["scheme_counters"].split())
syncs = float(written["sync_record_bytes"]) * 1e-6 / float(row["seconds"])
whole = float(row["log_mb_s"]) + syncs
print(len(streams), all(0.2 * whole < one < 0.5 * whole for one in streams),
      abs(sum(streams) - whole) < 0.05 * whole + 0.02 or (streams, whole))
')");
  EXPECT_EQ(ended.output, "3 True True\n");
}

// Returns a script that prints columns of a recovery's row.
std::string columns(const std::string& names) {
  return "; python3 -c '\nimport csv\nrows = "
         "list(csv.DictReader(open(\"r.csv\")))\nprint(len(rows), "
         "*(rows[-1][name] or \"-\" for name in \"" +
         names + "\".split()))\n'";
}

TEST_F(RowFiles, ARecoveryIsARow) {
  const Ended ended = in_directory(
      "$RUN --log=pwal >/dev/null 2>&1 && \"$LOGJAM\" recover --wal_dir=log --threads=1 "
      "--replay=merge --csv=r.csv >said 2>&1; echo $?; grep -o '[0-9]* transactions, [0-9]* "
      "records, [0-9]* bytes' said" +
      columns("transactions records bytes") +
      columns("workload log log_records device streams "
              "directories log_threads threads replay "
              "read_mb_s beyond_cut incomplete verified "
              "unsafe damage error"));
  std::string expected = ended.output;
  ASSERT_EQ(expected.substr(0, 2), "0\n");
  // Makes "1 400 412 1234" from "400 transactions, 412 records, 1234 bytes".
  const size_t line = expected.find('\n', 2);
  std::string said = expected.substr(2, line - 2), numbers = "1";
  for (size_t at = 0; at < said.size();) {
    const size_t end = said.find(' ', at);
    numbers += " " + said.substr(at, end - at);
    at = said.find(", ", end);
    if (at == std::string::npos) break;
    at += 2;
  }
  EXPECT_EQ(numbers.find("1 400 "), 0u);
  EXPECT_EQ(expected.substr(line + 1),
            numbers + "\n1 tpcb pwal txn,range file 2 1 2 1 merge 0.0 0 0 passed - - -\n");
}

// The test overwrites a byte of the first record. Later records vouch for this record, so recovery
// must report damage and not the end of the log.
TEST_F(RowFiles, ARecoveryWhoseChecksFailIsARowToo) {
  const std::string recover = "\"$LOGJAM\" recover --wal_dir=log --csv=r.csv >/dev/null 2>&1 ";
  const Ended ended = in_directory(
      "$RUN --log=nvmd --history=history >/dev/null 2>&1; "
      "printf '\\377' | dd of=log/stream-0.log.db bs=1 seek=4136 conv=notrunc 2>/dev/null; " +
          recover + "; echo $?; " + recover + "--accept_damage --history=history; echo $?; " +
          recover + "--accept_damage --noverify; echo $?" + columns("verified error") +
          R"(; python3 -c '
import csv
for row in csv.DictReader(open("r.csv")):
    print(row["verified"] or "-", row["damage"].split(",")[0].split(" and ")[0])
')",
      "--workload=ledger --ledger=keys:50 --device=sync ");
  EXPECT_EQ(ended.output,
            "4\n4\n0\n3 - -\n"
            "FAILED stream 0 ends at byte 0\nFAILED stream 0 ends at byte 0\n"
            "- stream 0 ends at byte 0\n");
}

}  // namespace
}  // namespace logjam
