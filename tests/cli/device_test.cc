// `logjam device` prints its table and its rows, writes the card, and leaves no file in the
// directory.
#include <gtest/gtest.h>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class DeviceCommand : public testing::Test {
 protected:
  Ended device(const std::string& flags) {
    return shell("unset LOGJAM_SYNC; LOGJAM=$(realpath \"$LOGJAM\"); cd " + at_.path() +
                 "; mkdir -p log; \"$LOGJAM\" device " + flags + " 2>&1");
  }

  const TemporaryDirectory at_;
};

TEST_F(DeviceCommand, MeasuresEachMethodSizeAndDepthAndSaysWhatTheyMeanForALog) {
  const Ended ended = device("--wal_dir=log --device=file --seconds=0.001 --csv=a.csv");
  EXPECT_EQ(ended.status, 0) << ended.output;
  for (const char* part : {"4 KiB", "1024 KiB", "1, in one call", "The fastest safe method is ",
                           "durable groups a second", "MB/s."}) {
    EXPECT_NE(ended.output.find(part), std::string::npos) << part << "\n" << ended.output;
  }
  EXPECT_EQ(shell("cd " + at_.path() + R"(; ls log | wc -l; python3 -c '
import csv
rows = list(csv.DictReader(open("a.csv")))
print(len(rows), *sorted({row["sync"] for row in rows}))
print(len({(row["sync"], row["write_bytes"], row["one_call"]) for row in rows}),
      sorted({int(row["writes_at_once"]) for row in rows}))
print(all(float(row["writes_s"]) > 0 and float(row["write_p50_us"]) > 0 for row in rows))
')")
                .output,
            "0\n100 dsync fdatasync fsync none\n40 [1, 2, 4, 8]\nTrue\n");
}

TEST_F(DeviceCommand, ADeviceOfOneWriteAtATimeHasNoOtherPoints) {
  const Ended ended = device("--wal_dir=log --device=sync --seconds=0.001 --csv=a.csv --sync=none");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("\nUNSAFE: "), std::string::npos) << ended.output;
  EXPECT_EQ(shell("wc -l < " + at_.path_of("a.csv")).output, "11\n");
}

TEST_F(DeviceCommand, RefusesAMethodThatTheDeviceDoesNotHave) {
  for (const auto& [flags, why] :
       {std::pair("--device=sim:5 --sync=dsync", "--device=sim:5 has no sync methods"),
        {"--device=file --sync=never", "--sync=never is not a sync method"}}) {
    const Ended ended = device(std::string("--wal_dir=log ") + flags);
    EXPECT_EQ(ended.status, 2);
    EXPECT_TRUE(ended.output.starts_with(std::string("logjam: ") + why)) << ended.output;
  }
}

TEST_F(DeviceCommand, NamesTheDiskOfADeviceThatWritesToOne) {
  const std::string facts = R"(; python3 -c '
import csv
for name in "file.csv", "null.csv":
    row = next(csv.DictReader(open(name)))
    print(bool(row["file_system"]), bool(row["mount_options"]), row["fua"] in ("", "true", "false"))
')";
  EXPECT_EQ(device("--wal_dir=log --device=sync --seconds=0.001 --csv=file.csv").status, 0);
  EXPECT_EQ(device("--wal_dir=log --device=null --seconds=0.001 --csv=null.csv").status, 0);
  EXPECT_EQ(shell("cd " + at_.path() + facts).output, "True True True\nFalse False True\n");
}

TEST_F(DeviceCommand, NamesTheDiskAsEachRowOfALogDoes) {
  ASSERT_EQ(device("--wal_dir=log --device=sync --seconds=0.001 --csv=device.csv").status, 0);
  // A second directory on the same disk adds no fact.
  const Ended rows = shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + at_.path() + R"(
small="--threads=1 --transactions=50 --log_prealloc_mb=1 --log_buffer_mb=1 --log=centr"
"$LOGJAM" run --workload=tpcb $small --device=sync --wal_dir=log/1,log/2 --csv=run.csv >&2 &&
"$LOGJAM" recover --wal_dir=log/1,log/2 --csv=recover.csv >&2 &&
"$LOGJAM" micro $small --device=sync --wal_dir=log/3 --csv=micro.csv >&2 &&
"$LOGJAM" micro $small --device=null --csv=null.csv >&2 && python3 -c '
import csv
DISK = "file_system mount_options disk disk_model scheduler write_cache fua rotational".split()
MACHINE = "sockets governor smt".split()
rows = [next(csv.DictReader(open(name + ".csv")))
        for name in ("device", "run", "recover", "micro", "null")]
disks = [[row[name] for name in DISK] for row in rows]
print([disk == disks[0] for disk in disks], any(disks[0]), any(disks[-1]))
print(len({tuple(row[name] for name in MACHINE) for row in rows}))
')");
  EXPECT_EQ(rows.output, "[True, True, True, True, False] True False\n1\n");
}

TEST_F(DeviceCommand, WritesACardThatSimPlays) {
  const std::string first = "--wal_dir=log --device=sim:30:2000 --seconds=0.005 --cdf=a.card";
  for (int time = 0; time < 2; ++time) {  // the second card replaces the first
    const Ended ended = device(first + " --csv=a.csv");
    ASSERT_EQ(ended.status, 0) << ended.output;
  }
  const Ended played = device("--wal_dir=log --device=sim:a.card --seconds=0.005 --csv=b.csv");
  EXPECT_EQ(played.status, 0) << played.output;
  EXPECT_EQ(shell("cd " + at_.path() + R"(; python3 -c '
import csv
title = "card " + open("a.card").read().split()[-1]
for name in "a.csv", "b.csv":
    rows = list(csv.DictReader(open(name)))
    titles = {row["device_card"] for row in rows}
    print(len(rows), {row["device"] for row in rows}, titles == {title},
          all(float(row["write_p50_us"]) >= 30 for row in rows))
')")
                .output,
            "50 {'sim:30:2000'} False True\n25 {'sim:a.card'} True True\n");
  const Ended run = shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + at_.path() +
                          "; mkdir run; \"$LOGJAM\" micro --log=centr --device=sim:a.card "
                          "--wal_dir=run --threads=1 --seconds=0.01 --warmup=0 --csv=c.csv 2>&1; "
                          "grep -c 'sim:a.card,card ' c.csv");
  EXPECT_TRUE(run.output.ends_with("\n1\n")) << run.output;
}

TEST_F(DeviceCommand, ReplacesNoFileThatIsNoCard) {
  shell("echo text > " + at_.path_of("notes"));
  const Ended ended = device("--wal_dir=log --device=sim:0 --seconds=0.001 --cdf=notes");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.output,
            "logjam: --cdf=notes is not a card, and is not replaced; name another file\n");
}

}  // namespace
}  // namespace logjam
