// `logjam device` prints its table and its rows, and leaves no file in the directory.
#include <gtest/gtest.h>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

class DeviceCommand : public testing::Test {
 protected:
  Ended device(const std::string& flags) {
    return shell("LOGJAM=$(realpath \"$LOGJAM\"); cd " + at_.path() +
                 "; mkdir -p log; \"$LOGJAM\" device " + flags + " 2>&1");
  }

  const TemporaryDirectory at_;
};

TEST_F(DeviceCommand, MeasuresEachSizeAndDepthAndSaysWhatTheyMeanForALog) {
  const Ended ended = device("--wal_dir=log --device=file --seconds=0.01 --csv=a.csv");
  EXPECT_EQ(ended.status, 0) << ended.output;
  for (const char* part :
       {"4 KiB", "1024 KiB", "1, in one call", "durable groups a second", "MB/s."}) {
    EXPECT_NE(ended.output.find(part), std::string::npos) << part << "\n" << ended.output;
  }
  EXPECT_EQ(shell("cd " + at_.path() + R"(; ls log | wc -l; python3 -c '
import csv
rows = list(csv.DictReader(open("a.csv")))
print(len(rows), sorted({int(row["writes_at_once"]) for row in rows}))
print(all(float(row["writes_s"]) > 0 and float(row["write_p50_us"]) > 0 for row in rows))
')")
                .output,
            "0\n25 [1, 2, 4, 8]\nTrue\n");
}

TEST_F(DeviceCommand, ADeviceOfOneWriteAtATimeHasNoOtherPoints) {
  const Ended ended = device("--wal_dir=log --device=sync --seconds=0.001 --csv=a.csv");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(shell("wc -l < " + at_.path_of("a.csv")).output, "11\n");
}

}  // namespace
}  // namespace logjam
