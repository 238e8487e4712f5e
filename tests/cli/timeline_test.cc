// `logjam run --timeline`: the file of a run that ends, and of a run that is killed.
#include <gtest/gtest.h>

#include <string>

#include "tests/logging/watchdog.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class TimelineFlag : public testing::Test {
 protected:
  const TemporaryDirectory directory_;

  Ended in_directory(const std::string& script) {
    return shell(
        "LOGJAM=$(realpath \"$LOGJAM\"); cd " + directory_.path() +
        "; RUN=\"$LOGJAM run --workload=ycsb --ycsb_records=1000 --device=null --log_buffer_mb=1 "
        "--threads=2 --timeline=line.csv\"; " +
        script);
  }
};

TEST_F(TimelineFlag, TheFileHasTheRunFromItsWarmUpToItsDrain) {
  const Watchdog watchdog("the intervals are not as long as the measured time");
  const auto phases = [&](const std::string& commit) {
    const Ended ended = in_directory(
        "rm -f *.csv; $RUN --warmup=0.1 --seconds=0.2 --timeline=line.csv:20 "
        "--csv=row.csv --commit=" +
        commit + R"( >/dev/null 2>&1; python3 -c '
import csv, sys
rows = list(csv.DictReader(open("line.csv")))
phases = list(dict.fromkeys(row["phase"] for row in rows))
measured = [row for row in rows if row["phase"] == "measure"]
seconds = sum(float(row["seconds"]) for row in measured)
result = next(csv.DictReader(open("row.csv")))
if abs(seconds - float(result["seconds"])) >= 0.1: sys.exit("again")
assert float(rows[0]["time_s"]) - float(rows[0]["seconds"]) < 0 < float(rows[-1]["time_s"])
for row in rows:
    rounded = 1e-6 * float(row["tps"]) + 0.06 * float(row["seconds"])
    assert abs(float(row["tps"]) * float(row["seconds"]) - int(row["transactions"])) <= \
        rounded, row
    assert (row["commit_p99_us"] == "") == (row["transactions"] == "0"), row
print(" ".join(phases), {row["lag_ms"] == "" and row["lag_bytes"] == "" for row in rows})
' 2>&1)");
    return ended.output;
  };
  for (const std::string commit : {"pipelined", "async"}) {
    // If the run loses its processor between its last two readings of the clock, `phases` returns
    // "again", and the test repeats the run.
    std::string seen;
    while ((seen = phases(commit)) == "again\n") continue;
    EXPECT_EQ(seen, std::string("warm-up measure drain {") +
                        (commit == "async" ? "True" : "False") + "}\n");
  }
}

// Ten times as many transactions arrive in the second quarter of a second as one worker can commit
// on a device of 10 ms, and none arrive later. The backlog grows, and then shrinks.
TEST_F(TimelineFlag, TheBacklogFollowsTheOfferedRate) {
  const Ended ended = in_directory(R"(printf '# a burst\n0 20\n\n0.25 1000\n0.5 0 # pause\n' > burst
$RUN --threads=1 --commit=sync --device=sim:10000 --wal_dir=wal --warmup=0 --seconds=1.5 \
    --rate=profile:burst --timeline=line.csv:10 --csv=row.csv >/dev/null 2>&1; python3 -c '
import csv
rows = [row for row in csv.DictReader(open("line.csv")) if row["phase"] == "measure"]
backlog = [int(row["backlog"]) for row in rows]
first = [int(row["backlog"]) for row in rows if float(row["time_s"]) < 0.2]
row = next(csv.DictReader(open("row.csv")))
arrivals = float(row["offered_s"]) * float(row["seconds"])
assert 150 < arrivals < 350, arrivals
assert max(first) < 20 and max(backlog) > 100 and backlog[-1] < max(backlog) - 5, backlog
print("so")' 2>&1
$RUN --warmup=0 --seconds=0.1 >/dev/null 2>&1
python3 -c 'import csv; print({row["backlog"] for row in csv.DictReader(open("line.csv"))})')");
  EXPECT_EQ(ended.output, "so\n{\x27\x27}\n");
}

TEST_F(TimelineFlag, CrashKilledRunsLeaveTheirTimeLine) {
  const Ended ended = in_directory(R"(exec 2>/dev/null
$RUN --warmup=0 --seconds=100 --timeline=line.csv:10 >/dev/null & pid=$!
until [ $(cat line.csv | wc -l) -gt 4 ]; do kill -0 $pid || break; sleep 0.02; done
kill -9 $pid; wait $pid; echo "status $?"
awk -F, 'NR > 1 {print NF, $3}' line.csv | sort -u; tail -c 1 line.csv | od -An -c)");
  EXPECT_EQ(ended.output, "status 137\n13 measure\n  \\n\n");
}

}  // namespace
}  // namespace logjam
